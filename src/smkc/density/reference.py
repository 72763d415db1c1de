"""Reference set: stored normal windows, and how far a window is from the nearest of them.

In: unit vectors. Out: mean cosine distance to the K nearest, higher = sparser.
"""

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from smkc.density._loops import (
    mean_of_nearest,
    mean_of_nearest_elsewhere,
    weighted_sum,
)
from smkc.density.projection import padded_rows, stable_product
from smkc.errors import InputError
from smkc.parallel import scratch

__all__ = ["ELSEWHERE", "ReferenceSet", "reservoir_places"]

# The start row of windows from another recording: far from all rows.
ELSEWHERE = -(2**62)

# A block of similarities stays in the second-level cache's neighbourhood.
BLOCK_WINDOWS = 256


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
    """

    vectors: NDArray[np.float32]
    seen: int
    capacity: int
    rows: NDArray[np.int64]

    def __len__(self) -> int:
        return len(self.vectors)

    def mean_distance(self, vectors: NDArray[np.float32], neighbours: int) -> NDArray[np.float64]:
        """(B,) mean cosine distance of (B, d) unit vectors to their nearest references."""
        if len(self) < neighbours:
            raise InputError(
                f"{len(self)} reference windows, {neighbours} neighbours asked for; give more "
                "reference data or fewer neighbours"
            )
        distances = np.empty(len(vectors), np.float64)
        for first in range(0, len(vectors), BLOCK_WINDOWS):
            part = slice(first, first + BLOCK_WINDOWS)
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
        distances = np.empty(len(vectors), np.float64)
        for first in range(0, len(vectors), BLOCK_WINDOWS):
            part = slice(first, first + BLOCK_WINDOWS)
            similarities = self._similarities(vectors[part])
            mean_of_nearest_elsewhere(
                similarities, neighbours, rows[part], self.rows, guard, distances[part]
            )
        return distances

    def mean_distance_of_one(self, vector: NDArray[np.float32], neighbours: int) -> float:
        """Mean cosine distance of one unit vector (d,): as :meth:`mean_distance`, to rounding."""
        similarities = np.empty((1, len(self)), np.float32)
        weighted_sum(vector, self._by_component, similarities[0])
        distance = np.empty(1)
        mean_of_nearest(similarities, neighbours, distance)
        return float(distance[0])

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

        See :func:`reservoir_places`.
        """
        size = max(len(self), int(places.max(initial=-1)) + 1)
        merged = np.empty((size, vectors.shape[1]), np.float32)
        merged[: len(self)] = self.vectors
        merged[places] = vectors
        merged_rows = np.full(size, ELSEWHERE)
        merged_rows[places] = rows
        return ReferenceSet(merged, self.seen + n_offered, self.capacity, merged_rows)


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
