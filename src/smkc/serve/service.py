"""Service: runs all watches of a configuration and answers requests about them.

In: a configuration and a clock. Out: a service that runs until it is stopped and resumes where it
was when it is started again.
"""

import logging
import os
import threading
from collections import deque
from dataclasses import replace
from functools import partial
from pathlib import Path

import numpy as np

from smkc.errors import InputError
from smkc.serve.clock import Clock
from smkc.serve.config import Config, WatchConfig, show_duration
from smkc.serve.delivery import Delivery, ReceiverStatus
from smkc.serve.feeds import PullFeed, PushFeed
from smkc.serve.intake.entities import Intake
from smkc.serve.intake.samples import Samples, pack_samples
from smkc.serve.lane.lane import Lane
from smkc.serve.lane.lanes import LANES_FOLDER, Lanes
from smkc.serve.prometheus.client import Prometheus
from smkc.serve.prometheus.scraping import number_of_series, scrape_interval
from smkc.serve.rows import LATEST_TIME, AlertRecord, MarkedSpan
from smkc.serve.runner import Runner
from smkc.serve.spans import spans_between
from smkc.serve.store import Store, StoreError
from smkc.serve.view import IN_HEALTH, BusyError, Health, Received, UnknownError, WatchStatus

log = logging.getLogger("smkc.serve.service")

# Seconds between two rounds of retention.
RETAIN_SECONDS = 3_600.0

# Maximum number of bodies waiting per watch; when reached, senders are told to retry later.
MOST_INBOX = 10_000

# Number of changes of alerts that wait for a reader.
MAX_CHANGES_KEPT = 2_000


class Service:
    """Runs all watches, and answers delivery, metrics, the API and the dashboard.

    Use ``store`` to read history and to acknowledge alerts; ``config`` has the steps detected for
    watches that do not set one. ``alert_changes`` are the alerts that opened, got worse or closed;
    the one reader takes them out. Times are milliseconds since 1970, UTC. Methods raise
    UnknownError for an unknown watch, lane, alert or row, and BusyError if the caller should retry
    later. ``clock`` is by default the wall clock.
    """

    def __init__(self, config: Config, clock: Clock | None = None) -> None:
        self.config = config
        self._clock = clock or Clock()
        self.alert_changes: deque[AlertRecord] = deque(maxlen=MAX_CHANGES_KEPT)
        self._runners: dict[str, Runner] = {}
        self._clients: list[Prometheus] = []
        self._store: Store | None = None
        self._delivery: Delivery | None = None
        self._intakes: dict[str, Intake] = {}
        self._receiving = threading.Lock()
        self._settling = threading.Lock()
        self._stopping = threading.Event()
        self._keeper: threading.Thread | None = None
        self._problems: dict[str, str] = {}

    # ------------------------------------------------------------------ running

    def start(self) -> None:
        """Open the history and start all threads; return without waiting for the first rows."""
        store = self._opened()
        self._store = store
        for watch in self.config.watches:
            lanes = Lanes(store, watch, self.config, self.alert_changes)
            if watch.source == "push":
                feed = PushFeed(lanes, store, self._clock)
                self._intakes[watch.name] = Intake(watch, shard=self.config.shard)
                self._runners[watch.name] = Runner(lanes, feed, self._clock)
            else:
                self._runners[watch.name] = self._pulled(lanes)
        self._delivery = Delivery(store, self.config, self._clock.now)
        self._delivery.start()
        for runner in self._runners.values():
            runner.start()
        self._keeper = threading.Thread(target=self._retain, name="smkc-retention", daemon=True)
        self._keeper.start()

    def stop(self) -> None:
        """Stop cleanly: commit current rows, and write a checkpoint of each lane."""
        self._stopping.set()
        for runner in self._runners.values():
            runner.stop(timeout_s=0.0)
        for runner in self._runners.values():
            runner.stop()
        if self._keeper is not None:
            self._keeper.join()
        if self._delivery is not None:
            self._delivery.stop()
        for client in self._clients:
            client.close()
        if self._store is not None:
            self._store.close()

    def __enter__(self) -> "Service":
        self.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()

    def _opened(self) -> Store:
        store = Store.open(self.config.data)
        if store.set_aside:
            # Models and checkpoints belong to the rows of the damaged history.
            lanes = Path(self.config.data) / LANES_FOLDER
            if lanes.exists():
                os.replace(lanes, lanes.with_name(f"{LANES_FOLDER}{store.set_aside[0].suffix}"))
            self._problems["history"] = (
                f"the history was damaged and is set aside as {store.set_aside[0].name}; a new one "
                "was begun"
            )
            log.error(self._problems["history"], extra=IN_HEALTH)
        return store

    def _pulled(self, lanes: Lanes) -> Runner:
        assert self.config.prometheus is not None, "Config requires it for such a watch"
        client = Prometheus.of(self.config.prometheus)
        self._clients.append(client)
        feed = PullFeed(lanes, client, self._clock, self.config.retention.rows)
        return Runner(lanes, feed, self._clock, partial(self._settled, client))

    def _settled(self, client: Prometheus, lanes: Lanes) -> WatchConfig:
        """Return a watch with its step and its history.

        The step is the configured one, else that of the rows stored so far, else the scrape
        interval, else the default.
        """
        watch, now = lanes.watch, self.now()
        if watch.has_own_step and watch.has_own_history:
            return watch
        kept_step, n_series = lanes.kept() or (None, number_of_series(client, watch.query, now))
        step = watch.step if watch.has_own_step else kept_step
        step = step or scrape_interval(client, watch.query, now)
        if step is None:
            log.warning(
                "watch %s: step is not set, and %s does not show how often it scrapes; there is a "
                "row every %s: set step to the scrape interval if that is another",
                *(watch.name, client.url, show_duration(watch.step)),
            )
        found = watch.with_found(step or watch.step, n_series, self.config.retention.rows)
        with self._settling:
            others = (found if one.name == watch.name else one for one in self.config.watches)
            self.config = replace(self.config, watches=tuple(others))
        return found

    def _retain(self) -> None:
        """Delete history past its retention time, at regular intervals, until the service stops."""
        retention = self.config.retention
        while not self._stopping.is_set():
            try:
                self.store.retain(self.now(), retention.rows, retention.scores, retention.alerts)
                self._problems.pop("retention", None)
            except StoreError as error:
                self._problems["retention"] = f"old history cannot be removed: {error}"
                log.warning("retention: %s", error, extra=IN_HEALTH)
            self._clock.sleep(RETAIN_SECONDS, self._stopping)

    # ------------------------------------------------------------------ requests

    @property
    def store(self) -> Store:
        """The history."""
        if self._store is None:
            raise BusyError("the service is not running; start it first")
        return self._store

    @property
    def is_ready(self) -> bool:
        """Whether every watch can take new rows: its history, if any, has been fetched."""
        return bool(self._runners) and all(runner.has_begun for runner in self._runners.values())

    def now(self) -> int:
        """Return the current time in milliseconds since 1970, UTC."""
        return self._clock.now()

    def watches(self) -> list[WatchStatus]:
        """Return the status of every watch, in the order of the configuration."""
        now = self.now()
        return [runner.status(now, self._n_inbox(name)) for name, runner in self._runners.items()]

    def health(self) -> Health:
        """Return the health of the service."""
        problems = [*self._problems.values()]
        if self._delivery is not None:
            problems += self._delivery.problems()
        for status in self.watches():
            problems += [f"watch {status.name}: {problem}" for problem in status.problems]
        return Health(ok=not problems, problems=tuple(problems))

    def receivers(self) -> tuple[ReceiverStatus, ...]:
        """Return the delivery status of each receiver."""
        return () if self._delivery is None else self._delivery.status()

    def lane(self, watch: str, entity: str) -> Lane:
        """Return a lane, for its status and its stored history."""
        return self._runner(watch).lanes.known(entity)

    def entities(self, watch: str) -> list[str]:
        """Return the entities of a watch's lanes."""
        return [lane.entity for lane in self._runner(watch).lanes]

    def refit(self, watch: str, entity: str = "", *, reason: str = "") -> None:
        """Start fitting a new model of a lane in the background; it replaces the old one."""
        runner = self._runner(watch)
        runner.ask(lambda: runner.lanes.known(entity).refit(reason or "asked for"))

    def feedback(self, alert_id: str, who: str) -> None:
        """Mark an alert as normal, which adds its rows to the reference."""
        stored = self.store.alert(alert_id)
        if stored is None:
            raise UnknownError(f"there is no alert {alert_id!r}; look at the list of alerts")
        if stored.feedback is None:
            runner, entity = self._runner(stored.record.watch), stored.record.entity
            runner.ask(lambda: runner.lanes.known(entity).accept(alert_id))
            self.store.give_feedback(alert_id, who)

    def answer(self, watch: str, entity: str, variable: str, who: str, *, is_normal: bool) -> None:
        """Take a user's answer to the question whether a variable's new normal is one."""
        runner = self._runner(watch)
        runner.ask(lambda: runner.lanes.known(entity).answer(variable, who, is_normal=is_normal))

    def spans(
        self, watch: str, since: int, until: int, *, entity: str | None = None
    ) -> list[MarkedSpan]:
        """Return the marked spans of a watch that overlap a time range, newest first."""
        return spans_between(self.store, self._runner(watch).watch, since, until, entity=entity)

    def mark(self, span: MarkedSpan) -> MarkedSpan:
        """Mark a span of a watch; return it with its id."""
        lanes = self._runner(span.watch).lanes
        if span.entity is not None:
            lanes.known(span.entity)
        return self.store.spans.add(span)

    def receive(self, watch: str | None, samples: Samples) -> Received:
        """Store pushed samples for one watch, or for all that match; durable on return.

        Samples at impossible times are left out and counted in the result.
        """
        if watch is not None and self._runner(watch).watch.source != "push":
            raise InputError(
                f"watch {watch!r} queries Prometheus and cannot be pushed to; give it "
                "source = 'push', or name another"
            )
        names = list(self._intakes) if watch is None else [watch]
        samples, refused, refusal = _possible(samples)
        body: bytes | None = None
        taken = []
        most = 0
        for name in names:
            with self._receiving:
                parts = self._intakes[name].by_entity(samples)
            n = sum(len(part) for part in parts.values())
            if not n:
                continue
            if self._n_inbox(name) >= MOST_INBOX:
                raise BusyError(
                    f"{MOST_INBOX:,} bodies wait for watch {name!r} already; send again later"
                )
            body = body or pack_samples(samples)
            self.store.put_inbox(name, body)
            taken.append(name)
            most = max(most, n)
        return Received(samples=most, watches=tuple(taken), refused=refused, refusal=refusal)

    def _runner(self, watch: str) -> Runner:
        if watch not in self._runners:
            raise UnknownError(f"there is no watch {watch!r}; /api/v1/watches lists them")
        return self._runners[watch]

    def _n_inbox(self, watch: str) -> int:
        return self.store.n_inbox(watch) if watch in self._intakes else 0


def _possible(samples: Samples) -> tuple[Samples, int, str]:
    """Return the samples at possible times, the number of the others, and an error message."""
    is_wrong = (samples.times < 0) | (samples.times > LATEST_TIME)
    refused = int(is_wrong.sum())
    if not refused:
        return samples, 0, ""
    first = int(np.argmax(is_wrong))
    name, time = samples.names[samples.codes[first]], int(samples.times[first])
    refusal = (
        f"{refused} of {len(samples)} samples are refused, the others are taken: that of "
        f"{name[:80]!a} is at {time} ms, and times lie from 1970 to 2262; send times in "
        "milliseconds since 1970, and look at the sender's clock"
    )
    return samples.take(~is_wrong), refused, refusal
