"""Backtest: the alerts that a watch would have given in the past, for several budgets at once.

In: rows of the past, in order of time. Out: the alerts of each budget, with their first causes. A
model is learned from the first rows, as a watch that began then would have; each later row is
judged once, and every budget makes its own alerts of the same p-values. Nothing is written.
"""

from dataclasses import dataclass, replace

from smkc.errors import InputError
from smkc.serve.config import WatchConfig
from smkc.serve.lane.alerting import Alerting, alert_rate, anomaly_of, calm_rows
from smkc.serve.lane.fitting import detector_of
from smkc.serve.lane.follower import Follower, recording_of
from smkc.serve.lane.recent import Recent
from smkc.serve.past import past_rows
from smkc.serve.prometheus.client import Prometheus
from smkc.serve.rows import AlertRecord, Row, Verdict

__all__ = ["BUDGETS", "Backtest", "backtest", "budgets_of"]

# Alerts per day that are tried beside those of the watch.
BUDGETS = (0.5, 1.0, 2.0, 5.0)

# Of the span at most this share is learned from.
MAX_LEARNED_SHARE = 0.5


@dataclass(frozen=True, kw_only=True)
class Backtest:
    """What one recording would have been told about.

    Parameters
    ----------
    entity
        whose it is; empty where the watch is not split.
    learned, judged
        how many rows were learned from, and judged.
    alerts
        by budget, the alerts in order of time; one that went on at the end is open.
    problem
        why nothing was judged; empty if something was.
    """

    entity: str
    learned: int
    judged: int
    alerts: dict[float, tuple[AlertRecord, ...]]
    problem: str = ""


def budgets_of(watch: WatchConfig) -> tuple[float, ...]:
    """Return the budgets that are tried, that of the watch among them, the strictest first."""
    return tuple(sorted({*BUDGETS, watch.false_alarms_per_day}))


def backtest(watch: WatchConfig, prometheus: Prometheus, start: int, end: int) -> list[Backtest]:
    """Replay a span of the past; return what came of each recording, by entity.

    Parameters
    ----------
    watch
        with its step.
    prometheus
        that is asked, some rows at a time.
    start, end
        milliseconds, both multiples of the step.
    """
    learned_until = start + min(watch.history, int(MAX_LEARNED_SHARE * (end - start)))
    replays: dict[str, _Replay] = {}
    for entity, rows in past_rows(watch, prometheus, start, end):
        if entity not in replays:
            replays[entity] = _Replay(watch, entity, learned_until)
        for row in rows:
            replays[entity].take(row)
    return [replays[entity].result() for entity in sorted(replays)]


class _Replay:
    """One recording on its way through the past."""

    def __init__(self, watch: WatchConfig, entity: str, learned_until: int) -> None:
        self._watch, self._entity, self._learned_until = watch, entity, learned_until
        self._reference: list[Row] = []
        self._fit_at_rows = watch.min_rows
        self._follower: Follower | None = None
        self._recent = Recent(1)
        self._learned = self._next = 0
        self._problem = ""
        self._alerts: dict[float, dict[str, AlertRecord]] = {}
        self._alertings: dict[float, Alerting] = {}
        for budget in budgets_of(watch):
            self._alerts[budget] = {}
            self._alertings[budget] = Alerting(watch.name, entity)

    def take(self, row: Row) -> None:
        """Learn from a row, or judge it."""
        is_past = row.time > self._learned_until
        if self._follower is None and is_past and len(self._reference) >= self._fit_at_rows:
            self._fit()
        if self._follower is None:
            self._reference.append(row)
        else:
            self._judge(self._follower, row)
        self._next += 1

    def result(self) -> Backtest:
        """Return what came of all rows."""
        problem = self._problem
        if self._follower is None and not problem:
            problem = (
                f"{len(self._reference):,} rows are too few to learn from {self._fit_at_rows:,} "
                "and to judge others; give a longer span, or a smaller min_rows"
            )
        return Backtest(
            entity=self._entity,
            learned=self._learned,
            judged=0 if self._follower is None else self._next - self._learned,
            alerts={budget: tuple(found.values()) for budget, found in self._alerts.items()},
            problem=problem,
        )

    def _fit(self) -> None:
        try:
            detector = detector_of(self._watch).fit(recording_of(self._reference))
        except InputError as error:
            self._problem = f"no model could be fitted: {error}"
            self._fit_at_rows = len(self._reference) + len(self._reference) // 4 + 1
            return
        self._problem = ""
        self._learned = len(self._reference)
        self._follower = Follower(detector, self._learned)
        self._recent = Recent(self._follower.window)
        for number, row in enumerate(self._reference):
            self._recent.take(number, row, None)
        self._reference = []

    def _judge(self, follower: Follower, row: Row) -> None:
        judged = follower.push(row)
        said = Verdict(
            number=self._next,
            time=row.time,
            score=judged.score,
            p_value=judged.p_value,
            anomaly=0.0,
            cardinality=len(row.names),
            appeared=0,
            vanished=0,
            evidences=judged.evidences,
        )
        self._recent.take(self._next, row, said)
        for budget, alerting in self._alertings.items():
            rate = alert_rate(budget, self._watch.step)
            changes = alerting.take(
                replace(said, anomaly=anomaly_of(judged.p_value, rate)),
                rate,
                calm_rows(self._watch.step),
                lambda number: self._recent.causes(follower, number),
                mark=judged.mark,
            )
            self._alerts[budget] |= {change.alert.id: change.alert for change in changes}
