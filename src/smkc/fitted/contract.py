"""Contract: what a detector asks of what it has learned, whichever way that scores.

In: recordings. Out: scores of windows and time steps, thresholds, causes.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from smkc.decide import Cause, Thresholds
from smkc.recording import Recording

__all__ = ["Judged", "Learned"]


@dataclass(frozen=True, kw_only=True, eq=False)
class Judged:
    """Scores of B windows of a recording, each array (B,); windows are in order of time.

    ``prepared`` is the recording as it was scored. ``alarms`` are what alerts are raised by: the
    scores, or surprises of each row. Where scores have two parts, ``held`` belongs to the rows of a
    window and ``prompt`` to its last row alone. ``by_evidence`` says how surprised
    each evidence was, in nats, for detectors that have evidences.
    """

    prepared: Recording
    first_rows: NDArray[np.int64]
    last_rows: NDArray[np.int64]
    scores: NDArray[np.float64]
    p_values: NDArray[np.float64]
    alarms: NDArray[np.float64]
    held: NDArray[np.float64] = field(default_factory=lambda: np.empty(0))
    prompt: NDArray[np.float64] = field(default_factory=lambda: np.empty(0))
    by_evidence: Mapping[str, NDArray[np.float64]] = field(default_factory=dict)

    def worst(self, first: int, last: int) -> int | None:
        """Return the number of the most alarming window that overlaps rows first to last, if any.

        Where each row alarms by itself, that is the window which ends at the worst row.
        """
        begins = self.last_rows if len(self.prompt) else self.first_rows
        overlaps = (begins <= last) & (self.last_rows >= first) & ~np.isnan(self.alarms)
        if not overlaps.any():
            return None
        return int(np.argmax(np.where(overlaps, self.alarms, -np.inf)))


class Learned(Protocol):
    """What a detector knows after it has seen reference data."""

    @property
    def window(self) -> int:
        """Rows a window."""

    @property
    def join(self) -> int:
        """Alerts at most so many quiet rows apart are one."""

    @property
    def seasons(self) -> Mapping[str, float]:
        """Period of each variable that has a season, in seconds for dates; empty if not used."""

    @property
    def of_steps(self) -> Thresholds:
        """What normal alarms of time steps look like."""

    @property
    def of_windows(self) -> Thresholds:
        """What normal scores of windows look like."""

    def learned(self, recording: Recording, seed: int) -> "Learned":
        """Return what is known after more reference data."""

    def judged(self, recording: Recording) -> Judged:
        """Score a recording's windows."""

    def step_scores(self, judged: Judged, align: str) -> NDArray[np.float64]:
        """(T,) one score for each time step, from the (B,) scores of windows."""

    def step_alarms(self, judged: Judged) -> NDArray[np.float64]:
        """(T,) what alerts are raised by, one number for each time step."""

    def threshold(self, rate: float) -> float:
        """Return the score of a time step that reference data exceed at most so often."""

    def causes(self, judged: Judged, numbers: Sequence[int]) -> list[list[Cause]]:
        """Return the causes of some windows, by number and in order of time."""

    def reference_scores(self, reference: Recording) -> NDArray[np.float64]:
        """(T,) scores of the rows learned from, as if those had not been; NaN where none can be."""

    def reference_alarms(self, reference: Recording) -> NDArray[np.float64]:
        """(T,) what alerts would be raised by, of the same rows; NaN where none can be."""

    def to_arrays(self) -> tuple[dict[str, NDArray[Any]], dict[str, Any]]:
        """Return arrays and a JSON-able header for the model file."""
