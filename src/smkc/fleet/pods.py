"""The fleet's services and pods, and the clock they all run by.

In: nothing. Out: constants, and a pod's life in rows.
"""

from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

__all__ = ["COUNTER", "RENAMED", "SERVICES", "Metrics", "Pod", "is_alive"]

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
    """One pod's life: rows first to last, the latter not included."""

    service: str
    name: str
    first: int
    last: int = TOTAL_ROWS

    def variable(self, metric: str) -> str:
        """Return the identifier of one of the pod's variables."""
        return f'{metric}{{namespace="{NAMESPACE}",pod="{self.name}",service="{self.service}"}}'

    def lives(self, first: int, last: int) -> bool:
        """Whether the pod lives in any of the rows first to last, the latter not included."""
        return self.first < last and first < self.last


def is_alive(pod: Pod) -> NDArray[np.bool_]:
    """(T,) in which rows the pod lives."""
    rows = np.arange(TOTAL_ROWS)
    return (rows >= pod.first) & (rows < pod.last)
