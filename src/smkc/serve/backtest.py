"""Backtest: the alerts that a watch would have raised in the past, for several budgets at once.

In: past rows, queried from Prometheus and built as in a running service. Out: the alerts of each
budget, with their causes. A model is fitted to the first rows, as for a watch started at that time.
Each later row is judged once, and each budget derives its own alerts from the same p-values.
Nothing is stored.
"""

from collections.abc import Iterator
from dataclasses import dataclass, replace

from smkc.errors import InputError
from smkc.serve.config import WatchConfig
from smkc.serve.feeds import ROWS_PER_QUERY
from smkc.serve.intake.bins import rows_of
from smkc.serve.intake.entities import Intake
from smkc.serve.lane.alerting import Alerting, Limits, anomaly_of
from smkc.serve.lane.fitting import detector_of
from smkc.serve.lane.follower import Follower, Recent, recording_of
from smkc.serve.prometheus.client import Prometheus
from smkc.serve.prometheus.scraping import number_of_series, scrape_interval
from smkc.serve.rows import AlertRecord, Row

# False alarms per day that are tried in addition to the setting of the watch.
BUDGETS = (0.5, 1.0, 2.0, 5.0)

# The model is fitted after this share of the span at the latest, or at min_rows rows if later.
MAX_LEARNED_SHARE = 0.5


@dataclass(frozen=True, kw_only=True)
class Backtest:
    """Result of replaying one recording.

    ``learned`` and ``judged`` are numbers of rows; ``alerts`` are those of each budget, ordered by
    time, open if not closed at the end. ``problem`` says why no row was judged; empty if some were.
    """

    entity: str
    learned: int
    judged: int
    alerts: dict[float, tuple[AlertRecord, ...]]
    problem: str = ""


def as_started(watch: WatchConfig, prometheus: Prometheus, now: int) -> WatchConfig:
    """Return a watch with the step and the history that it would use if it started now.

    Without a configured step that is the scrape interval, if Prometheus shows one at ``now``.
    """
    step = None if watch.has_own_step else scrape_interval(prometheus, watch.query, now)
    return watch.with_found(step or watch.step, number_of_series(prometheus, watch.query, now))


def past_rows(
    watch: WatchConfig, prometheus: Prometheus, start: int, end: int
) -> Iterator[tuple[str, list[Row]]]:
    """Yield pairs of an entity and its next rows, ordered by time.

    Start and end are the times of the first and the last row, multiples of the watch's step.
    """
    intake = Intake(watch)
    names: dict[str, tuple[str, ...]] = {}
    for first in range(start, end + 1, ROWS_PER_QUERY * watch.step):
        last = min(first + (ROWS_PER_QUERY - 1) * watch.step, end)
        samples = prometheus.range(watch.query, first, last, watch.step)
        for entity, part in intake.by_entity(samples).items():
            previous = names.get(entity, ())
            if rows := rows_of(part, watch.step, watch.max_series, previous):
                names[entity] = rows[-1].names
                yield entity, rows


def budgets_of(watch: WatchConfig) -> tuple[float, ...]:
    """Return the budgets to try, including that of the watch, strictest first."""
    return tuple(sorted({*BUDGETS, watch.false_alarms_per_day}))


def backtest(watch: WatchConfig, prometheus: Prometheus, start: int, end: int) -> list[Backtest]:
    """Replay a span of the past; return one result per recording, sorted by entity.

    Start and end are in milliseconds and multiples of the watch's step.
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
    """State of replaying one recording."""

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
        """Add a row to the reference, or judge it once a model is fitted."""
        is_past = row.time > self._learned_until
        if self._follower is None and is_past and len(self._reference) >= self._fit_at_rows:
            self._fit()
        if self._follower is None:
            self._reference.append(row)
        else:
            self._judge(self._follower, row)
        self._next += 1

    def result(self) -> Backtest:
        """Return the result of all rows taken so far."""
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
        said, mark = follower.push(row)
        self._recent.take(self._next, row, said)
        for budget, alerting in self._alertings.items():
            limits = Limits.of(budget, self._watch.step)
            changes = alerting.take(
                replace(said, anomaly=anomaly_of(said.p_value, limits.rate)),
                limits,
                lambda number, begun: self._recent.causes(follower, number, begun),
                mark=mark,
            )
            self._alerts[budget] |= {change.alert.id: change.alert for change in changes}
