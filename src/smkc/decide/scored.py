"""A scored recording: everything a detector finds in one pass over its rows.

In: a recording, its scored windows and the fitted state. Out: scores, p-values, evidences, alerts
and their causes.
"""

import warnings
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from smkc.decide.alerts import Alert, Cause, find_alerts
from smkc.decide.contract import Fitted, ScoredWindows
from smkc.decide.new_normal import NewNormal
from smkc.decide.scores import Table, WindowScores
from smkc.errors import WindowError
from smkc.recording import Aligned, Recording
from smkc.recording.times import show_time

# An alert lasts while alarms stay above the threshold for this factor times the false-alarm rate.
RELEASE_RATE = 5.0

DAY = np.timedelta64(1, "D")

# Share of rows at times of day without reference data from which alerts come with a note.
NOTED_SHARE = 0.1


@dataclass(frozen=True, kw_only=True)
class Learned:
    """The rows learned from: their number, and the first and last time as text."""

    rows: int
    start: str
    end: str

    @classmethod
    def of(cls, reference: Recording) -> "Learned":
        """Describe reference data of at least one row.

        Examples
        --------
        >>> Learned.of(Recording.from_rows([10, 20], [{"cpu": 1.0}, {"cpu": 2.0}]))
        Learned(rows=2, start='10', end='20')
        """
        times = reference.times
        return cls(rows=len(times), start=show_time(times[0]), end=show_time(times[-1]))

    def and_then(self, more: Recording) -> "Learned":
        """Describe these rows and later ones together."""
        later = Learned.of(more) if len(more) else replace(self, rows=0)
        return replace(later, rows=self.rows + later.rows, start=self.start)

    def n_at_other_hours(self, times: NDArray[Any]) -> int:
        """Return how many of (T,) times are at a time of day that these rows do not reach.

        Examples
        --------
        >>> learned = Learned(rows=60, start="2026-03-04T09:00:00Z", end="2026-03-04T09:59:00Z")
        >>> learned.n_at_other_hours(np.array(["2026-03-05T09:30", "2026-03-05T10:30"], "M8[ns]"))
        1
        """
        if times.dtype.kind != "M":
            return 0
        try:
            start, end = (
                np.datetime64(text.removesuffix("Z"), "ns") for text in (self.start, self.end)
            )
        except ValueError:  # a model file may hold any text
            return 0
        since = (times - start) % DAY
        return int(np.count_nonzero(since > end - start))

    @classmethod
    def from_dict(cls, stored: Mapping[str, Any]) -> "Learned":
        """Rebuild the description from its fields, as a model file holds them."""
        return cls(rows=int(stored["rows"]), start=str(stored["start"]), end=str(stored["end"]))


@dataclass(frozen=True, kw_only=True, eq=False)
class Scored(Table):
    """A recording of T time steps with its scores; made by :meth:`smkc.Detector.score`.

    Parameters
    ----------
    given
        the recording, and which row of the input each of its rows came from.
    windows_scored
        its windows with their scores.
    fitted, learned
        the detector's fitted state, and the rows it was learned from.
    false_alarm_rate, align, settings
        the detector's settings at the time of scoring; ``settings`` holds all of them by name, and
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
        """The recording that was scored, in order of time."""
        return self.given.recording

    @property
    def labels(self) -> Any:
        """(T,) index labels of the time steps, if the input was a pandas frame; else None."""
        return self.given.labels_at(np.arange(len(self)))

    @property
    def zone(self) -> str | None:
        """Time zone of the input's times; None if they had none."""
        return self.given.zone

    @property
    def times(self) -> NDArray[Any]:
        """(T,) the recording's times."""
        return self.recording.times

    @cached_property
    def scores(self) -> NDArray[np.float64]:
        """(T,) one score per time step; higher is more anomalous, NaN is unscored."""
        return self.scores_aligned(self.align)

    def scores_aligned(self, align: str) -> NDArray[np.float64]:
        """Return (T,) scores with another alignment, ``sharp`` or ``prompt``."""
        return self.fitted.step_scores(self.windows_scored, align)

    @property
    def threshold(self) -> float:
        """Score that the share ``false_alarm_rate`` of the reference time steps exceeds."""
        return self.fitted.threshold(self.false_alarm_rate)

    @cached_property
    def alarms(self) -> NDArray[np.float64]:
        """(T,) numbers that alerts are raised from: scores, or the surprise of each row in nats."""
        return self.fitted.step_alarms(self.windows_scored)

    @property
    def alarm_threshold(self) -> float:
        """Value that an alarm must exceed to raise an alert."""
        return self.fitted.of_steps.threshold(self.false_alarm_rate)

    @cached_property
    def p_values(self) -> NDArray[np.float64]:
        """(T,) p-values under what was normal at the time of each row; NaN if unscored."""
        return self.fitted.of_steps.p_values(self.alarms)

    @property
    def evidences(self) -> Mapping[str, NDArray[np.float64]]:
        """By name of the evidence, (T,) its surprise at each row, in nats.

        A surprise is minus the natural logarithm of a p-value; NaN where the evidence has none.
        Empty for detectors without evidences.
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

        ``explain=False`` leaves out the causes, which take extra time to find.
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

    @property
    def new_normals(self) -> tuple[NewNormal, ...]:
        """Variables that stayed unusual for so long that they were then judged by what they did.

        In order of time. Their further course raises alerts only where it leaves the new normal.
        """
        return self.windows_scored.new_normals

    @property
    def notes(self) -> tuple[str, ...]:
        """What a reader of the alerts should know about the reference, in sentences."""
        n_rows = len(self)
        n_other = 0 if self.learned is None else self.learned.n_at_other_hours(self.times)
        if self.learned is None or n_other <= NOTED_SHARE * n_rows:
            return ()
        return (
            f"{n_other:,} of {n_rows:,} rows are at times of the day that the reference, from "
            f"{self.learned.start} to {self.learned.end}, does not cover. What is usual then is "
            "not known and may raise alerts: learn from a day or more, better from three.",
        )

    def strangest(self, limit: int, explain: bool = True) -> list[Alert]:
        """Return up to ``limit`` moments with the highest alarms outside the alerts, highest first.

        They would be the next alerts at a higher false-alarm rate. Any two of them, and any of
        them and an alert, are more than a window apart. ``explain`` is that of :meth:`alerts`.
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
        begun = [alert.first_row for alert in alerts]
        causes = self.fitted.causes(self.windows_scored, worst, begun)
        return [alert.with_causes(found) for alert, found in zip(alerts, causes, strict=True)]

    @cached_property
    def is_alert(self) -> NDArray[np.int64]:
        """(T,) 1 for the time steps of :meth:`alerts`, else 0."""
        marked = np.zeros(len(self), np.int64)
        for alert in self._alerts:
            marked[alert.first_row : alert.last_row + 1] = 1
        return marked

    def explain(self, start: Any, end: Any = None) -> list[Cause]:
        """Return the causes of the most anomalous window between two times, largest share first.

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
        return self.fitted.causes(self.windows_scored, [self._worst(first, last)], [first])[0]

    def _worst(self, first: int, last: int) -> int:
        """Return the number of the window with the highest alarm among rows first to last."""
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
    """Return the alarm below which an alert ends, for a false-alarm rate."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return fitted.of_steps.threshold(min(RELEASE_RATE * rate, 0.5))
