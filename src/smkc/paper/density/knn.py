"""The training-free density: features, projection, nearest neighbours in a reference set.

In: windows of a prepared recording. Out: one score per window, higher = farther from normal.
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from smkc import progress
from smkc.errors import ModelFileError
from smkc.paper.density.projection import GENERATOR, Projection
from smkc.paper.density.reference import ELSEWHERE, ReferenceSet, reservoir_places
from smkc.paper.kernel import Representation, filled_share, map_features
from smkc.paper.sketch import Sketch
from smkc.parallel import products_on_one_thread
from smkc.recording import Recording


@dataclass(frozen=True, kw_only=True)
class KnnDensity:
    """The paper's RandProj-kNN over windows of a recording.

    Parameters
    ----------
    window
        rows per window.
    representation, sketch, projection
        how a window becomes a unit vector.
    neighbours
        number of nearest reference windows that a score averages over.
    least_filled
        share of a window's rows that must hold an observation; otherwise its score is NaN.
    references
        the stored normal windows.
    typical
        (F,) mean features of the windows learned from.

    Notes
    -----
    Paper, section 3.3.
    """

    window: int
    representation: Representation
    sketch: Sketch
    projection: Projection
    neighbours: int
    least_filled: float
    references: ReferenceSet
    typical: NDArray[np.float32]

    @classmethod
    def empty(
        cls,
        *,
        window: int,
        representation: Representation,
        sketch: Sketch,
        projection: Projection,
        neighbours: int,
        least_filled: float,
        reference_size: int,
    ) -> "KnnDensity":
        """Return a density without reference windows."""
        nothing = np.empty((0, projection.components), np.float32)
        return cls(
            window=window,
            representation=representation,
            sketch=sketch,
            projection=projection,
            neighbours=neighbours,
            least_filled=least_filled,
            references=ReferenceSet(nothing, 0, reference_size, np.empty(0, np.int64)),
            typical=np.zeros(representation.n_features(window, sketch.width), np.float32),
        )

    @property
    def n_references(self) -> int:
        """Number of reference windows kept."""
        return len(self.references)

    def is_filled(self, prepared: Recording, starts: NDArray[np.int64]) -> NDArray[np.bool_]:
        """Return (B,) whether each window has enough filled rows to be scored."""
        return filled_share(prepared, starts, self.window) >= self.least_filled

    def learned(self, prepared: Recording, starts: NDArray[np.int64]) -> "KnnDensity":
        """Return a density that has also learned from these windows.

        Its reference set is a uniform sample of all windows offered so far.
        """
        seen, capacity = self.references.seen, self.references.capacity
        which, places = reservoir_places(len(starts), seen, capacity, self.projection.seed)
        vectors, total = self._vectors(prepared, starts[which])
        weight = len(starts) / max(seen + len(starts), 1)
        typical = self.typical + weight * (total / max(len(which), 1) - self.typical)
        references = self.references.replaced(places, vectors, starts[which], len(starts))
        return replace(
            self,
            references=references,
            typical=typical.astype(np.float32),
        )

    def _vectors(
        self, prepared: Recording, starts: NDArray[np.int64]
    ) -> tuple[NDArray[np.float32], NDArray[np.float64]]:
        """Return the windows' (B, components) unit vectors and the (F,) sum of their features."""
        vectors = np.empty((len(starts), self.projection.components), np.float32)

        def keep(part: slice, block: NDArray[np.float32]) -> tuple[int, NDArray[np.float64]]:
            vectors[part] = self.projection.unit_vectors(block)
            return len(block), block.sum(axis=0, dtype=np.float64)

        total = np.zeros(len(self.typical))
        windows = prepared, starts, self.window, self.representation, self.sketch
        name = "learning what is normal"
        with progress.task(name, len(starts)) as advance, products_on_one_thread():
            for n_done, block_total in map_features(keep, *windows):
                total += block_total
                advance(n_done)
        return vectors, total

    def left_out_runs(
        self, prepared: Recording, starts: NDArray[np.int64]
    ) -> list[NDArray[np.int64]]:
        """Return all windows as one run: any of them can be scored with its block left out."""
        return [starts]

    def scores(
        self, prepared: Recording, starts: NDArray[np.int64], guard: int = 0
    ) -> NDArray[np.float64]:
        """Return (B,) mean cosine distances to the nearest references.

        NaN where too little was observed. A positive ``guard`` is for windows of the recording
        learned from last: references that start less than ``guard`` rows from a window are left
        out, as if the block around it had not been learned from.
        """
        chosen = np.flatnonzero(self.is_filled(prepared, starts))
        scores = np.full(len(starts), np.nan)
        scores[chosen] = self._distances(prepared, starts[chosen], guard)
        return scores

    def _distances(
        self, prepared: Recording, starts: NDArray[np.int64], guard: int
    ) -> NDArray[np.float64]:
        """Return (B,) mean cosine distances of windows that have enough filled rows."""
        distances = np.empty(len(starts))

        def measure(part: slice, block: NDArray[np.float32]) -> int:
            vectors = self.projection.unit_vectors(block)
            distances[part] = self.references.mean_distance(
                vectors, self.neighbours, starts[part], guard
            )
            return len(block)

        windows = prepared, starts, self.window, self.representation, self.sketch
        name = "calibrating" if guard else "scoring"
        with progress.task(name, len(starts)) as advance, products_on_one_thread():
            for n_done in map_features(measure, *windows):
                advance(n_done)
        return distances

    # ------------------------------------------------------------------ saving

    def fingerprint(self) -> bytes:
        """Return bytes that identify this density: the vectors of its reference set."""
        return self.references.vectors.tobytes()

    def to_arrays(self) -> tuple[dict[str, NDArray[Any]], dict[str, Any]]:
        """Return arrays and a JSON-able header; the detector saves the settings."""
        arrays: dict[str, NDArray[Any]] = {
            "references": self.references.vectors,
            "typical": self.typical,
        }
        header = {
            "hash": "md5 of identifier and suffix, big-endian",
            "generator": GENERATOR,
            "seed": self.projection.seed,
            "shape": [len(self.typical), self.projection.components],
            "sha256": self.projection.digest(len(self.typical)),
            "seen": self.references.seen,
        }
        return arrays, header

    def restored(
        self, arrays: Mapping[str, NDArray[Any]], header: Mapping[str, Any]
    ) -> "KnnDensity":
        """Return this (empty) density filled with the results of :meth:`to_arrays`."""
        vectors, typical, seen = arrays["references"], arrays["typical"], header["seen"]
        fits = (
            vectors.dtype == np.float32
            and vectors.ndim == 2
            and vectors.shape[1] == self.projection.components
            and self.neighbours <= len(vectors) <= self.references.capacity
            and typical.dtype == np.float32
            and typical.shape == self.typical.shape
            and bool(np.isfinite(vectors).all() and np.isfinite(typical).all())
            and isinstance(seen, int)
            and seen >= len(vectors)
        )
        if not fits:
            raise ModelFileError(
                f"the stored reference set, {vectors.dtype} {vectors.shape}, does not fit the "
                "model's settings; fit again and save the model anew"
            )
        if header["generator"] != GENERATOR or header["sha256"] != self.projection.digest(
            len(self.typical)
        ):
            raise ModelFileError(
                f"the model's random projection, made by {header['generator']!r}, cannot be made "
                "again by this version of NumPy; fit again and save the model anew"
            )
        rows = np.full(len(vectors), ELSEWHERE)
        references = ReferenceSet(vectors, seen, self.references.capacity, rows)
        return replace(self, references=references, typical=typical)
