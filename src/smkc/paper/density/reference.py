"""Reference set: stored normal windows, and how far a window is from the nearest of them.

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

__all__ = ["CENTRES", "ELSEWHERE", "ReferenceSet", "reservoir_places"]

# The start row of windows from another recording: far from all rows.
ELSEWHERE = -(2**62)

# A block of similarities stays in the second-level cache's neighbourhood; with many references it
# has fewer windows, so that it takes 256 MB at most.
BLOCK_WINDOWS, FEWEST_WINDOWS, BLOCK_SIMILARITIES = 256, 16, 2**26

# References from which only likely ones are measured: see docs/scale.md for the measurement.
APPROXIMATE_FROM = 100_000

# What a model file holds of an index.
CENTRES = "index.centres"

# Candidates per neighbour, of at least so many neighbours; see docs/scale.md.
CANDIDATES_PER_NEIGHBOUR, FEWEST = 50, 10

# Cells are learned anew once the set should have more than so many times as many.
MAX_GROWTH = 2


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
        return self._mean(vectors, neighbours, np.zeros(len(vectors), np.int64), 0)

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
        if len(self) < neighbours:
            return np.full(len(vectors), np.nan)
        return self._mean(vectors, neighbours, rows, guard)

    def mean_distance_of_one(self, vector: NDArray[np.float32], neighbours: int) -> float:
        """Mean cosine distance of one unit vector (d,): as :meth:`mean_distance`, to rounding."""
        if self.index is not None:
            return float(self.mean_distance(vector[None], neighbours)[0])
        similarities = np.empty((1, len(self)), np.float32)
        weighted_sum(vector, self._by_component, similarities[0])
        distance = np.empty(1)
        nowhere = np.zeros(1, np.int64)
        self._measure(similarities, vector[None], neighbours, nowhere, 0, distance)
        return float(distance[0])

    def _mean(
        self,
        vectors: NDArray[np.float32],
        neighbours: int,
        rows: NDArray[np.int64],
        guard: int,
    ) -> NDArray[np.float64]:
        if self.index is None:
            return self._mean_of_all(vectors, neighbours, rows, guard)
        distances = self._mean_of_likely(self.index, vectors, neighbours, rows, guard)
        missed = np.flatnonzero(np.isnan(distances))
        if len(missed):
            distances[missed] = self._mean_of_all(vectors[missed], neighbours, rows[missed], guard)
        return distances

    def _mean_of_all(
        self,
        vectors: NDArray[np.float32],
        neighbours: int,
        rows: NDArray[np.int64],
        guard: int,
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
        """(B,) mean distances, measured to candidates alone; NaN where there are too few."""
        distances = np.empty(len(vectors), np.float64)
        n_near = self._most_within(rows, guard) if guard else 0
        n_candidates = min(CANDIDATES_PER_NEIGHBOUR * max(neighbours, FEWEST) + n_near, len(self))
        likely = index.candidates(vectors, n_candidates)
        mean_of_candidates(
            vectors, self.vectors, likely, neighbours, rows, self.rows, guard, distances
        )
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

    @cached_property
    def _by_component(self) -> NDArray[np.float32]:
        """(d, n) the vectors, component by component: products with it are a tenth quicker."""
        return np.ascontiguousarray(self.vectors.T)

    def replaced(
        self,
        places: NDArray[np.int64],
        vectors: NDArray[np.float32],
        rows: NDArray[np.int64],
        n_offered: int,
    ) -> "ReferenceSet":
        """Return a set with ``vectors``, which start at ``rows``, put at ``places``.

        See :func:`reservoir_places`. Cells stay as they are, unless they should be learned anew.
        """
        size = max(len(self), int(places.max(initial=-1)) + 1)
        merged = np.empty((size, vectors.shape[1]), np.float32)
        merged[: len(self)] = self.vectors
        merged[places] = vectors
        merged_rows = np.full(size, ELSEWHERE)
        merged_rows[places] = rows
        return ReferenceSet(
            *(merged, self.seen + n_offered, self.capacity, merged_rows),
            index=None if self.index is None else self._moved(self.index.centres, merged),
        )

    @staticmethod
    def _moved(centres: NDArray[np.float32], vectors: NDArray[np.float32]) -> NeighbourIndex | None:
        """Return an index of other vectors; None where its cells should be learned anew."""
        if cells_for(len(vectors)) > MAX_GROWTH * len(centres):
            return None
        return NeighbourIndex(vectors, centres)

    def indexed(self, seed: int) -> "ReferenceSet":
        """Return the set with an index to search by, if it is large and has none.

        Without the library that this needs all distances are measured, and a warning says so.
        """
        if self.index is not None or len(self) < APPROXIMATE_FROM or not self._can_index():
            return self
        centres = learned_centres(self.vectors, seed)
        return replace(self, index=NeighbourIndex(self.vectors, centres))

    def with_index(self, arrays: Mapping[str, NDArray[Any]]) -> "ReferenceSet":
        """Return the set with the index that a model file holds, once it fits."""
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
        """Whether the library that an index needs is here; a warning says so if it is not."""
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
