"""What a detector asks of its density, whichever one it has.

In: windows of a prepared recording. Out: the methods and attributes that the rest of the library
uses; :class:`~smkc.paper.density.KnnDensity` has them, and so do densities that are trained.
"""

from collections.abc import Mapping
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from smkc.paper.kernel import Representation, SlidingWindow
from smkc.paper.sketch import Sketch
from smkc.recording import Recording

__all__ = ["Density"]


class Density(Protocol):
    """Something that learns from normal windows and then says how unusual a window is."""

    @property
    def window(self) -> int:
        """Rows a window."""

    @property
    def representation(self) -> Representation:
        """How a window becomes features."""

    @property
    def sketch(self) -> Sketch:
        """How a row becomes a state."""

    @property
    def neighbours(self) -> int:
        """How many nearest reference windows a score averages over."""

    @property
    def least_filled(self) -> float:
        """Share of a window's rows that must hold an observation for it to be scored."""

    @property
    def typical(self) -> NDArray[np.float32]:
        """(F,) mean features of the windows learned from."""

    @property
    def n_references(self) -> int:
        """How many reference windows are kept."""

    def is_filled(self, prepared: Recording, starts: NDArray[np.int64]) -> NDArray[np.bool_]:
        """(B,) whether enough was observed in each window for it to be scored."""

    def learned(self, prepared: Recording, starts: NDArray[np.int64]) -> "Density":
        """Return a density that has learned from these windows too."""

    def left_out_runs(
        self, prepared: Recording, starts: NDArray[np.int64]
    ) -> list[NDArray[np.int64]]:
        """Of windows of the recording learned from last, return runs that may calibrate.

        These are the windows that :meth:`scores` with a guard has scores for, as unbroken runs.
        """

    def scores(
        self, prepared: Recording, starts: NDArray[np.int64], guard: int = 0
    ) -> NDArray[np.float64]:
        """(B,) scores, higher = more anomalous; NaN where too little was observed.

        With a ``guard``, for windows of the recording that was learned from last: as if the block
        of so many rows around each window had not been learned from. NaN where that cannot be.
        """

    def score_latest(self, latest: SlidingWindow) -> float:
        """Score the latest window of a stream."""

    def fingerprint(self) -> bytes:
        """Return what tells this density from others: the bytes of what was learned."""

    def to_arrays(self) -> tuple[dict[str, NDArray[Any]], dict[str, Any]]:
        """Return arrays and a JSON-able header; the settings are saved by the detector."""

    def restored(self, arrays: Mapping[str, NDArray[Any]], header: Mapping[str, Any]) -> "Density":
        """Return this (empty) density with what :meth:`to_arrays` gave."""
