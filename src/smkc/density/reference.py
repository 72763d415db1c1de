"""Reference set: stored normal windows, and how far a window is from the nearest of them.

In: unit vectors. Out: mean cosine distance to the K nearest, higher = sparser.
"""

import warnings
from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cached_property
from math import isnan

import numpy as np
from numpy.typing import NDArray

from smkc.density._loops import (
    mean_of_candidates,
    mean_of_nearest,
    mean_of_nearest_elsewhere,
    weighted_sum,
)
from smkc.density.approximate import NeighbourIndex, need_faiss
from smkc.density.coarse import CoarseReferences
from smkc.density.projection import padded_rows, stable_product
from smkc.errors import InputError, MissingExtraError
from smkc.parallel import scratch

__all__ = ["ELSEWHERE", "ReferenceSet", "reservoir_places"]

# The start row of windows from another recording: far from all rows.
ELSEWHERE = -(2**62)

# A block of similarities stays in the second-level cache's neighbourhood; with many references it
# has fewer windows, so that it takes 256 MB at most.
BLOCK_WINDOWS, FEWEST_WINDOWS, BLOCK_SIMILARITIES = 256, 16, 2**26

# Windows whose likely neighbours are sought in one go: those that look into one cell share it.
BLOCK_LIKELY = 1024

# References from which only likely ones are measured: see docs/scale.md for the measurement.
APPROXIMATE_FROM = 100_000

# Candidates a neighbour, of at least so many: with 20 neighbours, recall of .95 and more.
CANDIDATES_A_NEIGHBOUR, FEWEST = 5, 10


@dataclass(frozen=True)
class ReferenceSet:
    """Unit vectors of normal windows, at most ``capacity`` of them.

    Parameters
    ----------
    vectors
        (n, d) float32, of length 1.
    seen
        how many windows have been offered so far; beyond the capacity they are a uniform sample.
    capacity
        how many are kept at most.
    rows
        (n,) start rows in the recording that was learned from last; ELSEWHERE for the others.
    index
        where to look for the nearest without measuring all distances; None to measure them all.
    """

    vectors: NDArray[np.float32]
    seen: int
    capacity: int
    rows: NDArray[np.int64]
    index: NeighbourIndex | None = None

    def __len__(self) -> int:
        return len(self.vectors)

    def mean_distance(self, vectors: NDArray[np.float32], neighbours: int) -> NDArray[np.float64]:
        """(B,) mean cosine distance of (B, d) unit vectors to their nearest references."""
        if len(self) < neighbours:
            raise InputError(
                f"{len(self)} reference windows, {neighbours} neighbours asked for; give more "
                "reference data or fewer neighbours"
            )
        if self.index is not None:
            nowhere = np.zeros(len(vectors), np.int64)
            return self._mean_of_likely(self.index, vectors, neighbours, nowhere, 0)
        if not CoarseReferences.fits(len(self), neighbours):
            return self._mean_of_all(vectors, neighbours)
        distances = self._coarse.mean_distance(vectors, neighbours)
        is_missed = np.isnan(distances)
        if is_missed.any():
            distances[is_missed] = self._mean_of_all(vectors[is_missed], neighbours)
        return distances

    @cached_property
    def _coarse(self) -> CoarseReferences:
        return CoarseReferences.of(self.vectors)

    def _mean_of_all(self, vectors: NDArray[np.float32], neighbours: int) -> NDArray[np.float64]:
        distances = np.empty(len(vectors), np.float64)
        for part in self._blocks(len(vectors)):
            similarities = self._similarities(vectors[part])
            mean_of_nearest(similarities, neighbours, distances[part])
        return distances

    def mean_distance_elsewhere(
        self,
        vectors: NDArray[np.float32],
        neighbours: int,
        rows: NDArray[np.int64],
        guard: int,
    ) -> NDArray[np.float64]:
        """(B,) as :meth:`mean_distance`, for windows of the recording learned from last.

        References that start less than ``guard`` rows from a window's start row, ``rows`` (B,),
        are left out; NaN where too few remain.
        """
        if self.index is not None:
            return self._mean_of_likely(self.index, vectors, neighbours, rows, guard)
        return self._mean_of_all_elsewhere(vectors, neighbours, rows, guard)

    def _mean_of_all_elsewhere(
        self,
        vectors: NDArray[np.float32],
        neighbours: int,
        rows: NDArray[np.int64],
        guard: int,
    ) -> NDArray[np.float64]:
        distances = np.empty(len(vectors), np.float64)
        for part in self._blocks(len(vectors)):
            similarities = self._similarities(vectors[part])
            mean_of_nearest_elsewhere(
                similarities, neighbours, rows[part], self.rows, guard, distances[part]
            )
        return distances

    def mean_distance_of_one(self, vector: NDArray[np.float32], neighbours: int) -> float:
        """Mean cosine distance of one unit vector (d,): as :meth:`mean_distance`, to rounding."""
        if self.index is not None:
            return float(self.mean_distance(vector[None], neighbours)[0])
        if CoarseReferences.fits(len(self), neighbours):
            coarse = float(self._coarse.mean_distance(vector[None], neighbours)[0])
            return (
                float(self._mean_of_all(vector[None], neighbours)[0]) if isnan(coarse) else coarse
            )
        similarities = np.empty((1, len(self)), np.float32)
        weighted_sum(vector, self._by_component, similarities[0])
        distance = np.empty(1)
        mean_of_nearest(similarities, neighbours, distance)
        return float(distance[0])

    def _mean_of_likely(
        self,
        index: NeighbourIndex,
        vectors: NDArray[np.float32],
        neighbours: int,
        rows: NDArray[np.int64],
        guard: int,
    ) -> NDArray[np.float64]:
        """(B,) as the exact methods, measured to candidates alone.

        Windows for which the index finds too few are measured to all references.
        """
        distances = np.empty(len(vectors), np.float64)
        n_near = self._most_within(rows, guard) if guard else 0
        n_candidates = min(CANDIDATES_A_NEIGHBOUR * max(neighbours, FEWEST) + n_near, len(self))
        for first in range(0, len(vectors), BLOCK_LIKELY):
            part = slice(first, first + BLOCK_LIKELY)
            block = np.ascontiguousarray(vectors[part])
            likely = index.candidates(block, n_candidates)
            mean_of_candidates(
                *(block, self.vectors, likely, neighbours, rows[part], self.rows, guard),
                distances[part],
            )
        missed = np.flatnonzero(np.isnan(distances))
        if len(missed) and guard:
            distances[missed] = self._mean_of_all_elsewhere(
                vectors[missed], neighbours, rows[missed], guard
            )
        elif len(missed):
            distances[missed] = self._mean_of_all(vectors[missed], neighbours)
        return distances

    def _most_within(self, rows: NDArray[np.int64], guard: int) -> int:
        """How many references at most start less than ``guard`` rows from one of the rows."""
        first = np.searchsorted(self._sorted_rows, rows - guard, side="right")
        end = np.searchsorted(self._sorted_rows, rows + guard, side="left")
        return int((end - first).max(initial=0))

    @cached_property
    def _sorted_rows(self) -> NDArray[np.int64]:
        return np.sort(self.rows)

    def _blocks(self, n_windows: int) -> Iterator[slice]:
        """Yield windows that are compared with all references in one go."""
        size = max(FEWEST_WINDOWS, min(BLOCK_WINDOWS, BLOCK_SIMILARITIES // max(len(self), 1)))
        return (slice(first, first + size) for first in range(0, n_windows, size))

    def _similarities(self, vectors: NDArray[np.float32]) -> NDArray[np.float32]:
        """(B, n) cosines with all references, in memory that the next call uses again."""
        n_rows = padded_rows(len(vectors), self._by_component)
        out = scratch("similarities", (n_rows, len(self)))
        return stable_product(vectors, self._by_component, out)

    @cached_property
    def _by_component(self) -> NDArray[np.float32]:
        """(d, n) the vectors, component by component."""
        return np.ascontiguousarray(self.vectors.T)

    def replaced(
        self,
        places: NDArray[np.int64],
        vectors: NDArray[np.float32],
        rows: NDArray[np.int64],
        n_offered: int,
    ) -> "ReferenceSet":
        """Return a set with ``vectors``, which start at ``rows``, put at ``places``.

        See :func:`reservoir_places`. An index goes along, unless it should be learned anew.
        """
        size = max(len(self), int(places.max(initial=-1)) + 1)
        merged = np.empty((size, vectors.shape[1]), np.float32)
        merged[: len(self)] = self.vectors
        merged[places] = vectors
        merged_rows = np.full(size, ELSEWHERE)
        merged_rows[places] = rows
        index = None if self.index is None else self.index.replaced(places, vectors)
        return ReferenceSet(merged, self.seen + n_offered, self.capacity, merged_rows, index)

    def indexed(self, seed: int) -> "ReferenceSet":
        """Return the set with an index to search by, if it is large and has none.

        Without the library that this needs all distances are measured, and a warning says so.
        """
        if self.index is not None or len(self) < APPROXIMATE_FROM or self.vectors.shape[1] % 4:
            return self
        return (
            replace(self, index=NeighbourIndex.of(self.vectors, seed)) if self.can_index else self
        )

    @property
    def can_index(self) -> bool:
        """Whether the library that an index needs is here; a warning says so if it is not."""
        try:
            need_faiss()
        except MissingExtraError as error:
            warnings.warn(
                f"every window is compared with all {len(self):,} references, which is slow: "
                f"{error}",
                stacklevel=3,
            )
            return False
        return True


def reservoir_places(
    n_offered: int, seen: int, capacity: int, seed: int
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Choose which of ``n_offered`` windows enter a reference set, and where.

    Returns (which, places), ascending in ``which``, no place twice. After ``seen`` earlier ones
    every window offered so far has had the same chance to be in the set (Vitter's algorithm R,
    drawn ahead so that features of the others need not be computed).
    """
    rng = np.random.Generator(np.random.PCG64([seed, seen]))
    numbers = seen + np.arange(n_offered)
    places = np.where(numbers < capacity, numbers, rng.integers(0, numbers + 1))
    offered = np.flatnonzero(places < capacity)
    # Of two windows drawn for one place the later stays.
    _, last = np.unique(places[offered][::-1], return_index=True)
    which = np.sort(offered[::-1][last])
    return which, places[which]
