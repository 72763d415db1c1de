"""Reference set: stored normal windows, and the distance of a window to the nearest of them.

In: unit vectors. Out: mean cosine distance to the K nearest, higher = sparser.
"""

import warnings
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from smkc.errors import InputError, MissingExtraError, ModelFileError
from smkc.paper.density._loops import mean_of_candidates, nearest, weighted_sum
from smkc.paper.density.index import NeighbourIndex, cells_for, learned_centres, need_faiss
from smkc.parallel import scratch

# Start row given to windows of other recordings: far from all rows.
ELSEWHERE = -(2**62)

# Largest and smallest number of windows per block of similarities, and similarities per block. A
# block should stay close to the L2 cache's size; with many references it has fewer windows, so that
# it takes at most 256 MB where the smallest number of windows allows.
BLOCK_WINDOWS, FEWEST_WINDOWS, BLOCK_SIMILARITIES = 256, 16, 2**26

# Number of references from which an index selects candidates instead of measuring all distances;
# see docs/scale.md for the measurement.
APPROXIMATE_FROM = 100_000

# Name of the index's array in a model file.
CENTRES = "index.centres"

# Candidates per neighbour, and the smallest number of neighbours to assume; see docs/scale.md.
CANDIDATES_PER_NEIGHBOUR, FEWEST_NEIGHBOURS = 50, 10

# Cells are learned again once the set should have more than this many times as many cells.
MAX_GROWTH = 2


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
    index
        index that selects candidates for the nearest; None to measure all distances.
    """

    vectors: NDArray[np.float32]
    seen: int
    capacity: int
    rows: NDArray[np.int64]
    index: NeighbourIndex | None = None

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
        if self.index is None:
            return self._mean_of_all(vectors, neighbours, rows, guard)
        distances = self._mean_of_likely(self.index, vectors, neighbours, rows, guard)
        missed = np.flatnonzero(np.isnan(distances))
        if len(missed):
            distances[missed] = self._mean_of_all(vectors[missed], neighbours, rows[missed], guard)
        return distances

    def mean_distance_of_one(self, vector: NDArray[np.float32], neighbours: int) -> float:
        """Return the mean distance of one unit vector (d,): :meth:`mean_distance` to rounding."""
        if self.index is not None:
            return float(self.mean_distance(vector[None], neighbours)[0])
        similarities = np.empty((1, len(self)), np.float32)
        weighted_sum(vector, self._by_component, similarities[0])
        distance = np.empty(1)
        nowhere = np.zeros(1, np.int64)
        self._measure(similarities, vector[None], neighbours, nowhere, 0, distance)
        return float(distance[0])

    def _mean_of_all(
        self, vectors: NDArray[np.float32], neighbours: int, rows: NDArray[np.int64], guard: int
    ) -> NDArray[np.float64]:
        distances = np.empty(len(vectors), np.float64)
        for part in self._blocks(len(vectors)):
            block = vectors[part]
            similarities = scratch("similarities", (len(block), len(self)))
            np.matmul(block, self._by_component, out=similarities)
            self._measure(similarities, block, neighbours, rows[part], guard, distances[part])
        return distances

    def _measure(
        self,
        similarities: NDArray[np.float32],
        vectors: NDArray[np.float32],
        neighbours: int,
        rows: NDArray[np.int64],
        guard: int,
        out: NDArray[np.float64],
    ) -> None:
        """Set ``out`` (B,) to mean distances to the references with the largest similarities."""
        which = np.empty((len(vectors), neighbours), np.int64)
        nearest(similarities, rows, self.rows, guard, which)
        mean_of_candidates(vectors, self.vectors, which, neighbours, rows, self.rows, guard, out)

    def _mean_of_likely(
        self,
        index: NeighbourIndex,
        vectors: NDArray[np.float32],
        neighbours: int,
        rows: NDArray[np.int64],
        guard: int,
    ) -> NDArray[np.float64]:
        """Return (B,) mean distances to the index's candidates; NaN where there are too few."""
        distances = np.empty(len(vectors), np.float64)
        n_near = self._most_within(rows, guard) if guard else 0
        wanted = CANDIDATES_PER_NEIGHBOUR * max(neighbours, FEWEST_NEIGHBOURS) + n_near
        likely = index.candidates(vectors, min(wanted, len(self)))
        mean_of_candidates(
            vectors, self.vectors, likely, neighbours, rows, self.rows, guard, distances
        )
        return distances

    def _most_within(self, rows: NDArray[np.int64], guard: int) -> int:
        """Return the largest number of references that start within ``guard`` rows of any row."""
        first = np.searchsorted(self._sorted_rows, rows - guard, side="right")
        end = np.searchsorted(self._sorted_rows, rows + guard, side="left")
        return int((end - first).max(initial=0))

    @cached_property
    def _sorted_rows(self) -> NDArray[np.int64]:
        return np.sort(self.rows)

    def _blocks(self, n_windows: int) -> Iterator[slice]:
        """Return slices of windows, each compared with all references at once."""
        size = max(FEWEST_WINDOWS, min(BLOCK_WINDOWS, BLOCK_SIMILARITIES // max(len(self), 1)))
        return (slice(first, first + size) for first in range(0, n_windows, size))

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

        See :func:`reservoir_places`. The index keeps its cells; if the set has grown too much for
        them, the result has no index.
        """
        size = max(len(self), int(places.max(initial=-1)) + 1)
        merged = np.empty((size, vectors.shape[1]), np.float32)
        merged[: len(self)] = self.vectors
        merged[places] = vectors
        merged_rows = np.full(size, ELSEWHERE)
        merged_rows[places] = rows
        index = None
        if self.index is not None and cells_for(size) <= MAX_GROWTH * len(self.index.centres):
            index = NeighbourIndex(merged, self.index.centres)
        return ReferenceSet(merged, self.seen + n_offered, self.capacity, merged_rows, index)

    def indexed(self, seed: int) -> "ReferenceSet":
        """Return the set with an index, if it is large and has none.

        If faiss is not installed, warn and return the set unchanged: all distances are measured.
        """
        if self.index is not None or len(self) < APPROXIMATE_FROM or not self._can_index():
            return self
        centres = learned_centres(self.vectors, seed)
        return replace(self, index=NeighbourIndex(self.vectors, centres))

    def with_index(self, arrays: Mapping[str, NDArray[Any]]) -> "ReferenceSet":
        """Return the set with the index stored in a model file, after checking that it fits."""
        centres = arrays.get(CENTRES)
        if (
            centres is None
            or len(arrays) > 1
            or centres.dtype != np.float32
            or centres.ndim != 2
            or len(centres) < 1
            or centres.shape[1] != self.vectors.shape[1]
            or not np.isfinite(centres).all()
        ):
            raise ModelFileError(
                f"the stored index of {len(self):,} references is damaged, or of another version "
                "of smkc; fit again and save the model anew"
            )
        if not self._can_index():
            return self
        return replace(self, index=NeighbourIndex(self.vectors, centres))

    def _can_index(self) -> bool:
        """Return whether faiss is installed; warn if it is not."""
        try:
            need_faiss()
        except MissingExtraError as error:
            warnings.warn(
                f"every window is compared with all {len(self):,} references, which is slow: "
                f"{error}",
                stacklevel=4,
            )
            return False
        return True


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
