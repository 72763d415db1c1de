"""Protocols between detectors and their fitted states.

In: recordings. Out: scores of windows and time steps, thresholds, causes. Callers use these
protocols only: a new kind of detector needs nothing but a class that implements them.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from smkc.decide.alerts import Cause
from smkc.decide.calibration import Thresholds
from smkc.decide.new_normal import NewNormal
from smkc.recording import Recording
from smkc.stream import Stream


@dataclass(frozen=True, kw_only=True, eq=False)
class ScoredWindows:
    """Scores of B windows of a recording, each array (B,); windows are in order of time.

    ``prepared`` is the recording as it was scored. ``alarms`` are the numbers that alerts are
    raised from: the scores, or the surprise of each row in nats; ``marks`` has a
    :class:`~smkc.decide.Mark` for each, if the detector sets them. If scores are a sum of two
    parts, ``held`` is the part of the latest rows and ``prompt`` the part of the last row alone.
    ``by_evidence`` has the surprise of each evidence in nats, by name, for detectors with
    evidences. ``checkpoints`` are states at some rows: a detector that adapts while it scores
    restarts from them to explain later rows. ``new_normals`` are the lasting changes that it has
    followed.
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
    new_normals: tuple[NewNormal, ...] = ()

    def worst(self, first: int, last: int) -> int | None:
        """Return the number of the window with the highest alarm that overlaps rows first to last.

        If each row has an alarm of its own, only windows that end in these rows are considered.
        None if no such window has an alarm.
        """
        begins = self.last_rows if len(self.prompt) else self.first_rows
        overlaps = (begins <= last) & (self.last_rows >= first) & ~np.isnan(self.alarms)
        if not overlaps.any():
            return None
        return int(np.argmax(np.where(overlaps, self.alarms, -np.inf)))


@dataclass(frozen=True, kw_only=True, eq=False)
class RowScores:
    """Scores of n rows, each array (n,).

    ``held`` is the score of the window that ends at each row; -inf where none ends, NaN where one
    has no score. ``prompt`` is the part of the score that belongs to the row alone. ``prompt``,
    ``alarms`` and ``marks`` are None for detectors whose alarms are the scores of time steps.
    """

    held: NDArray[np.float64]
    prompt: NDArray[np.float64] | None = None
    alarms: NDArray[np.float64] | None = None
    marks: NDArray[np.int8] | None = None


class Scan(Protocol):
    """Piecewise scoring of one recording; the scores equal those of the whole."""

    def push(self, rows: Recording) -> RowScores:
        """Take the next rows and return their scores."""

    def to_arrays(self) -> tuple[dict[str, NDArray[Any]], dict[str, Any]]:
        """Return arrays and a JSON-able header from which :meth:`restore` continues exactly."""

    def restore(self, arrays: Mapping[str, NDArray[Any]], header: Mapping[str, Any]) -> None:
        """Restore what :meth:`to_arrays` returned; only before the first row."""


class Fitted(Protocol):
    """Everything a detector has learned from reference data."""

    @property
    def window(self) -> int:
        """Rows per window."""

    @property
    def stride(self) -> int:
        """Rows from one window to the next."""

    @property
    def held_rows(self) -> int:
        """Rows that a score is placed by: sharp scores depend on this many rows, minus 1, ahead."""

    @property
    def join(self) -> int:
        """Largest number of quiet rows between two alerts that are joined into one."""

    @property
    def has_independent_windows(self) -> bool:
        """Whether a window's score depends on its own rows alone."""

    @property
    def seasons(self) -> Mapping[str, float]:
        """Period of each variable with a season, in seconds if times are dates; empty if unused."""

    @property
    def of_steps(self) -> Thresholds:
        """Distribution of the alarms of normal time steps."""

    def updated(self, recording: Recording, seed: int) -> "Fitted":
        """Return the state after learning from more reference data."""

    def score(self, recording: Recording) -> ScoredWindows:
        """Score a recording's windows."""

    def step_scores(self, scored: ScoredWindows, align: str) -> NDArray[np.float64]:
        """Return (T,) one score per time step, from the (B,) scores of windows."""

    def step_alarms(self, scored: ScoredWindows) -> NDArray[np.float64]:
        """Return (T,) alarms, from which alerts are raised; one per time step."""

    def threshold(self, rate: float) -> float:
        """Return the score that time steps of the reference data exceed at this rate."""

    def causes(
        self, scored: ScoredWindows, numbers: Sequence[int], begun: Sequence[int]
    ) -> list[list[Cause]]:
        """Return the causes of each of the windows given by number.

        ``begun`` is the row in which the trouble of each began, as far as known.
        """

    def usual_band(
        self, variable: str, times: NDArray[Any]
    ) -> tuple[NDArray[np.float64], NDArray[np.float64]] | None:
        """Return (R,) lower and (R,) upper end of a variable's usual values; None if unknown."""

    def reference_steps(
        self, reference: Recording
    ) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Return (T,) scores and (T,) alarms of reference rows, as if not learned from them.

        NaN for rows that cannot be scored so.
        """

    def scan(self) -> Scan:
        """Return a scan that has seen no row yet."""

    def stream(self) -> Stream:
        """Return a stream that has seen no row yet."""

    def to_arrays(self) -> tuple[dict[str, NDArray[Any]], dict[str, Any]]:
        """Return arrays and a JSON-able header for the model file."""

    def restored(self, arrays: Mapping[str, NDArray[Any]], header: Mapping[str, Any]) -> "Fitted":
        """Return this empty state filled with what :meth:`to_arrays` returned."""
