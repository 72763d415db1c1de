"""Four kinds of incident that an operator would want to know about.

In: the metrics of the affected pods. Out: an :class:`Incident`; the metrics are changed in place.
"""

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from smkc.fleet.pods import COUNTER, RENAMED, ROWS_A_MINUTE, Metrics, Pod
from smkc.fleet.truth import Incident


@dataclass(frozen=True)
class Trouble:
    """One incident: the affected pods, its first row and its length in rows.

    ``shown_by`` names the metrics that show it.
    """

    pods: list[Pod]
    first: int
    length: int

    kind: ClassVar[str]
    story: ClassVar[str]
    shown_by: ClassVar[tuple[str, ...]]

    def tell(
        self, times: NDArray[Any], metrics: dict[Pod, Metrics], rng: np.random.Generator
    ) -> Incident:
        """Change the metrics in place and return the incident."""
        self._strike([metrics[pod] for pod in self.pods], rng)
        return Incident(
            start=times[self.first],
            end=times[self.first + self.length],
            kind=self.kind,
            variables=tuple(pod.variable(m) for pod in self.pods for m in self.shown_by),
            story=self.story,
        )

    def _strike(self, metrics: list[Metrics], rng: np.random.Generator) -> None:
        """Change the metrics of the affected pods in place; by default, do nothing."""

    @property
    def _span(self) -> slice:
        return slice(self.first, self.first + self.length)


class Storm(Trouble):
    """Latency spikes shared by all pods of a service."""

    kind = "latency storm"
    story = "checkout's database stalls again and again: latency of all its pods jumps"
    shown_by = ("latency_p95", "error_rate")

    def _strike(self, metrics: list[Metrics], rng: np.random.Generator) -> None:
        is_spike = rng.random(self.length) < 0.35
        size = 1 + is_spike * rng.uniform(2.0, 5.0, self.length)
        for one in metrics:
            one["latency_p95"][self._span] *= size * rng.uniform(0.9, 1.1, self.length)
            one["error_rate"][self._span] *= np.sqrt(size)


class Leak(Trouble):
    """Growing memory usage that ends in a crash and a restart."""

    kind = "memory leak"
    story = "a cart pod leaks memory, slows down as it fills, crashes and comes back empty"
    shown_by = ("memory_bytes", "cpu_usage", "latency_p95")

    def _strike(self, metrics: list[Metrics], rng: np.random.Generator) -> None:
        full = np.linspace(0, 1, self.length)
        collecting = np.maximum(full - 0.5, 0) * rng.exponential(1.0, self.length)
        for one in metrics:
            one["memory_bytes"][self._span] += 6.5e8 * full
            one["cpu_usage"][self._span] += 1.2 * collecting
            one["latency_p95"][self._span] *= 1 + 8.0 * collecting


class Flapping(Trouble):
    """CPU usage that alternates between high and low, faster than the load changes."""

    kind = "CPU flapping"
    story = "catalog's pods throw their caches away and refill them, every two minutes"
    shown_by = ("cpu_usage", RENAMED[2], "request_rate")

    def _strike(self, metrics: list[Metrics], rng: np.random.Generator) -> None:
        phase = np.arange(self.length) % (2 * ROWS_A_MINUTE) < ROWS_A_MINUTE
        for one in metrics:
            swing = np.where(phase, 0.40, -0.30) * rng.uniform(0.8, 1.2, self.length)
            one["cpu_usage"][self._span] = np.maximum(one["cpu_usage"][self._span] + swing, 0.01)
            one["latency_p95"][self._span] *= np.where(phase, 2.0, 1.0)
            one["request_rate"][self._span] *= np.where(phase, 0.75, 1.05)


class Loss(Trouble):
    """Pods that end all at once and leave their load to the last pod until they are replaced.

    The plan ends the pods, and the simulation gives their load to the last.
    """

    kind = "pods lost"
    story = "three of catalog's four pods vanish at once; the one left drowns until help comes"
    shown_by = ("cpu_usage", "memory_bytes", "request_rate", RENAMED[2], "error_rate", COUNTER)
