"""Approximate neighbours: short codes of the references, in cells, searched before the vectors.

In: unit vectors of a large reference set, then of windows. Out: for each window the places of
references that are probably its nearest; the caller measures the true distances to those.

The codes are faiss's (extra ``ann``). All that was learned lies in plain arrays, from which the
searchable form is made again to the bit; no index of another library is ever read from a file.
"""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from smkc.density._loops import largest
from smkc.density.projection import stable_product
from smkc.errors import MissingExtraError, ModelFileError

__all__ = ["NeighbourIndex", "need_faiss"]

# Cells searched for a window: so many, and one of so many more. With the candidates that a
# reference set asks for, recall at 20 is .95 and more (docs/scale.md).
PROBES, CELLS_A_PROBE = 64, 50

# Numbers that one half-byte of a code stands for, and the values that it can have.
NUMBERS_A_CODE, CODE_VALUES = 2, 16

# What is learned from: this many vectors a cell, in so many rounds.
VECTORS_A_CELL, ROUNDS = 32, 6

# Learned anew when the set has grown so much since, or when so large a share is no longer in it.
MOST_GROWTH, MOST_STALE = 4, 0.5

# Rows that are put into cells in one go; also the size of a block of faiss's codes.
BLOCK_ROWS, BLOCK_CODES = 4096, 32

STALE = -1


@dataclass(frozen=True, kw_only=True, eq=False)
class NeighbourIndex:
    """Codes of the references, each in the cell of its nearest centre.

    Parameters
    ----------
    centres
        (n_cells, d) float32, of length 1.
    codebook
        (d / 2, 16, 2) float32: what the half-bytes of a code stand for.
    cells, codes, places
        (n,) int32, (n, d / 4) uint8 and (n,) int64: every entry's cell, its code, and its place in
        the reference set; STALE for those that were replaced.
    n_trained
        how many references there were when centres and codebook were learned.

    Notes
    -----
    H. Jegou, M. Douze, C. Schmid, "Product quantization for nearest neighbor search", PAMI 33,
    2011; four-bit codes: F. Andre, A.-M. Kermarrec, N. Le Scouarnec, "Cache locality is not
    enough", VLDB 2015; M. Douze et al., "The Faiss library", 2024.
    """

    centres: NDArray[np.float32]
    codebook: NDArray[np.float32]
    cells: NDArray[np.int32]
    codes: NDArray[np.uint8]
    places: NDArray[np.int64]
    n_trained: int

    @classmethod
    def of(cls, vectors: NDArray[np.float32], seed: int) -> "NeighbourIndex":
        """Learn centres and codebook from (n, d) unit vectors, and put all of them in.

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
            centres = np.ascontiguousarray(means.centroids, np.float32)
            coder = faiss.ProductQuantizer(d, d // NUMBERS_A_CODE, 4)
            coder.train(sample - centres[_cells_of(sample, centres)])
            shape = (d // NUMBERS_A_CODE, CODE_VALUES, NUMBERS_A_CODE)
            codebook = faiss.vector_to_array(coder.centroids).reshape(shape)
        empty = cls(
            centres=centres,
            codebook=codebook,
            cells=np.empty(0, np.int32),
            codes=np.empty((0, d // NUMBERS_A_CODE // 2), np.uint8),
            places=np.empty(0, np.int64),
            n_trained=n,
        )
        return empty._with(np.arange(n), vectors)

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
        n_cells = len(self.centres)
        n_probes = probes_for(n_cells)
        near = stable_product(vectors, self._by_component)
        chosen = np.empty((len(vectors), n_probes), np.int64)
        likeness = np.empty(chosen.shape, np.float32)
        largest(near, n_probes, chosen, likeness)
        faiss = need_faiss()
        with _on_one_thread(faiss, are_products=False):
            _, entries = self._searchable.search_preassigned(vectors, n, chosen, likeness)
        return np.where(entries >= 0, self.places[entries], STALE)

    @cached_property
    def _by_component(self) -> NDArray[np.float32]:
        """(d, n_cells) the centres, component by component."""
        return np.ascontiguousarray(self.centres.T)

    @cached_property
    def _searchable(self) -> Any:
        """Return faiss's form of the arrays."""
        faiss = need_faiss()
        n_cells, d = self.centres.shape
        coarse = faiss.IndexFlatIP(d)
        coarse.add(self.centres)
        plain = faiss.IndexIVFPQ(
            coarse, d, n_cells, d // NUMBERS_A_CODE, 4, faiss.METRIC_INNER_PRODUCT
        )
        faiss.copy_array_to_vector(self.codebook.reshape(-1), plain.pq.centroids)
        plain.by_residual, plain.is_trained = True, True
        order = np.argsort(self.cells, kind="stable")
        ends = np.cumsum(np.bincount(self.cells, minlength=n_cells))
        for cell, (first, end) in enumerate(zip([0, *ends[:-1]], ends, strict=True)):
            mine = order[first:end]
            codes = np.ascontiguousarray(self.codes[mine])
            plain.invlists.add_entries(cell, len(mine), faiss.swig_ptr(mine), faiss.swig_ptr(codes))
        plain.ntotal = len(self.cells)
        packed = faiss.IndexIVFPQFastScan(plain, BLOCK_CODES)
        packed.nprobe = probes_for(n_cells)
        packed.implem = 13  # one way to search, whatever the number of windows
        return packed

    def _with(self, places: NDArray[np.int64], vectors: NDArray[np.float32]) -> "NeighbourIndex":
        """Return an index with more entries."""
        faiss = need_faiss()
        _, d = self.centres.shape
        coder = faiss.ProductQuantizer(d, d // NUMBERS_A_CODE, 4)
        faiss.copy_array_to_vector(self.codebook.reshape(-1), coder.centroids)
        cells, codes = [self.cells], [self.codes]
        with _on_one_thread(faiss):
            for first in range(0, len(vectors), BLOCK_ROWS):
                block = vectors[first : first + BLOCK_ROWS]
                cells.append(_cells_of(block, self.centres))
                codes.append(coder.compute_codes(block - self.centres[cells[-1]]))
        return replace(
            self,
            cells=np.concatenate(cells),
            codes=np.concatenate(codes),
            places=np.concatenate([self.places, places]),
        )

    # ------------------------------------------------------------------ saving

    def to_arrays(self) -> dict[str, NDArray[Any]]:
        """Return all there is, as arrays."""
        return {
            "centres": self.centres,
            "codebook": self.codebook,
            "cells": self.cells,
            "codes": self.codes,
            "places": self.places,
            "n_trained": np.array([self.n_trained], np.int64),
        }

    @classmethod
    def from_arrays(
        cls, arrays: Mapping[str, NDArray[Any]], n_references: int, d: int
    ) -> "NeighbourIndex":
        """Return what :meth:`to_arrays` gave, for a set of so many references, once it fits."""
        given = [arrays[name] for name in ("centres", "codebook", "cells", "codes", "places")]
        centres, codebook, cells, codes, places = given
        n, n_codes, n_trained = len(cells), d // NUMBERS_A_CODE, arrays["n_trained"]
        fits = (
            [array.dtype for array in given]
            == [np.float32, np.float32, np.int32, np.uint8, np.int64]
            and centres.shape == (len(centres), d)
            and len(centres) >= 1
            and codebook.shape == (n_codes, CODE_VALUES, NUMBERS_A_CODE)
            and cells.shape == places.shape == (n,)
            and codes.shape == (n, n_codes // 2)
            and all(bool(np.isfinite(array).all()) for array in (centres, codebook))
            and bool(((cells >= 0) & (cells < len(centres))).all())
            and np.array_equal(np.sort(places[places != STALE]), np.arange(n_references))
            and n_trained.shape == (1,)
            and n_trained.dtype == np.int64
            and n_trained[0] >= 1
        )
        if not fits:
            raise ModelFileError(
                f"the stored index of {n:,} entries does not fit its {n_references:,} references; "
                "fit again and save the model anew"
            )
        return cls(
            centres=centres,
            codebook=codebook,
            cells=cells,
            codes=codes,
            places=places,
            n_trained=int(n_trained[0]),
        )


def cells_for(n: int) -> int:
    """How many cells so many references have: a power of two near 4 sqrt(n), at least 16."""
    return int(2 ** max(4, round(np.log2(4 * np.sqrt(max(n, 1))))))


def probes_for(n_cells: int) -> int:
    """How many of the cells are searched for one window."""
    return min(PROBES + n_cells // CELLS_A_PROBE, n_cells)


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


def _cells_of(vectors: NDArray[np.float32], centres: NDArray[np.float32]) -> NDArray[np.int32]:
    """(n,) the cell of each vector: its most similar centre."""
    by_component = np.ascontiguousarray(centres.T)
    cells = np.empty(len(vectors), np.int32)
    for first in range(0, len(vectors), BLOCK_ROWS):
        block = vectors[first : first + BLOCK_ROWS]
        cells[first : first + len(block)] = stable_product(block, by_component).argmax(axis=1)
    return cells


@contextmanager
def _on_one_thread(faiss: Any, are_products: bool = True) -> Iterator[None]:
    """Keep faiss on this thread: sums are then the same on every machine of a kind."""
    from threadpoolctl import threadpool_limits

    before = faiss.omp_get_max_threads()
    faiss.omp_set_num_threads(1)
    try:
        if are_products:
            with threadpool_limits(limits=1, user_api="blas"):
                yield
        else:
            yield
    finally:
        faiss.omp_set_num_threads(before)
