"""Alerting: verdicts, row by row -> alerts that open, get worse, continue and close.

In: one verdict after another, and a function that returns causes. Out: the state of the alert after
each row that changes it. No clock is read: the same verdicts always give the same alerts.
"""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from hashlib import sha256
from itertools import pairwise

from smkc.decide import Cause, Mark
from smkc.decide.alerts import NEWS_STEPS
from smkc.decide.scored import RELEASE_RATE
from smkc.recording import parse
from smkc.serve.rows import AlertRecord, Verdict

DAY_MILLISECONDS = 86_400_000

# Alert rates are clamped to this range: no reference has enough rows to calibrate a lower rate, and
# 1 row in 20 is too common for an alert.
RAREST, COMMONEST = 1e-6, 0.05

# Rows within this many milliseconds count as a single chance of a false alarm. Every evidence also
# looks at earlier rows, so a shorter step adds rows but hardly any independent tests; and p-values
# are upper limits: a row a minute at .002 of the rows gave half an alert per day, not three.
LOOK_MILLISECONDS = 180_000

# A row whose anomaly exceeds WORSE times the last one that receivers were notified of is explained,
# and receivers are notified, at once. Any other new peak is explained without a notification: once
# LEAST_PAUSE rows have passed since the last explained row, or when the alert closes. Explaining
# thousands of variables takes longer than judging them, so explanations are limited in this way.
WORSE, LEAST_PAUSE = 1.5, 8

# An alert closes after CALM milliseconds without a row past the release threshold, converted to
# rows and clamped to this range.
CALM, MIN_CALM_ROWS, MAX_CALM_ROWS = 60_000, 5, 10

# An alert opens when most rows of the latest CONFIRM milliseconds, at most MOST_CONFIRMING of them,
# are past the threshold: a single row if the step is longer than half of that.
CONFIRM, MOST_CONFIRMING = 10_000, 5

# An alert is critical if the anomaly that opens it is at least this: a p-value of at most the
# square of the alert rate.
CRITICAL = 2.0

# P-value of a row whose trouble is certain, such as a target that is down; no statistic has one.
CERTAIN = 1e-30

# Maximum number of labels kept from the first cause's variable, and of characters per label value.
MOST_LABELS, MOST_SIGNS = 64, 1024

# Function of the number of a row, and of the row in which the trouble began, that returns causes.
Explain = Callable[[int, int], tuple[Cause, ...] | None]
Muted = Callable[[int], bool]


def never_muted(time: int) -> bool:
    """Return False: there is no maintenance."""
    return False


@dataclass(frozen=True, kw_only=True)
class Limits:
    """What opens and closes the alerts of a lane.

    Parameters
    ----------
    rate
        p-value below which a row is past the threshold.
    calm_rows
        number of quiet rows that close an alert.
    confirming_rows
        number of latest rows of which most must be past the threshold to open an alert.

    Examples
    --------
    >>> Limits.of(1.0, 2_000).confirming_rows, Limits.of(1.0, 15_000).confirming_rows
    (5, 1)
    """

    rate: float
    calm_rows: int
    confirming_rows: int = 1

    @classmethod
    def of(cls, false_alarms_per_day: float, step: int) -> "Limits":
        """Return the limits for a step in milliseconds."""
        return cls(
            rate=alert_rate(false_alarms_per_day, step),
            calm_rows=calm_rows(step),
            confirming_rows=min(max(CONFIRM // step, 1), MOST_CONFIRMING),
        )


@dataclass(frozen=True, kw_only=True)
class Change:
    """A change that a row made to an alert.

    The kind is "open", "update" (much worse than last notified), "go on" or "close". A muted alert
    that outlasts its maintenance opens a second time, as it is then notified of.
    """

    kind: str
    alert: AlertRecord


def alert_rate(false_alarms_per_day: float, step: int) -> float:
    """Return the p-value below which a row raises an alert, for a step in milliseconds.

    Examples
    --------
    >>> round(1 / alert_rate(1.0, 300_000)), round(1 / alert_rate(1.0, 2_000))
    (288, 480)
    """
    rate = false_alarms_per_day * max(step, LOOK_MILLISECONDS) / DAY_MILLISECONDS
    return min(max(rate, RAREST), COMMONEST)


def alarms_per_day(rate: float, step: int) -> float:
    """Return the false alarms per day at an alert rate; the inverse of :func:`alert_rate`.

    Examples
    --------
    >>> round(alarms_per_day(alert_rate(2.0, 15_000), 15_000), 6)
    2.0
    """
    return rate * DAY_MILLISECONDS / max(step, LOOK_MILLISECONDS)


def calm_rows(step: int) -> int:
    """Return the number of quiet rows that close an alert, for a step in milliseconds.

    Examples
    --------
    >>> calm_rows(2_000), calm_rows(10_000), calm_rows(60_000)
    (10, 6, 5)
    """
    return min(max(CALM // step, MIN_CALM_ROWS), MAX_CALM_ROWS)


def anomaly_of(p_value: float, rate: float) -> float:
    """Return log(p_value) / log(rate): above 1, the row is anomalous.

    Examples
    --------
    >>> anomaly_of(1.0, 0.01), anomaly_of(0.01, 0.01), anomaly_of(0.0001, 0.01)
    (0.0, 1.0, 2.0)
    """
    return math.log(p_value) / math.log(rate) if p_value < 1.0 else 0.0


def alert_id(watch: str, entity: str, start: int) -> str:
    """Return an alert's id, which depends only on the lane and the time of the first row."""
    return sha256(f"{watch}\0{entity}\0{start}".encode()).hexdigest()[:16]


def labels_of(causes: Sequence[Cause]) -> dict[str, str]:
    """Return the labels of the first cause's variable; empty if there is no cause.

    Examples
    --------
    >>> labels_of([Cause(variable='cpu{service="cart"}', share=1.0, kind="level")])
    {'service': 'cart'}
    """
    _, labels = (parse(causes[0].variable) if causes else None) or ("", {})
    return {name: labels[name][:MOST_SIGNS] for name in sorted(labels)[:MOST_LABELS]}


def severity_of(anomaly: float) -> str:
    """Return an alert's severity, "critical" or "warning", from the anomaly that opens it."""
    return "critical" if anomaly >= CRITICAL else "warning"


class Alerting:
    """The alerts of one lane; ``alert`` is the open one, None if there is none.

    ``latest`` are the verdicts before the first that is taken, as many as confirm an alert.
    """

    def __init__(
        self,
        watch: str,
        entity: str,
        alert: AlertRecord | None = None,
        latest: Sequence[Verdict] = (),
    ) -> None:
        self._watch = watch
        self._entity = entity
        self._loud = [one for one in latest if one.anomaly > 1.0]
        self.alert = alert

    def take(
        self,
        verdict: Verdict,
        limits: Limits,
        explain: Explain,
        *,
        mark: int = Mark.NONE,
        is_muted: Muted = never_muted,
    ) -> list[Change]:
        """Process the next row; return the changes to alerts, a closed alert before a new one.

        The verdict's anomaly was computed with the rate of ``limits``. ``explain`` returns the
        causes of the row with a given number, largest share first, for a trouble that began in
        another given row; None if they are no longer available. The row's mark ``NEWS``, more than
        ``calm_rows`` rows after an alert began, closes it and opens another one as soon as enough
        rows are past the threshold, of which that row or one of the next ``NEWS_STEPS`` is the
        first; ``ECHO`` does not move the alert's end time. ``is_muted`` returns whether a row at a
        time, in milliseconds, lies in maintenance: an alert that begins there is muted until it is
        visible in a row outside.
        """
        alert = self.alert
        first = verdict.number - limits.confirming_rows + 1
        self._loud = [
            one for one in (*self._loud, verdict) if one.anomaly > 1.0 and one.number >= first
        ]
        if alert is None:
            is_confirmed = 2 * len(self._loud) > limits.confirming_rows
            return [self._opened(self._loud, explain, is_muted)] if is_confirmed else []
        if mark == Mark.NEWS and verdict.number - alert.first_row > limits.calm_rows:
            alert = replace(alert, news_row=verdict.number)
        since = [one for one in self._loud if 0 <= alert.news_row <= one.number]
        is_confirmed = 2 * len(since) > limits.confirming_rows
        if is_confirmed and since[0].number - alert.news_row <= NEWS_STEPS:
            if alert.causes_row != alert.peak_row:
                alert = _explained(alert, explain)
            closed = Change(kind="close", alert=replace(alert, is_open=False))
            return [closed, self._opened(since, explain, is_muted)]
        rate = limits.rate
        release = math.log(min(RELEASE_RATE * rate, 0.5)) / math.log(rate)
        if verdict.anomaly > release:  # else the row is quiet
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
        is_over = verdict.number - alert.last_row >= limits.calm_rows
        is_time = verdict.number - alert.causes_row >= LEAST_PAUSE or is_over
        if alert.causes_row != alert.peak_row and (is_far_worse or is_time):
            alert = _explained(alert, explain)
        if is_far_worse:
            alert = replace(alert, told_anomaly=verdict.anomaly)
        if is_over:
            self.alert = None
            return [Change(kind="close", alert=replace(alert, is_open=False))]
        kind = "update" if is_far_worse else "go on"
        if alert.is_muted and not is_muted(alert.end):
            kind, alert = "open", replace(alert, is_muted=False, told_anomaly=alert.anomaly)
        self.alert = alert
        return [Change(kind=kind, alert=alert)]

    def _opened(self, loud: Sequence[Verdict], explain: Explain, is_muted: Muted) -> Change:
        first, last = loud[0], loud[-1]
        worst = max(loud, key=lambda one: one.anomaly)
        causes = explain(worst.number, first.number) or ()
        self.alert = AlertRecord(
            id=alert_id(self._watch, self._entity, first.time),
            watch=self._watch,
            entity=self._entity,
            start=first.time,
            end=last.time,
            peak=worst.time,
            first_row=first.number,
            last_row=last.number,
            peak_row=worst.number,
            anomaly=worst.anomaly,
            p_value=worst.p_value,
            is_open=True,
            evidences=worst.evidences,
            causes_at=worst.time,
            causes_row=worst.number,
            causes_anomaly=worst.anomaly,
            told_anomaly=worst.anomaly,
            causes=causes,
            labels=labels_of(causes),
            severity=severity_of(worst.anomaly),
            is_muted=is_muted(last.time),
        )
        return Change(kind="open", alert=self.alert)


def _explained(alert: AlertRecord, explain: Explain) -> AlertRecord:
    """Return an alert with the causes of its peak, or unchanged if they are not available."""
    causes = explain(alert.peak_row, alert.first_row)
    if causes is None:
        return alert
    return replace(
        alert,
        causes=causes,
        causes_at=alert.peak,
        causes_row=alert.peak_row,
        causes_anomaly=alert.anomaly,
    )


def overlapping(changes: Sequence[Change], calm: int) -> list[tuple[str, AlertRecord]]:
    """Return changes in the order in which incidents take them.

    An alert that another one replaces closes after that one has opened, so that their incident
    goes on. Any other alert has been quiet for more than ``calm`` rows when the next one opens.
    """
    ordered = list(changes)
    for at, (first, second) in enumerate(pairwise(changes)):
        is_replaced = second.alert.first_row - first.alert.last_row <= calm
        if (first.kind, second.kind) == ("close", "open") and is_replaced:
            ordered[at : at + 2] = [second, first]
    return [(change.kind, change.alert) for change in ordered]
