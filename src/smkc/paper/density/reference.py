"""Reference set: stored normal windows, and the distance of a window to the nearest of them.

In: unit vectors. Out: mean cosine distance to the K nearest, higher = sparser.
"""

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from smkc.errors import InputError
from smkc.paper.density._loops import mean_distances, nearest
from smkc.parallel import scratch

# Start row given to windows of other recordings: far from all rows.
ELSEWHERE = -(2**62)

# Largest and smallest number of windows per block of similarities, and similarities per block. A
# block should stay close to the L2 cache's size; with many references it has fewer windows, so that
# it takes at most 256 MB where the smallest number of windows allows.
BLOCK_WINDOWS, FEWEST_WINDOWS, BLOCK_SIMILARITIES = 256, 16, 2**26


@dataclass(frozen=True)
class ReferenceSet:
    """Unit vectors of normal windows, at most ``capacity`` of them.

    Parameters
    ----------
    vectors
        (n, d) float32, of length 1.
    seen
        number of windows offered so far; if it exceeds the capacity, the set is a uniform sample.
    capacity
        largest number of windows kept.
    rows
        (n,) start rows in the recording learned from last; ELSEWHERE for other recordings.
    """

    vectors: NDArray[np.float32]
    seen: int
    capacity: int
    rows: NDArray[np.int64]

    def __len__(self) -> int:
        return len(self.vectors)

    def mean_distance(
        self,
        vectors: NDArray[np.float32],
        neighbours: int,
        rows: NDArray[np.int64] | None = None,
        guard: int = 0,
    ) -> NDArray[np.float64]:
        """Return (B,) mean cosine distances of (B, d) unit vectors to their nearest references.

        A positive ``guard`` is for windows of the recording learned from last, which start at
        ``rows`` (B,): references that start less than ``guard`` rows away are left out. The
        distance is NaN where too few remain.
        """
        if len(self) < neighbours and guard:
            return np.full(len(vectors), np.nan)
        if len(self) < neighbours:
            raise InputError(
                f"{len(self)} reference windows, {neighbours} neighbours asked for; give more "
                "reference data or fewer neighbours"
            )
        if rows is None:
            rows = np.zeros(len(vectors), np.int64)
        distances = np.empty(len(vectors), np.float64)
        size = max(FEWEST_WINDOWS, min(BLOCK_WINDOWS, BLOCK_SIMILARITIES // max(len(self), 1)))
        for first in range(0, len(vectors), size):
            part = slice(first, first + size)
            block = vectors[part]
            similarities = scratch("similarities", (len(block), len(self)))
            np.matmul(block, self._by_component, out=similarities)
            which = np.empty((len(block), neighbours), np.int64)
            nearest(similarities, rows[part], self.rows, guard, which)
            mean_distances(block, self.vectors, which, distances[part])
        return distances

    @cached_property
    def _by_component(self) -> NDArray[np.float32]:
        """The vectors as (d, n), contiguous by component: products are 10 % faster."""
        return np.ascontiguousarray(self.vectors.T)

    def replaced(
        self,
        places: NDArray[np.int64],
        vectors: NDArray[np.float32],
        rows: NDArray[np.int64],
        n_offered: int,
    ) -> "ReferenceSet":
        """Return a set with new ``vectors``, of windows that start at ``rows``, at ``places``.

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
    """Choose which of ``n_offered`` windows enter a reference set, and at which places.

    Return (which, places), ascending in ``which``; places are unique. After ``seen`` earlier
    windows, every window offered so far has the same chance to be in the set (Vitter's algorithm R,
    drawn ahead so that features of rejected windows need not be computed).
    """
    rng = np.random.Generator(np.random.PCG64([seed, seen]))
    numbers = seen + np.arange(n_offered)
    places = np.where(numbers < capacity, numbers, rng.integers(0, numbers + 1))
    offered = np.flatnonzero(places < capacity)
    # If two windows are drawn for the same place, the later one is kept.
    _, last = np.unique(places[offered][::-1], return_index=True)
    which = np.sort(offered[::-1][last])
    return which, places[which]
