"""Threads: the threads of delivery, one per receiver.

In: the store and the configuration. Out: requests to the receivers, their delivery status, and
sentences that describe current problems.
"""

import logging
import random
import threading
import time
from collections.abc import Callable

from smkc.serve.config import Config
from smkc.serve.delivery.courier import Courier
from smkc.serve.delivery.posting import ReceiverStatus
from smkc.serve.delivery.scores import ScoreWriter
from smkc.serve.messages import instant
from smkc.serve.store import Store, StoreError

POLL_S = 1.0

# Milliseconds for which a dropped message is reported as a problem.
TOLD_FOR = 86_400_000

_log = logging.getLogger("smkc.serve.delivery")


class Delivery:
    """Sends the messages of the outbox and new scores, in one thread per receiver.

    The store must stay open until :meth:`stop` has returned. ``now`` returns the time in
    milliseconds.
    """

    def __init__(self, store: Store, config: Config, now: Callable[[], int]) -> None:
        rng = random.Random()
        self._now = now
        self._stopping = threading.Event()
        self._threads: list[threading.Thread] = []
        workers: list[Courier | ScoreWriter] = [
            *(Courier(store, config, to, rng) for to in config.alertmanagers),
            *(Courier(store, config, to, rng) for to in config.webhooks),
        ]
        if config.remote_write is not None:
            workers.append(ScoreWriter(store, config, config.remote_write, rng))
        self.workers = tuple(workers)

    def start(self) -> None:
        """Start the threads."""
        for worker in self.workers:
            name = f"smkc-{worker.receiver.kind}"
            thread = threading.Thread(target=self._run, args=(worker,), name=name, daemon=True)
            self._threads.append(thread)
            thread.start()

    def take_step(self, watch: str, step: int) -> None:
        """Set the step of a watch, in milliseconds, that was detected after the start."""
        for worker in self.workers:
            if isinstance(worker, ScoreWriter):
                worker.steps[watch] = step

    def stop(self, timeout_s: float = 10.0) -> None:
        """Stop sending; wait up to ``timeout_s`` seconds for requests in progress."""
        self._stopping.set()
        end = time.monotonic() + timeout_s
        for thread in self._threads:
            thread.join(max(end - time.monotonic(), 0.0))
        for worker in self.workers:
            worker.receiver.close()

    def status(self) -> tuple[ReceiverStatus, ...]:
        """Return the status of each receiver."""
        return tuple(worker.receiver.status(worker.n_waiting()) for worker in self.workers)

    def problems(self) -> list[str]:
        """Return sentences that describe current problems."""
        found = []
        now = self._now()
        for one in (worker.receiver.status() for worker in self.workers):
            who = f"{one.kind} {one.name}"
            if one.failing_since is not None:
                since = instant(one.failing_since)
                found.append(f"{who} since {since}: {one.last_error}; its messages wait")
            if one.dropped_at is not None and now - one.dropped_at < TOLD_FOR:
                latest = instant(one.dropped_at)
                found.append(
                    f"{who}: {one.given_up} messages or scores dropped, the latest at {latest}; "
                    "the log says why"
                )
        return found

    def _run(self, worker: Courier | ScoreWriter) -> None:
        was_failing = False
        while not self._stopping.is_set():
            try:
                worker.step(self._now())
                was_failing = False
            except StoreError as error:  # such as a full disk: retry until there is space
                if not was_failing:
                    _log.error("delivery to %s waits: %s", worker.receiver.name, error)
                was_failing = True
            except Exception:  # keep the thread alive and retry later
                if not was_failing and not self._stopping.is_set():
                    _log.exception("delivery to %s failed", worker.receiver.name)
                was_failing = True
            self._stopping.wait(POLL_S)
