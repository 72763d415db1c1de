"""Index of a large reference set: cells of similar references, only near cells are searched.

In: unit vectors of references, then of windows. Out: for each window the indices of references that
are probably its nearest; the caller measures the exact distances to those. It uses faiss (extra
``ann``).
"""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
from numpy.typing import NDArray

from smkc.errors import MissingExtraError, install_command
from smkc.parallel import products_on_one_thread

# One in this many cells is searched; see docs/scale.md for recall and speed.
CELLS_PER_PROBE = 8

CODE_BITS = 4

# Training of the cell centres: vectors per cell, and iterations of k-means.
VECTORS_PER_CELL, ROUNDS = 32, 6

# Vectors that the codes are learned from; up to twice as many are used.
TRAINED_ON = 2**16


def need_faiss() -> Any:
    """Return the faiss module; raise MissingExtraError, with the install command, if missing."""
    try:
        import faiss
    except ModuleNotFoundError:
        raise MissingExtraError(
            "approximate neighbours in large reference sets need faiss, which is not installed; "
            f"run: {install_command('ann')}"
        ) from None
    return faiss


def learned_centres(vectors: NDArray[np.float32], seed: int) -> NDArray[np.float32]:
    """Return (n_cells, d) cell centres for (n, d) unit vectors; deterministic for a given seed."""
    n, d = vectors.shape
    n_cells = cells_for(n)
    rng = np.random.Generator(np.random.PCG64([seed, n]))
    size = min(n, VECTORS_PER_CELL * n_cells)
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
            max_points_per_centroid=VECTORS_PER_CELL,
        )
        means.train(sample)
    return np.ascontiguousarray(means.centroids, np.float32)


def cells_for(n: int) -> int:
    """Return the number of cells for n references: a power of 2 near 4 sqrt(n), at least 16."""
    return int(2 ** max(4, round(np.log2(4 * np.sqrt(max(n, 1))))))


class NeighbourIndex:
    """References as product-quantised codes, each in the cell of its nearest centre.

    A code has 4 bits per 2 components, or per component if d is odd. ``vectors`` (n, d) are the
    references, of length 1, and ``centres`` (n_cells, d) come from :func:`learned_centres`.

    Notes
    -----
    faiss' IndexIVFPQFastScan; M. Douze et al., "The Faiss library", 2024. Codes of 8 bits per
    number had a higher recall, but took as long as measuring all distances.
    """

    def __init__(self, vectors: NDArray[np.float32], centres: NDArray[np.float32]) -> None:
        self.centres = centres
        faiss = need_faiss()
        n_cells, d = centres.shape
        by_product = faiss.METRIC_INNER_PRODUCT
        self._cells = faiss.IndexFlatIP(d)  # kept: the index does not own it
        self._cells.add(centres)
        n_parts = d // 2 if d % 2 == 0 else d
        self._index = faiss.IndexIVFPQFastScan(
            self._cells, d, n_cells, n_parts, CODE_BITS, by_product
        )
        self._index.nprobe = max(1, n_cells // CELLS_PER_PROBE)
        with _on_one_thread(faiss):
            self._index.train(vectors[:: max(1, len(vectors) // TRAINED_ON)])
            self._index.add(vectors)

    def candidates(self, vectors: NDArray[np.float32], n: int) -> NDArray[np.int64]:
        """Return (B, n) indices of references likely to be near (B, d) vectors; -1 for none."""
        with _on_one_thread(need_faiss()):
            _, places = self._index.search(np.ascontiguousarray(vectors), n)
        found: NDArray[np.int64] = places
        return found


@contextmanager
def _on_one_thread(faiss: Any) -> Iterator[None]:
    """Keep faiss and matrix products on this thread: other threads process other windows."""
    before = faiss.omp_get_max_threads()
    faiss.omp_set_num_threads(1)
    try:
        with products_on_one_thread():
            yield
    finally:
        faiss.omp_set_num_threads(before)
