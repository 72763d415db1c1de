"""Contract: what a detector asks of what it has learned, however that scores.

In: recordings. Out: scores of windows and time steps, thresholds, causes. Every caller uses these
protocols alone: a detector of another kind needs nothing but a class that has them.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from smkc.decide.alerts import Cause
from smkc.decide.thresholds import Thresholds
from smkc.recording import Recording
from smkc.stream import Stream

__all__ = ["Fitted", "RowScores", "Scan", "ScoredWindows", "Windows"]


@dataclass(frozen=True, kw_only=True, eq=False)
class ScoredWindows:
    """Scores of B windows of a recording, each array (B,); windows are in order of time.

    ``prepared`` is the recording as it was scored. ``alarms`` are what alerts are raised by: the
    scores, or surprises of each row; ``marks`` are a :class:`~smkc.decide.Mark` for each, of
    detectors that can tell. Where scores have two parts, ``held`` belongs
    to the rows of a window and ``prompt`` to its last row alone. ``by_evidence`` says how surprised
    each evidence was, in nats, for detectors that have evidences. ``checkpoints`` are states at
    some rows, from which a detector that learns as it scores can go on to explain later ones.
    """

    prepared: Recording
    first_rows: NDArray[np.int64]
    last_rows: NDArray[np.int64]
    scores: NDArray[np.float64]
    p_values: NDArray[np.float64]
    alarms: NDArray[np.float64]
    held: NDArray[np.float64] = field(default_factory=lambda: np.empty(0))
    prompt: NDArray[np.float64] = field(default_factory=lambda: np.empty(0))
    marks: NDArray[np.int8] | None = None
    by_evidence: Mapping[str, NDArray[np.float64]] = field(default_factory=dict)
    checkpoints: Mapping[int, Any] = field(default_factory=dict)

    def worst(self, first: int, last: int) -> int | None:
        """Return the number of the most alarming window that overlaps rows first to last, if any.

        Where each row alarms by itself, that is the window which ends at the worst row.
        """
        begins = self.last_rows if len(self.prompt) else self.first_rows
        overlaps = (begins <= last) & (self.last_rows >= first) & ~np.isnan(self.alarms)
        if not overlaps.any():
            return None
        return int(np.argmax(np.where(overlaps, self.alarms, -np.inf)))


@dataclass(frozen=True, kw_only=True, eq=False)
class Windows:
    """Windows that are to be scored, with all rows that they need: a time range and its halo.

    Parameters
    ----------
    prepared
        the rows, scaled where the detector scales them.
    starts
        (B,) where the windows start among them.
    """

    prepared: Recording
    starts: NDArray[np.int64]


@dataclass(frozen=True, kw_only=True, eq=False)
class RowScores:
    """What was scored at (n,) rows.

    Parameters
    ----------
    held
        (n,) the score of the window that ends at each row; -inf where none ends, NaN where one has
        no score.
    prompt, alarms, marks
        (n,) what belongs to each row alone, what alerts are raised by, and what the row is to an
        alert; None if the scores of time steps are all there is.
    """

    held: NDArray[np.float64]
    prompt: NDArray[np.float64] | None = None
    alarms: NDArray[np.float64] | None = None
    marks: NDArray[np.int8] | None = None


class Scan(Protocol):
    """The scores of one recording, piece by piece, equal to those of the whole.

    What has to be done in the order of the rows is done in ``begin`` and ``end``. Where windows are
    independent (:attr:`Fitted.has_independent_windows`), ``score`` may run anywhere in between.
    """

    def begin(self, rows: Recording) -> Windows:
        """Take the next rows; return the windows that end in them."""

    def score(self, windows: Windows) -> NDArray[np.float64]:
        """(B,) or (B, k) scores of windows, as :meth:`end` takes them."""

    def end(self, n_rows: int, windows: Windows, scores: NDArray[np.float64]) -> RowScores:
        """Return what the last ``n_rows`` rows have, from the scores of their windows."""

    def to_arrays(self) -> tuple[dict[str, NDArray[Any]], dict[str, Any]]:
        """Return arrays and a JSON-able header from which :meth:`restore` goes on exactly."""

    def restore(self, arrays: Mapping[str, NDArray[Any]], header: Mapping[str, Any]) -> None:
        """Take over what :meth:`to_arrays` gave; only before any row was taken."""


class Fitted(Protocol):
    """What a detector knows after it has seen reference data."""

    @property
    def window(self) -> int:
        """Rows per window."""

    @property
    def stride(self) -> int:
        """Rows from one window to the next."""

    @property
    def join(self) -> int:
        """Most quiet rows between two alerts that are one."""

    @property
    def has_independent_windows(self) -> bool:
        """Whether a window's score depends on its own rows alone."""

    @property
    def seasons(self) -> Mapping[str, float]:
        """Period of each variable that has a season, in seconds for dates; empty if not used."""

    @property
    def of_steps(self) -> Thresholds:
        """What normal alarms of time steps look like."""

    @property
    def of_windows(self) -> Thresholds:
        """What normal scores of windows look like."""

    def updated(self, recording: Recording, seed: int) -> "Fitted":
        """Return what is known after more reference data."""

    def score(self, recording: Recording) -> ScoredWindows:
        """Score a recording's windows."""

    def step_scores(self, scored: ScoredWindows, align: str) -> NDArray[np.float64]:
        """(T,) one score for each time step, from the (B,) scores of windows."""

    def step_alarms(self, scored: ScoredWindows) -> NDArray[np.float64]:
        """(T,) what alerts are raised by, one number for each time step."""

    def threshold(self, rate: float) -> float:
        """Return the score of a time step that reference data exceed at most so often."""

    def causes(self, scored: ScoredWindows, numbers: Sequence[int]) -> list[list[Cause]]:
        """Return the causes of some windows, by number and in order of time."""

    def kernel_images(
        self, scored: ScoredWindows, numbers: Sequence[int]
    ) -> NDArray[np.float32] | None:
        """(n, K, L, L) kernel images of some windows; None if scores are not made from any."""

    def usual_band(
        self, variable: str, times: NDArray[Any]
    ) -> tuple[NDArray[np.float64], NDArray[np.float64]] | None:
        """(R,) lower and (R,) upper end of what is usual at some times; None if nobody can say."""

    def reference_steps(
        self, reference: Recording
    ) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """(T,) scores and (T,) alarms of the rows learned from, as if those had not been.

        NaN where none can be.
        """

    def scan(self) -> Scan:
        """Return a scan that has seen no row yet."""

    def stream(self) -> Stream:
        """Return a stream that has seen no row yet."""

    def to_arrays(self) -> tuple[dict[str, NDArray[Any]], dict[str, Any]]:
        """Return arrays and a JSON-able header for the model file."""

    def restored(self, arrays: Mapping[str, NDArray[Any]], header: Mapping[str, Any]) -> "Fitted":
        """Return this state, which has learned nothing yet, with what :meth:`to_arrays` gave."""
