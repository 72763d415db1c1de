"""Costs: measured coefficients -> seconds and bytes of a row, of any size.

In: ``costs.json`` and ``gpu_costs.json``, which lie beside this file and are written by ``python -m
speed.costs`` and ``benchmarks.speed.gpu_costs``. Out: costs of a row, with how they were measured.
"""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from typing import Any

from smkc.plan.terms import evidence_terms, gpu_terms, knn_terms
from smkc.plan.workload import Workload

__all__ = ["APPROXIMATE_FROM", "Costs", "measured_costs"]

# References from which neighbours are sought by an index; the same as the density's own.
APPROXIMATE_FROM = 100_000

BUCKETS, COMPONENTS = 128, 256

FILES = ("costs.json", "gpu_costs.json")

# Windows that ``knn`` scores to calibrate itself, at most; the same as the detector's own.
MOST_CALIBRATED = 32_768

# What one reference's vector, its code and its number take once there is an index.
INDEXED_BYTES = 4 * COMPONENTS + COMPONENTS // 4 + 8


@dataclass(frozen=True)
class Costs:
    """Coefficients of every engine, as ``costs.json`` holds them."""

    content: Mapping[str, Any]

    @property
    def provenance(self) -> Mapping[str, Any]:
        """When, where and with which code the coefficients were measured."""
        found: Mapping[str, Any] = self.content["provenance"]
        return found

    def row(self, workload: Workload) -> float:
        """Processor seconds to score one row of many."""
        return self._scored("row", workload)

    def live(self, workload: Workload) -> float:
        """Processor seconds to score one row as it comes, by itself."""
        return self._scored("live", workload)

    def _scored(self, quantity: str, workload: Workload) -> float:
        if workload.engine == "knn" and workload.references >= APPROXIMATE_FROM:
            approximate = self.content["approximate"]
            search = float(approximate["row"] + approximate["references"] * workload.references)
            return self._sum(quantity, workload, references=0) + search
        return self._sum(quantity, workload, references=workload.references)

    def gpu_row(self, workload: Workload) -> float | None:
        """Seconds of a GPU to score one row of many; None for detectors that have no use for it."""
        if workload.engine != "knn" or "gpu" not in self.content:
            return None
        terms = gpu_terms(
            variables=workload.variables, window=workload.window, references=workload.references
        )
        found: Mapping[str, float] = self.content["gpu"]["row"]
        return sum(found[name] * term for name, term in terms.items())

    def fit(self, workload: Workload) -> float:
        """Processor seconds to learn one recording's model."""
        if workload.engine == "evidence":
            return self._sum("fit", workload)
        n_rows = workload.n_learned
        kept, scored = min(n_rows, workload.references), min(n_rows, MOST_CALIBRATED)
        return kept * self._sum("row", workload, references=0) + scored * self.row(workload)

    def held(self, workload: Workload) -> float:
        """Bytes of one recording's model and stream in memory."""
        if workload.engine == "knn" and workload.references >= APPROXIMATE_FROM:
            rest = self._sum("held", workload, references=0)
            return rest + INDEXED_BYTES * workload.references
        return self._sum("held", workload, references=workload.references)

    def _sum(self, quantity: str, workload: Workload, references: float = 0) -> float:
        if workload.engine == "evidence":
            terms = evidence_terms(variables=workload.variables, learned=workload.n_learned)
        else:
            terms = knn_terms(
                variables=workload.variables,
                window=workload.window,
                buckets=BUCKETS,
                references=references,
                components=COMPONENTS,
            )
        found: Mapping[str, float] = self.content["engines"][workload.engine][quantity]
        return sum(found[name] * term for name, term in terms.items())


@cache
def measured_costs() -> Costs:
    """Return the coefficients that came with this version."""
    texts = ((files("smkc.plan") / name).read_text("utf-8") for name in FILES)
    content, gpu = map(json.loads, texts)
    return Costs({**content, "gpu": gpu})
