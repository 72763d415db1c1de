"""Alerting: verdicts, row by row -> alerts that open, get worse, go on and close.

In: one verdict after another, and a function that names causes. Out: the alert as it stands after
each row that concerns it. There is no clock in here: the same verdicts make the same alerts.
"""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from hashlib import sha256

from smkc.decide import Cause, Mark
from smkc.recording import parse
from smkc.serve.rows import AlertRecord, Verdict

__all__ = [
    "LEAST_PAUSE",
    "Alerting",
    "Change",
    "alarms_per_day",
    "alert_id",
    "alert_rate",
    "anomaly_of",
    "calm_rows",
    "labels_of",
    "severity_of",
]

DAY_MILLISECONDS = 86_400_000  # milliseconds

# A rate outside of these makes no sense: no reference shows rarer rows, and one row in twenty is no
# alert any more.
RAREST, COMMONEST = 1e-6, 0.05

# Rows closer together than this, in milliseconds, count as one look: what is asked of a row looks
# back over the rows before it, so that a shorter step brings more rows but hardly more chances.
LOOK_MILLISECONDS = 60_000

# An alert goes on while the p-value is below the rate times this factor, as in Detector.alerts.
RELEASE_RATE = 10.0

# A row so many times as anomalous as the one that was told last is explained and told at once. Any
# other peak is explained, and told to nobody, once so many rows have passed since the row that was
# explained last, or the alert closes: explaining thousands of variables takes longer than judging
# them. So an alert is explained at most once in so many rows, as often as it grew by this factor,
# which is as often as it is told, and at its end.
WORSE, LEAST_PAUSE = 1.5, 8

# An alert closes after so many milliseconds without a loud row, at least and at most so many rows.
CALM, MIN_CALM_ROWS, MAX_CALM_ROWS = 60_000, 5, 20


# An alert is critical if its first row is so anomalous: rarer than the square of the rate.
CRITICAL = 2.0

# Of the guilty variable so many labels are kept, and so many signs of each.
MOST_LABELS, MOST_SIGNS = 64, 1024

Explain = Callable[[int], tuple[Cause, ...] | None]


@dataclass(frozen=True, kw_only=True)
class Change:
    """What a row did to an alert.

    Parameters
    ----------
    kind
        "open", "update" (far worse, with the causes of that row), "go on" or "close".
    alert
        as it stands now.
    """

    kind: str
    alert: AlertRecord


def alert_rate(false_alarms_per_day: float, step: int) -> float:
    """Return the p-value below which a row raises an alert.

    Parameters
    ----------
    false_alarms_per_day
        alerts that normal data may raise in a day.
    step
        milliseconds from row to row.

    Examples
    --------
    >>> round(1 / alert_rate(1.0, 300_000)), round(1 / alert_rate(1.0, 2_000))
    (288, 1440)
    """
    rate = false_alarms_per_day * max(step, LOOK_MILLISECONDS) / DAY_MILLISECONDS
    return min(max(rate, RAREST), COMMONEST)


def alarms_per_day(rate: float, step: int) -> float:
    """Return the alerts per day that belong to a p-value, the other way round.

    Examples
    --------
    >>> round(alarms_per_day(alert_rate(2.0, 15_000), 15_000), 6)
    2.0
    """
    return rate * DAY_MILLISECONDS / max(step, LOOK_MILLISECONDS)


def calm_rows(step: int) -> int:
    """Return after how many quiet rows an alert closes, for a step in milliseconds.

    Examples
    --------
    >>> calm_rows(2_000), calm_rows(10_000), calm_rows(60_000)
    (20, 6, 5)
    """
    return min(max(CALM // step, MIN_CALM_ROWS), MAX_CALM_ROWS)


def anomaly_of(p_value: float, rate: float) -> float:
    """Return a p-value's logarithm over that of the rate: more than 1 is anomalous.

    Examples
    --------
    >>> anomaly_of(1.0, 0.01), anomaly_of(0.01, 0.01), anomaly_of(0.0001, 0.01)
    (0.0, 1.0, 2.0)
    """
    return math.log(p_value) / math.log(rate) if p_value < 1.0 else 0.0


def alert_id(watch: str, entity: str, start: int) -> str:
    """Return an alert's name: the same whenever the same rows are judged again."""
    return sha256(f"{watch}\0{entity}\0{start}".encode()).hexdigest()[:16]


def labels_of(causes: Sequence[Cause]) -> dict[str, str]:
    """Return the labels of the most guilty variable; none where there is no cause.

    Examples
    --------
    >>> labels_of([Cause(variable='cpu{service="cart"}', share=1.0, kind="level")])
    {'service': 'cart'}
    """
    _, labels = (parse(causes[0].variable) if causes else None) or ("", {})
    return {name: labels[name][:MOST_SIGNS] for name in sorted(labels)[:MOST_LABELS]}


def severity_of(anomaly: float) -> str:
    """Return how severe an alert is, from the anomaly of its first row."""
    return "critical" if anomaly >= CRITICAL else "warning"


class Alerting:
    """The alerts of one lane, of which at most one is open.

    Parameters
    ----------
    watch, entity
        whose alerts these are.
    alert
        the one that is open already; None if none is.
    """

    def __init__(self, watch: str, entity: str, alert: AlertRecord | None = None) -> None:
        self._watch = watch
        self._entity = entity
        self._alert = alert

    @property
    def alert(self) -> AlertRecord | None:
        """The alert that is open."""
        return self._alert

    def take(
        self, verdict: Verdict, rate: float, calm: int, explain: Explain, *, mark: int = Mark.NONE
    ) -> list[Change]:
        """Judge the next row; return what it did to alerts, the one that it closed first.

        Parameters
        ----------
        verdict
            of the row.
        rate
            that the verdict's anomaly was told by.
        calm
            number of quiet rows that close an alert.
        explain
            returns the causes of a row by its number, most guilty first; None if they cannot be
            told any more.
        mark
            what the row is to an alert: news begin another one, an echo does not move its end.
        """
        alert = self._alert
        if alert is None:
            return [self._opened(verdict, explain)] if verdict.anomaly > 1.0 else []
        if mark == Mark.NEWS and verdict.anomaly > 1.0 and verdict.number - alert.first_row > calm:
            if alert.causes_row != alert.peak_row:
                alert = _explained(alert, explain)
            closed = Change(kind="close", alert=replace(alert, is_open=False))
            return [closed, self._opened(verdict, explain)]
        if verdict.anomaly > _release(rate):
            end = alert.end if mark == Mark.ECHO else verdict.time
            alert = replace(alert, end=end, last_row=verdict.number)
        if verdict.anomaly > alert.anomaly:
            alert = replace(
                alert,
                peak=verdict.time,
                peak_row=verdict.number,
                anomaly=verdict.anomaly,
                p_value=verdict.p_value,
                evidences=verdict.evidences,
            )
        is_far_worse = verdict.anomaly > WORSE * alert.told_anomaly
        is_over = verdict.number - alert.last_row >= calm
        is_time = verdict.number - alert.causes_row >= LEAST_PAUSE or is_over
        if alert.causes_row != alert.peak_row and (is_far_worse or is_time):
            alert = _explained(alert, explain)
        if is_far_worse:
            alert = replace(alert, told_anomaly=verdict.anomaly)
        if is_over:
            self._alert = None
            return [Change(kind="close", alert=replace(alert, is_open=False))]
        self._alert = alert
        return [Change(kind="update" if is_far_worse else "go on", alert=alert)]

    def _opened(self, verdict: Verdict, explain: Explain) -> Change:
        causes = explain(verdict.number) or ()
        self._alert = AlertRecord(
            id=alert_id(self._watch, self._entity, verdict.time),
            watch=self._watch,
            entity=self._entity,
            start=verdict.time,
            end=verdict.time,
            peak=verdict.time,
            first_row=verdict.number,
            last_row=verdict.number,
            peak_row=verdict.number,
            anomaly=verdict.anomaly,
            p_value=verdict.p_value,
            is_open=True,
            evidences=verdict.evidences,
            causes_at=verdict.time,
            causes_row=verdict.number,
            causes_anomaly=verdict.anomaly,
            told_anomaly=verdict.anomaly,
            causes=causes,
            labels=labels_of(causes),
            severity=severity_of(verdict.anomaly),
        )
        return Change(kind="open", alert=self._alert)


def _explained(alert: AlertRecord, explain: Explain) -> AlertRecord:
    """Return an alert with the causes of its peak, if they can be told."""
    causes = explain(alert.peak_row)
    if causes is None:
        return alert
    return replace(
        alert,
        causes=causes,
        causes_at=alert.peak,
        causes_row=alert.peak_row,
        causes_anomaly=alert.anomaly,
    )


def _release(rate: float) -> float:
    """Return the anomaly below which a row is quiet."""
    return math.log(min(RELEASE_RATE * rate, 0.5)) / math.log(rate)
