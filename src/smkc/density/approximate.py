"""Approximate neighbours: references in cells, in bytes, of which only near cells are looked into.

In: unit vectors of a large reference set, then of windows. Out: for each window the places of
references that are probably its nearest; the caller measures the true distances to those.

Centres of cells are learned by faiss (extra ``ann``). All that was learned lies in plain arrays,
from which the searchable form is made again to the bit.
"""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from smkc.density._loops import largest
from smkc.density.cells import SHIFT, PackedCells
from smkc.density.projection import stable_product
from smkc.errors import MissingExtraError, ModelFileError

__all__ = ["NeighbourIndex", "need_faiss"]

# Cells looked into for a window, at least: so many, and one of so many more.
PROBES, CELLS_A_PROBE = 64, 50

# As many cells are looked into as such a share of the neighbours of so many references needs.
# References with places less than so far apart may be windows that overlap: they do not count.
GOAL, NEIGHBOURS, ASKED, APART = 0.96, 20, 256, 256

# What is learned from: this many vectors a cell, in so many rounds.
VECTORS_A_CELL, ROUNDS = 32, 6

# Learned anew when the set has grown so much since, or when so large a share is no longer in it.
MOST_GROWTH, MOST_STALE = 4, 0.5

# Rows that are put into cells in one go; and those that are compared with all references.
BLOCK_ROWS, BLOCK_ASKED = 4096, 32

LARGEST_BYTE = 127

STALE = -1


@dataclass(frozen=True, kw_only=True, eq=False)
class NeighbourIndex:
    """Bytes of the references, each in the cell of its nearest centre.

    Parameters
    ----------
    centres
        (n_cells, d) float32, of length 1.
    mean, unit
        (d,) and (1,) float32: a reference is rounded to bytes less the mean, in such units.
    cells, codes, places
        (n,) int32, (n, d) uint8 and (n,) int64: every entry's cell, its bytes, and its place in
        the reference set; STALE for those that were replaced.
    n_trained
        how many references there were when all that was learned.
    n_probes
        how many cells are looked into for a window.

    Notes
    -----
    Cells: J. Sivic, A. Zisserman, "Video Google", ICCV 2003; M. Douze et al., "The Faiss library",
    2024. For one window q . (r - mean) ranks references as q . r does.
    """

    centres: NDArray[np.float32]
    mean: NDArray[np.float32]
    unit: NDArray[np.float32]
    cells: NDArray[np.int32]
    codes: NDArray[np.uint8]
    places: NDArray[np.int64]
    n_trained: int
    n_probes: int

    @classmethod
    def of(cls, vectors: NDArray[np.float32], seed: int) -> "NeighbourIndex":
        """Learn cells from (n, d) unit vectors, put all of them in, and see how far to look.

        The same vectors and seed give the same index: everything is done on one thread.
        """
        n, d = vectors.shape
        n_cells = cells_for(n)
        rng = np.random.Generator(np.random.PCG64([seed, n]))
        size = min(n, VECTORS_A_CELL * n_cells)
        sample = vectors[np.sort(rng.choice(n, size, replace=False))]
        faiss = need_faiss()
        with _on_one_thread(faiss):
            means = faiss.Kmeans(
                d,
                n_cells,
                niter=ROUNDS,
                spherical=True,
                seed=1 + seed % (2**31 - 1),
                min_points_per_centroid=1,
                max_points_per_centroid=VECTORS_A_CELL,
            )
            means.train(sample)
            mean = sample.mean(axis=0, dtype=np.float64).astype(np.float32)
            unit = np.abs(sample - mean).max(keepdims=True).reshape(1) / np.float32(LARGEST_BYTE)
            empty = cls(
                centres=np.ascontiguousarray(means.centroids, np.float32),
                mean=mean,
                unit=np.maximum(unit, np.finfo(np.float32).tiny),
                cells=np.empty(0, np.int32),
                codes=np.empty((0, d), np.uint8),
                places=np.empty(0, np.int64),
                n_trained=n,
                n_probes=n_cells,
            )
            index = empty._with(np.arange(n), vectors)
            asked = np.sort(rng.choice(n, min(n, ASKED), replace=False))
            return replace(index, n_probes=_probes_needed(index, vectors, asked))

    def replaced(
        self, places: NDArray[np.int64], vectors: NDArray[np.float32]
    ) -> "NeighbourIndex | None":
        """Return an index with these vectors at these places; None where it should be learned anew.

        What was at the places before is passed over from now on.
        """
        is_new = np.zeros(max(int(self.places.max(initial=-1)), int(places.max(initial=-1))) + 1)
        is_new[places] = 1
        kept = np.where(is_new[self.places] > 0, STALE, self.places)
        kept[self.places == STALE] = STALE
        n_live = int((kept != STALE).sum()) + len(places)
        n_entries = len(kept) + len(places)
        if n_live > MOST_GROWTH * self.n_trained or n_entries - n_live > MOST_STALE * n_entries:
            return None
        return replace(self, places=kept)._with(places, vectors)

    def candidates(self, vectors: NDArray[np.float32], n: int) -> NDArray[np.int64]:
        """(B, n) places of references that are likely to be near (B, d) vectors.

        STALE stands where there are none. A window's are the same in any company.
        """
        near = stable_product(vectors, self._by_component)
        chosen = np.empty((len(vectors), self.n_probes), np.int64)
        likeness = np.empty(chosen.shape, np.float32)
        largest(near, self.n_probes, chosen, likeness)
        most = np.maximum(np.abs(vectors).max(axis=1, keepdims=True), np.finfo(np.float32).tiny)
        queries = np.rint(vectors * (np.float32(LARGEST_BYTE) / most)).astype(np.int8)
        entries = self._searchable.look(queries, chosen, likeness, n)
        return np.where(entries >= 0, self.places[entries], STALE)

    @cached_property
    def _by_component(self) -> NDArray[np.float32]:
        """(d, n_cells) the centres, component by component."""
        return np.ascontiguousarray(self.centres.T)

    @cached_property
    def _searchable(self) -> PackedCells:
        """Return the entries that are not stale, cell by cell."""
        cells = np.where(self.places == STALE, STALE, self.cells)
        return PackedCells.of(cells, self.codes, len(self.centres))

    def _with(self, places: NDArray[np.int64], vectors: NDArray[np.float32]) -> "NeighbourIndex":
        """Return an index with more entries."""
        n = len(vectors)
        cells, codes = np.empty(n, np.int32), np.empty((n, self.centres.shape[1]), np.uint8)
        for first in range(0, n, BLOCK_ROWS):
            block = vectors[first : first + BLOCK_ROWS]
            part = slice(first, first + len(block))
            cells[part] = stable_product(block, self._by_component).argmax(axis=1)
            whole = np.rint((block - self.mean) / self.unit)
            codes[part] = np.clip(whole, -LARGEST_BYTE, LARGEST_BYTE) + np.float32(SHIFT)
        return replace(
            self,
            cells=np.concatenate([self.cells, cells]),
            codes=np.concatenate([self.codes, codes]),
            places=np.concatenate([self.places, places]),
        )

    # ------------------------------------------------------------------ saving

    def to_arrays(self) -> dict[str, NDArray[Any]]:
        """Return all there is, as arrays."""
        return {
            "centres": self.centres,
            "mean": self.mean,
            "unit": self.unit,
            "cells": self.cells,
            "codes": self.codes,
            "places": self.places,
            "n_trained": np.array([self.n_trained], np.int64),
            "n_probes": np.array([self.n_probes], np.int64),
        }

    @classmethod
    def from_arrays(
        cls, arrays: Mapping[str, NDArray[Any]], n_references: int, d: int
    ) -> "NeighbourIndex":
        """Return what :meth:`to_arrays` gave, for a set of so many references, once it fits."""
        names = ("centres", "mean", "unit", "cells", "codes", "places", "n_trained", "n_probes")
        types = (*[np.float32] * 3, np.int32, np.uint8, *[np.int64] * 3)
        given = {name: arrays[name] for name in names if name in arrays}
        if len(given) < len(names) or not _fits(given, types, n_references, d):
            raise ModelFileError(
                f"the stored index of {n_references:,} references is damaged, or of another "
                "version of smkc; fit again and save the model anew"
            )
        numbers = {name: int(given.pop(name)[0]) for name in ("n_trained", "n_probes")}
        return cls(**given, **numbers)  # type: ignore[arg-type]


def _fits(
    given: Mapping[str, NDArray[Any]], types: tuple[Any, ...], n_references: int, d: int
) -> bool:
    """Tell whether stored arrays can be an index of so many references."""
    centres, mean, unit, cells, codes, places, n_trained, n_probes = given.values()
    n, n_cells = len(cells), len(centres)
    return (
        tuple(array.dtype for array in given.values()) == types
        and centres.shape == (n_cells, d)
        and n_cells >= 1
        and mean.shape == (d,)
        and unit.shape == n_trained.shape == n_probes.shape == (1,)
        and cells.shape == places.shape == (n,)
        and codes.shape == (n, d)
        and all(bool(np.isfinite(array).all()) for array in (centres, mean, unit))
        and bool(unit[0] > 0)
        and bool(((cells >= 0) & (cells < n_cells)).all())
        and np.array_equal(np.sort(places[places != STALE]), np.arange(n_references))
        and bool(n_trained[0] >= 1)
        and bool(1 <= n_probes[0] <= n_cells)
    )


def cells_for(n: int) -> int:
    """How many cells so many references have: a power of two near 4 sqrt(n), at least 16."""
    return int(2 ** max(4, round(np.log2(4 * np.sqrt(max(n, 1))))))


def _probes_needed(
    index: NeighbourIndex, vectors: NDArray[np.float32], asked: NDArray[np.int64]
) -> int:
    """How many cells to look into, so that the references ``asked`` find GOAL of their nearest."""
    n, n_cells = len(vectors), len(index.centres)
    apart = min(APART, n // 8)
    ranks = []
    for first in range(0, len(asked), BLOCK_ASKED):
        rows = asked[first : first + BLOCK_ASKED]
        alike = vectors[rows] @ vectors.T
        for mine, row in zip(alike, rows, strict=True):
            mine[max(row - apart, 0) : row + apart + 1] = -np.inf
        nearest = np.argpartition(-alike, min(NEIGHBOURS, n - 1), axis=1)[:, :NEIGHBOURS]
        near = vectors[rows] @ index._by_component
        of_nearest = np.take_along_axis(near, index.cells[nearest].astype(np.int64), axis=1)
        ranks += [(near > one[:, None]).sum(axis=1) for one in of_nearest.T]
    needed = 1 + int(np.quantile(np.concatenate(ranks), GOAL, method="higher"))
    return min(max(needed, PROBES + n_cells // CELLS_A_PROBE), n_cells)


def need_faiss() -> Any:
    """Return the library, or say how to install it."""
    try:
        import faiss
    except ModuleNotFoundError:
        raise MissingExtraError(
            "approximate neighbours in large reference sets need faiss, which is not installed; "
            'run: pip install "smkc[ann]"'
        ) from None
    return faiss


@contextmanager
def _on_one_thread(faiss: Any) -> Iterator[None]:
    """Keep faiss and products on this thread: sums are the same on every machine of a kind."""
    from threadpoolctl import threadpool_limits

    before = faiss.omp_get_max_threads()
    faiss.omp_set_num_threads(1)
    try:
        with threadpool_limits(limits=1, user_api="blas"):
            yield
    finally:
        faiss.omp_set_num_threads(before)
