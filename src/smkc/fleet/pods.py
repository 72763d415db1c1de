"""Services and pods of the synthetic fleet, and its time steps.

In: nothing. Out: constants, and the rows in which a pod is alive.
"""

from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

STEP_SECONDS = 30
ROWS_A_MINUTE = 60 // STEP_SECONDS
ROWS_AN_HOUR = 60 * ROWS_A_MINUTE
ROWS_A_DAY = 24 * ROWS_AN_HOUR
REFERENCE_ROWS = 2 * ROWS_A_DAY
TOTAL_ROWS = REFERENCE_ROWS + ROWS_A_DAY
FIRST_TIME = np.datetime64("2026-03-02T00:00:00", "ns")

NAMESPACE = "shop"
COUNTER = "http_requests_total"
SERVICES = {"cart": (3, 240.0), "catalog": (4, 520.0), "checkout": (3, 90.0)}  # pods, requests/s
RENAMED = ("catalog", "latency_p95", "latency_p95_seconds")

Metrics: TypeAlias = dict[str, NDArray[np.float64]]


@dataclass(eq=False)
class Pod:
    """One pod, alive from row ``first`` up to but not including row ``last``."""

    service: str
    name: str
    first: int
    last: int = TOTAL_ROWS

    def variable(self, metric: str) -> str:
        """Return the identifier of one of the pod's variables."""
        return f'{metric}{{namespace="{NAMESPACE}",pod="{self.name}",service="{self.service}"}}'

    def lives(self, first: int, last: int) -> bool:
        """Return whether the pod is alive in any row from first up to but not including last."""
        return self.first < last and first < self.last


def is_alive(pod: Pod) -> NDArray[np.bool_]:
    """Return a (T,) mask of the rows in which the pod is alive."""
    rows = np.arange(TOTAL_ROWS)
    return (rows >= pod.first) & (rows < pod.last)
