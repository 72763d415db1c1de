"""Scored: a recording with all that a detector says of it, from one pass over its rows.

In: a recording, its scored windows and what was learned. Out: scores, p-values, evidences, alerts
and their causes.
"""

import warnings
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from smkc.decide.alerts import Alert, Cause, find_alerts
from smkc.decide.contract import Fitted, ScoredWindows
from smkc.decide.learned import Learned
from smkc.decide.scores import Table, WindowScores
from smkc.errors import WindowError
from smkc.recording import Aligned, Recording

__all__ = ["RELEASE_RATE", "Scored", "release_threshold"]

# An alert goes on while scores stay above the threshold of the rate times this factor.
RELEASE_RATE = 10.0


@dataclass(frozen=True, kw_only=True, eq=False)
class Scored(Table):
    """A recording of T time steps with its scores; made by :meth:`smkc.Detector.score`.

    Parameters
    ----------
    given
        what was scored, and how its rows lay in what was handed in.
    windows_scored
        its windows, as the detector scored them.
    fitted, learned
        what the detector had learned, and from which rows.
    false_alarm_rate, align, settings
        as they were set when the recording was scored; ``settings`` are all of them by name, and
        the kind of detector.

    Examples
    --------
    >>> import smkc
    >>> rng = np.random.default_rng(0)
    >>> normal = {"time": np.arange(600), "cpu": rng.normal(size=600)}
    >>> live = {"time": np.arange(600, 800), "cpu": rng.normal(size=200)}
    >>> live["cpu"][100:103] = 20.0
    >>> scored = smkc.Detector().fit(normal).score(live)
    >>> scored.is_alert[100:103], {alert.causes[0].variable for alert in scored.alerts()}
    (array([1, 1, 1]), {'cpu'})
    >>> list(scored.to_dict())
    ['time', 'score', 'p_value', 'is_alert']
    """

    time_columns = ("time",)

    given: Aligned
    windows_scored: ScoredWindows
    fitted: Fitted
    learned: Learned | None
    false_alarm_rate: float
    align: str
    settings: Mapping[str, Any]

    def __len__(self) -> int:
        return len(self.recording)

    @property
    def recording(self) -> Recording:
        """What was scored, in order of time."""
        return self.given.recording

    @property
    def labels(self) -> Any:
        """(T,) labels of the time steps in the pandas frame handed in; None without one."""
        return self.given.labels_at(np.arange(len(self)))

    @property
    def zone(self) -> str | None:
        """Time zone of the times handed in; None where they had none."""
        return self.given.zone

    @property
    def times(self) -> NDArray[Any]:
        """(T,) the recording's times."""
        return self.recording.times

    @cached_property
    def scores(self) -> NDArray[np.float64]:
        """(T,) one score per time step, higher = more anomalous; NaN where there is none."""
        return self.scores_aligned(self.align)

    def scores_aligned(self, align: str) -> NDArray[np.float64]:
        """(T,) the same with another alignment, ``sharp`` or ``prompt``."""
        return self.fitted.step_scores(self.windows_scored, align)

    @property
    def threshold(self) -> float:
        """Score of a time step that reference data exceed as often as the false-alarm rate says."""
        return self.fitted.threshold(self.false_alarm_rate)

    @cached_property
    def alarms(self) -> NDArray[np.float64]:
        """(T,) what alerts are raised by: the scores, or how surprising each row was, in nats."""
        return self.fitted.step_alarms(self.windows_scored)

    @property
    def alarm_threshold(self) -> float:
        """What an alarm has to exceed for an alert."""
        return self.fitted.of_steps.threshold(self.false_alarm_rate)

    @cached_property
    def p_values(self) -> NDArray[np.float64]:
        """(T,) p-values, under what was normal when each row came; NaN where there is none."""
        return self.fitted.of_steps.p_values(self.alarms)

    @property
    def evidences(self) -> Mapping[str, NDArray[np.float64]]:
        """By name, (T,) how surprised each evidence was by each row as it came, in nats.

        That is minus the logarithm of a p-value; NaN where it had nothing to say. Empty for
        detectors that have no evidences.
        """
        return self.windows_scored.by_evidence

    @property
    def windows(self) -> WindowScores:
        """Scores and p-values of all windows."""
        scored, times = self.windows_scored, self.recording.times
        return WindowScores(
            first_row=scored.first_rows,
            last_row=scored.last_rows,
            start=times[scored.first_rows],
            end=times[scored.last_rows],
            score=scored.scores,
            p_value=scored.p_values,
            labels=self.given.labels_at(scored.last_rows),
            zone=self.given.zone,
        )

    # ------------------------------------------------------------------ alerts

    def alerts(self, explain: bool = True) -> list[Alert]:
        """Return intervals of time steps past the threshold, in order of time, with their causes.

        ``explain=False`` leaves the causes out, which take time of their own to find.
        """
        return list(self._explained if explain else self._alerts)

    @cached_property
    def _alerts(self) -> list[Alert]:
        return find_alerts(
            self.alarms,
            self.recording.times,
            self.fitted.of_steps,
            self.alarm_threshold,
            release_threshold(self.fitted, self.false_alarm_rate),
            join=self.fitted.join,
            marks=self.windows_scored.marks,
        )

    def strangest(self, limit: int, explain: bool = True) -> list[Alert]:
        """Return the strangest moments beside the alerts, the strangest first.

        They are what would alert next if more false alarms were allowed; ``explain`` as for
        :meth:`alerts`. No two of them, or of them and an alert, are within a window.
        """
        left = np.where(np.isfinite(self.alarms), self.alarms, 0.0)
        for alert in self._alerts:
            left[_around(alert, self.fitted.window)] = 0.0
        found: list[Alert] = []
        while len(found) < limit and left.any():
            highest = float(left.max())
            (moment, *_) = find_alerts(
                left,
                self.recording.times,
                self.fitted.of_steps,
                threshold=np.nextafter(highest, -np.inf),
                release=np.nextafter(highest, -np.inf),
                join=0,
            )
            left[_around(moment, self.fitted.window)] = 0.0
            found.append(moment)
        return self._with_causes(found) if explain else found

    @cached_property
    def _explained(self) -> list[Alert]:
        return self._with_causes(self._alerts)

    def _with_causes(self, alerts: list[Alert]) -> list[Alert]:
        worst = [self._worst(alert.first_row, alert.last_row) for alert in alerts]
        causes = self.fitted.causes(self.windows_scored, worst)
        return [alert.with_causes(found) for alert, found in zip(alerts, causes, strict=True)]

    @cached_property
    def is_alert(self) -> NDArray[np.int64]:
        """(T,) 1 in the time steps of :meth:`alerts`, else 0."""
        marked = np.zeros(len(self), np.int64)
        for alert in self._alerts:
            marked[alert.first_row : alert.last_row + 1] = 1
        return marked

    def explain(self, start: Any, end: Any = None) -> list[Cause]:
        """Return the causes of the most anomalous window between two times, most guilty first.

        Parameters
        ----------
        start, end
            times in the recording's own unit, both inclusive; without ``end``, one moment.
        """
        recording = self.recording
        first = recording.row_at(start)
        last = first if end is None else recording.row_at(end)
        if first >= len(recording) or last < first:
            raise WindowError(
                f"no row between {start!r} and {start if end is None else end!r}; choose times "
                f"between {recording.times[0]} and {recording.times[-1]}"
            )
        return self.fitted.causes(self.windows_scored, [self._worst(first, last)])[0]

    def _worst(self, first: int, last: int) -> int:
        """Return the number of the most alarming window that overlaps rows first to last."""
        number = self.windows_scored.worst(first, last)
        if number is None:
            raise WindowError(
                f"no window with a score covers rows {first} to {last}; choose a time at which "
                "more was observed, or before the last window's end"
            )
        return number

    def to_dict(self) -> dict[str, NDArray[Any]]:
        """Return one row per time step as a dict of arrays."""
        return {
            "time": self.times,
            "score": self.scores,
            "p_value": self.p_values,
            "is_alert": self.is_alert,
        }


def _around(alert: Alert, rows: int) -> slice:
    """Return the rows of an alert, and ``rows`` rows before and after it."""
    return slice(max(0, alert.first_row - rows), alert.last_row + 1 + rows)


def release_threshold(fitted: Fitted, rate: float) -> float:
    """Return the alarm below which an alert ends that was raised at a false-alarm rate."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return fitted.of_steps.threshold(min(RELEASE_RATE * rate, 0.5))
