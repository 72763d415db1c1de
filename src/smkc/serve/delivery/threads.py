"""Threads of delivery: one for each receiver, from start to stop.

In: the store and the configuration. Out: everything that is due, sent; and how it goes, in words.
"""

import logging
import random
import threading
import time
from collections.abc import Callable

from smkc.serve.config import Config
from smkc.serve.delivery.courier import Courier
from smkc.serve.delivery.scores import ScoreWriter
from smkc.serve.delivery.standing import ReceiverStatus
from smkc.serve.messages import instant
from smkc.serve.store import Store, StoreError

__all__ = ["Delivery"]

POLL_S = 1.0

# Milliseconds that a dropped message counts as a problem.
TOLD_FOR = 86_400_000

_log = logging.getLogger("smkc.serve.delivery")


class Delivery:
    """Sends what waits in the outbox, and scores as they come, in threads of its own.

    Parameters
    ----------
    store
        with the outbox; it stays open until :meth:`stop` has returned.
    config
        names the receivers.
    now
        returns the time in milliseconds; by default that of the system.
    seed
        of the waits after failures; by default another one each time.
    """

    def __init__(
        self,
        store: Store,
        config: Config,
        *,
        now: Callable[[], int] | None = None,
        seed: int | None = None,
    ) -> None:
        rng = random.Random(seed)
        self._now = now or (lambda: time.time_ns() // 1_000_000)
        self._stopping = threading.Event()
        self._wakes: list[threading.Event] = []
        self._threads: list[threading.Thread] = []
        workers: list[Courier | ScoreWriter] = [
            *(Courier(store, config, to, rng) for to in config.alertmanagers),
            *(Courier(store, config, to, rng) for to in config.webhooks),
        ]
        if config.remote_write is not None:
            workers.append(ScoreWriter(store, config, config.remote_write, rng))
        self.workers = tuple(workers)

    def start(self) -> None:
        """Begin to send."""
        for worker in self.workers:
            wake = threading.Event()
            name = f"smkc-{worker.standing.kind}"
            thread = threading.Thread(target=self._run, args=(worker, wake), name=name, daemon=True)
            self._wakes.append(wake)
            self._threads.append(thread)
            thread.start()

    def take_step(self, watch: str, step: int) -> None:
        """Take the step of a watch, in milliseconds, which was found after the start."""
        for worker in self.workers:
            if isinstance(worker, ScoreWriter):
                worker.steps[watch] = step

    def wake(self) -> None:
        """Look into the outbox now rather than within a second."""
        for wake in self._wakes:
            wake.set()

    def stop(self, timeout_s: float = 10.0) -> None:
        """Send no more; a request under way may still end within the time given."""
        self._stopping.set()
        self.wake()
        end = time.monotonic() + timeout_s
        for thread in self._threads:
            thread.join(max(end - time.monotonic(), 0.0))
        for worker in self.workers:
            worker.close()

    def status(self) -> tuple[ReceiverStatus, ...]:
        """Say how it goes with each receiver."""
        return tuple(worker.standing.status(worker.n_waiting()) for worker in self.workers)

    def problems(self) -> list[str]:
        """Return sentences on what is not as it should be."""
        found = []
        now = self._now()
        for one in (worker.standing.status() for worker in self.workers):
            who = f"{one.kind} {one.name}"
            if one.failing_since is not None:
                since = instant(one.failing_since)
                found.append(f"{who} since {since}: {one.last_error}; what it must hear waits")
            if one.dropped_at is not None and now - one.dropped_at < TOLD_FOR:
                latest = instant(one.dropped_at)
                found.append(
                    f"{who}: {one.given_up} messages or scores dropped, the latest at {latest}; "
                    "the log says why"
                )
        return found

    def _run(self, worker: Courier | ScoreWriter, wake: threading.Event) -> None:
        was_failing = False
        while not self._stopping.is_set():
            try:
                worker.step(self._now())
                was_failing = False
            except StoreError as error:  # a full disk, say: it goes on once there is room
                if not was_failing:
                    _log.error("delivery to %s waits: %s", worker.standing.name, error)
                was_failing = True
            except Exception:  # the thread must live: what is not sent now is sent later
                if not was_failing and not self._stopping.is_set():
                    _log.exception("delivery to %s failed", worker.standing.name)
                was_failing = True
            wake.wait(POLL_S)
            wake.clear()
