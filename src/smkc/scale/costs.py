"""Costs: measured coefficients -> seconds and bytes of a row, for recordings of any size.

In: ``costs.json`` and ``gpu_costs.json`` beside this file, written by ``benchmarks.speed.costs``
and ``benchmarks.speed.gpu_costs``. Out: the cost of a row as a sum of terms, each with a
coefficient of its own. Whoever fits the coefficients and whoever plans with them share the terms.
"""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from typing import Any

from smkc.paper.density.reference import APPROXIMATE_FROM
from smkc.paper.fitted import MAX_CALIBRATED_WINDOWS

__all__ = [
    "Costs",
    "Sizes",
    "evidence_terms",
    "gpu_terms",
    "knn_terms",
    "measured_costs",
    "occupied_buckets",
]

# The detector's defaults.
BUCKETS, COMPONENTS = 128, 256

# Bytes of one reference's vector, its code and its number once there is an index.
INDEXED_BYTES = 4 * COMPONENTS + COMPONENTS // 4 + 8


@dataclass(frozen=True, kw_only=True)
class Sizes:
    """Sizes of one recording and its detector that decide what a row costs."""

    detector: str
    variables: int
    window: int
    references: int
    reference_rows: int


def evidence_terms(*, variables: float, learned: float) -> dict[str, float]:
    """Terms of a row that is judged by evidences, of a model and of learning it.

    Variables are also compared in pairs; ``learned`` is the number of reference rows.
    """
    return {
        "row": 1.0,
        "variables": variables,
        "pairs": variables**2,
        "learned": learned,
        "learned variables": learned * variables,
    }


def knn_terms(
    *, variables: float, window: float, buckets: float, references: float, components: float
) -> dict[str, float]:
    """Terms of a window that is judged by its neighbours, all references measured."""
    return {
        "row": 1.0,
        "variables": variables,
        "buckets": occupied_buckets(variables, buckets),
        "window": window,
        "projection": window * components,
        "references": references,
        "neighbours": references * components,
    }


def gpu_terms(*, variables: float, window: float, references: float) -> dict[str, float]:
    """Terms of a window that is judged by its neighbours on a GPU, with the default sketch."""
    return {
        "row": 1.0,
        "observations": variables * window,
        "comparisons": occupied_buckets(variables, BUCKETS) * window,
        "window": window,
        "references": references,
    }


def occupied_buckets(variables: float, buckets: float) -> float:
    """Return the mean number of buckets that hold anything after hashing the variables.

    Examples
    --------
    >>> round(occupied_buckets(16, 128), 1)
    15.1
    """
    empty: float = (1 - 1 / buckets) ** variables
    return buckets * (1 - empty)


@dataclass(frozen=True)
class Costs:
    """Coefficients of every detector, as ``costs.json`` holds them."""

    content: Mapping[str, Any]

    @property
    def provenance(self) -> Mapping[str, Any]:
        """When, where and with which code the coefficients were measured."""
        found: Mapping[str, Any] = self.content["provenance"]
        return found

    def row(self, sizes: Sizes) -> float:
        """Processor seconds to score one row of many."""
        return self._scored("row", sizes)

    def live(self, sizes: Sizes) -> float:
        """Processor seconds to score one row by itself, as it arrives."""
        return self._scored("live", sizes)

    def _scored(self, quantity: str, sizes: Sizes) -> float:
        if sizes.detector == "knn" and sizes.references >= APPROXIMATE_FROM:
            approximate = self.content["approximate"]
            search = float(approximate["row"] + approximate["references"] * sizes.references)
            return self._sum(quantity, sizes, references=0) + search
        return self._sum(quantity, sizes, references=sizes.references)

    def gpu_row(self, sizes: Sizes) -> float | None:
        """GPU seconds to score one row of many; None for detectors that do not use a GPU."""
        if sizes.detector != "knn" or "gpu" not in self.content:
            return None
        terms = gpu_terms(
            variables=sizes.variables, window=sizes.window, references=sizes.references
        )
        found: Mapping[str, float] = self.content["gpu"]["row"]
        return sum(found[name] * term for name, term in terms.items())

    def fit(self, sizes: Sizes) -> float:
        """Processor seconds to learn one recording's model."""
        if sizes.detector == "evidence":
            return self._sum("fit", sizes)
        n_rows = sizes.reference_rows
        kept, scored = min(n_rows, sizes.references), min(n_rows, MAX_CALIBRATED_WINDOWS)
        return kept * self._sum("row", sizes, references=0) + scored * self.row(sizes)

    def held(self, sizes: Sizes) -> float:
        """Bytes of one recording's model and stream in memory."""
        if sizes.detector == "knn" and sizes.references >= APPROXIMATE_FROM:
            rest = self._sum("held", sizes, references=0)
            return rest + INDEXED_BYTES * sizes.references
        return self._sum("held", sizes, references=sizes.references)

    def _sum(self, quantity: str, sizes: Sizes, references: float = 0) -> float:
        if sizes.detector == "evidence":
            terms = evidence_terms(variables=sizes.variables, learned=sizes.reference_rows)
        else:
            terms = knn_terms(
                variables=sizes.variables,
                window=sizes.window,
                buckets=BUCKETS,
                references=references,
                components=COMPONENTS,
            )
        found: Mapping[str, float] = self.content["engines"][sizes.detector][quantity]
        return sum(found[name] * term for name, term in terms.items())


@cache
def measured_costs() -> Costs:
    """Return the coefficients that came with this version."""
    texts = (files("smkc.scale") / name for name in ("costs.json", "gpu_costs.json"))
    content, gpu = (json.loads(text.read_text("utf-8")) for text in texts)
    return Costs({**content, "gpu": gpu})
