"""Runner: the thread that runs one watch and recovers from failures.

In: a feed of rows, and commands from other threads. Out: lanes that are kept up to date. After a
failure the runner retries with growing waits and reports the error in the status.
"""

import logging
import queue
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import Future
from contextlib import suppress
from typing import Any, TypeVar

from smkc.serve.clock import Clock
from smkc.serve.config import WatchConfig
from smkc.serve.feeds import Feed
from smkc.serve.lane.lanes import Lanes
from smkc.serve.prometheus.client import SourceError
from smkc.serve.store import StoreError
from smkc.serve.view import IN_HEALTH, BusyError, WatchStatus

log = logging.getLogger("smkc.serve.runner")

# Seconds: the wait after the first failure, and the maximum; the wait doubles with each failure.
FIRST_WAIT, LONGEST_WAIT = 1.0, 60.0

# Maximum wait in seconds while a model is being fitted in another process.
STOP_CHECK_SECONDS = 0.25

T = TypeVar("T")

PHASE_ORDER = ("fitting", "collecting", "following")


class Runner:
    """Runs one watch in its own thread, which opens the lanes.

    ``settled`` returns the watch with its step and history; it is called before the lanes are
    opened.
    """

    def __init__(
        self,
        lanes: Lanes,
        feed: Feed,
        clock: Clock,
        settled: Callable[[Lanes], WatchConfig] = lambda lanes: lanes.watch,
    ) -> None:
        self.lanes, self.feed = lanes, feed
        self._clock, self._settled = clock, settled
        self._commands: queue.SimpleQueue[tuple[Callable[[], Any], Future[Any]]] = (
            queue.SimpleQueue()
        )
        self._stopping = False
        self._wake = threading.Event()
        self._is_open = False
        self._wait = FIRST_WAIT
        self._last_error = ""
        self.errors: dict[str, int] = {}
        name = f"smkc-{self.watch.name}"
        self._thread = threading.Thread(target=self._run, name=name, daemon=True)

    @property
    def watch(self) -> WatchConfig:
        """Settings of the watch."""
        return self.lanes.watch

    def start(self) -> None:
        """Start the thread."""
        self._thread.start()

    def stop(self, timeout_s: float | None = None) -> None:
        """Stop after the current step and write checkpoints; wait for the thread to end."""
        self._stopping = True
        self._wake.set()
        if self._thread.ident is not None:
            self._thread.join(timeout_s)

    def ask(self, work: Callable[[], T], timeout_s: float = 30.0) -> T:
        """Run a function in the runner's thread, between two steps; return its result.

        Raise BusyError if the runner is not running or does not answer in time.
        """
        if self._stopping or not self._thread.is_alive():
            raise BusyError(f"watch {self.watch.name!r} is not running; start the service first")
        answer: Future[T] = Future()
        self._commands.put((work, answer))
        self._wake.set()
        try:
            return answer.result(timeout_s)
        except TimeoutError:
            answer.cancel()
            raise BusyError(
                f"watch {self.watch.name!r} is busy and did not answer within {timeout_s:g} s; "
                "try again"
            ) from None

    @property
    def has_begun(self) -> bool:
        """Whether the lanes are open and the history has been fetched."""
        return self._is_open and not self.feed.is_backfilling

    def status(self, now: int, inbox: int) -> WatchStatus:
        """Return the status of the watch, with ``inbox`` bodies waiting; any thread may call it."""
        counts = self.feed.counts
        lanes = tuple(lane.status(now) for lane in self.lanes)
        problems = [*self.feed.problems.values()]
        if self._last_error:
            problems.insert(0, self._last_error)
        for lane in lanes:
            where = f"{lane.entity}: " if lane.entity else ""
            problems += [f"{where}{problem}" for problem in lane.problems]
        return WatchStatus(
            name=self.watch.name,
            source=self.watch.source,
            step=self.watch.step,
            phase=self._phase([lane.phase for lane in lanes]),
            progress=self.feed.progress if self._is_open else 0.0,
            lag=min((lane.lag for lane in lanes), default=0),
            rows=sum(lane.rows for lane in lanes),
            series=sum(lane.series for lane in lanes),
            last_error=self._last_error,
            errors=dict(self.errors) | self.feed.errors,
            late=counts["late"],
            duplicates=counts["duplicates"],
            refused=counts["refused"],
            infinite=counts["infinite"],
            inbox=inbox,
            lanes=lanes,
            problems=tuple(problems),
        )

    def _phase(self, phases: list[str]) -> str:
        if self._last_error:
            return "waiting"
        if not self.has_begun or (not phases and self.feed.is_behind):
            return "backfilling"
        without_lanes = "following" if self.feed.is_elsewhere else "collecting"
        return next((phase for phase in PHASE_ORDER if phase in phases), without_lanes)

    # ------------------------------------------------------------------ the thread

    def _run(self) -> None:
        while not self._stopping:
            seconds = self._step()
            self._clock.sleep(seconds, self._wake)
            self._wake.clear()
        try:
            if self._is_open:
                self.lanes.close()
        except Exception:
            log.exception(
                "watch %s did not stop cleanly; it resumes from the journal", self.watch.name
            )
        for _, answer in self._waiting():
            answer.set_exception(BusyError(f"watch {self.watch.name!r} is stopping; try later"))

    def _step(self) -> float:
        """Run commands, advance the feed and maintain models; return the seconds to wait."""
        try:
            if not self._is_open:
                self.lanes.watch = self._settled(self.lanes)
                self.lanes.open()
                self.feed.reset()
                self._is_open = True
            self._obey()
            seconds = self.feed.advance()
            is_fitting_beside = any(lane.model.is_refitting for lane in self.lanes)
            if not self.feed.is_backfilling:
                for lane in self.lanes:  # one refit at a time: each has a process and its memory
                    lane.look_after_model(may_refit=not is_fitting_beside)
                    is_fitting_beside |= lane.model.is_refitting
                if gone := self.lanes.retire():
                    self.feed.forget(gone)
        except SourceError as error:
            return self._failed("source", error)
        except StoreError as error:
            return self._failed("store", error)
        except Exception as error:
            # State in memory may differ from the journal now, so reload it from the journal.
            log.exception("watch %s is taken up again from its journal", self.watch.name)
            self._is_open = False
            self.lanes.forget()
            return self._failed("unexpected", error)
        if self._last_error:
            log.info("watch %s: it works again", self.watch.name)
        self._last_error, self._wait = "", FIRST_WAIT
        return min(seconds, STOP_CHECK_SECONDS) if is_fitting_beside else seconds

    def _failed(self, kind: str, error: Exception) -> float:
        """Record a failure; return the seconds to wait."""
        self.errors[kind] = self.errors.get(kind, 0) + 1
        if str(error) != self._last_error:
            log.warning("watch %s: %s", self.watch.name, error, extra=IN_HEALTH)
        self._last_error = str(error) or type(error).__name__
        seconds, self._wait = self._wait, min(2.0 * self._wait, LONGEST_WAIT)
        return seconds

    def _obey(self) -> None:
        """Run the commands in the queue."""
        for work, answer in self._waiting():
            if not answer.set_running_or_notify_cancel():
                continue
            try:
                answer.set_result(work())
            except Exception as error:
                answer.set_exception(error)

    def _waiting(self) -> Iterator[tuple[Callable[[], Any], Future[Any]]]:
        """Take the commands out of the queue, one after another."""
        with suppress(queue.Empty):
            while True:
                yield self._commands.get_nowait()
