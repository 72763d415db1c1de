"""Runner: the thread that follows one watch, and never gives up.

In: a feed of rows, and commands from other threads. Out: lanes that go on; what fails outside is
waited out, longer each time, and said in the status.
"""

import logging
import queue
import threading
from collections.abc import Callable, Sequence
from concurrent.futures import Future
from typing import Any, Protocol, TypeVar

from smkc.serve.clock import Clock
from smkc.serve.config import WatchConfig
from smkc.serve.lane.lanes import Lanes
from smkc.serve.prometheus.client import SourceError
from smkc.serve.store import StoreError
from smkc.serve.view import IN_HEALTH, BusyError, WatchStatus

__all__ = ["Feed", "Runner"]

log = logging.getLogger("smkc.serve.runner")

# Seconds: the first wait after a failure, and the longest; it doubles in between.
FIRST_WAIT, LONGEST_WAIT = 1.0, 60.0

# Seconds between looks at a fit in another process.
STOP_CHECK_SECONDS = 0.25

T = TypeVar("T")

PHASE_ORDER = ("fitting", "collecting", "following")


class Feed(Protocol):
    """Where a watch's rows come from."""

    problems: dict[str, str]
    errors: dict[str, int]

    @property
    def is_backfilling(self) -> bool:
        """Whether history is still being fetched."""
        ...

    @property
    def is_behind(self) -> bool:
        """Whether it has yet to ask, for the first time, for every row that is due."""
        ...

    @property
    def progress(self) -> float:
        """Share of the history that is there."""
        ...

    @property
    def late(self) -> int:
        """Count of samples that came after their rows were closed."""
        ...

    @property
    def duplicates(self) -> int:
        """Count of samples that came twice."""
        ...

    @property
    def refused(self) -> int:
        """Count of what there was no place for."""
        ...

    @property
    def infinite(self) -> int:
        """Count of infinite values, which are left out."""
        ...

    def advance(self) -> float:
        """Hand the rows that are due to the lanes; return the seconds until the next."""
        ...

    def reset(self) -> None:
        """Go back to where the lanes' journals end."""
        ...

    def forget(self, entities: Sequence[str]) -> None:
        """Make room for others: these entities have no lane any more."""
        ...


class Runner:
    """Follows one watch in a thread of its own.

    Parameters
    ----------
    lanes
        of the watch; opened by the thread.
    feed
        where rows come from.
    clock
        for waiting.
    with_step
        returns the watch with its step; asked before lanes are opened.
    """

    def __init__(
        self,
        lanes: Lanes,
        feed: Feed,
        clock: Clock,
        with_step: Callable[[Lanes], WatchConfig] = lambda lanes: lanes.watch,
    ) -> None:
        self.lanes, self.feed = lanes, feed
        self._clock, self._with_step = clock, with_step
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
        """Its settings."""
        return self.lanes.watch

    def start(self) -> None:
        """Begin to follow."""
        self._thread.start()

    def stop(self, timeout_s: float | None = None) -> None:
        """End after the row at hand, with a checkpoint."""
        self._stopping = True
        self._wake.set()
        if self._thread.ident is not None:
            self._thread.join(timeout_s)

    def ask(self, work: Callable[[], T], timeout_s: float = 30.0) -> T:
        """Run something between two rows, in the thread that owns the lanes; return its result."""
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
        """Whether the lanes are back and history is there."""
        return self._is_open and not self.feed.is_backfilling

    def status(self, now: int, inbox: int) -> WatchStatus:
        """Say how the watch stands; any thread may ask."""
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
            phase=self._phase([lane.phase for lane in lanes]),
            progress=self.feed.progress if self._is_open else 0.0,
            lag=min((lane.lag for lane in lanes), default=0),
            rows=sum(lane.rows for lane in lanes),
            series=sum(lane.series for lane in lanes),
            last_error=self._last_error,
            errors=dict(self.errors) | self.feed.errors,
            late=self.feed.late,
            duplicates=self.feed.duplicates,
            refused=self.feed.refused,
            infinite=self.feed.infinite,
            inbox=inbox,
            lanes=lanes,
            problems=tuple(problems),
        )

    def _phase(self, phases: list[str]) -> str:
        if self._last_error:
            return "waiting"
        if not self.has_begun or (not phases and self.feed.is_behind):
            return "backfilling"
        return next((phase for phase in PHASE_ORDER if phase in phases), "collecting")

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
            log.exception("watch %s did not end well; it goes on from its journal", self.watch.name)
        self._refuse_commands()

    def _step(self) -> float:
        """Do what there is to do; return the seconds until there is more."""
        try:
            if not self._is_open:
                self.lanes.watch = self._with_step(self.lanes)
                self.lanes.open()
                self.feed.reset()
                self._is_open = True
            self._obey()
            seconds = self.feed.advance()
            is_fitting_beside = False
            if not self.feed.is_backfilling:
                for lane in self.lanes:
                    lane.look_after_model()
                    is_fitting_beside |= lane.model.is_refitting
                if gone := self.lanes.retire():
                    self.feed.forget(gone)
        except SourceError as error:
            return self._failed("source", error)
        except StoreError as error:
            return self._failed("store", error)
        except Exception as error:
            # Memory and journal may differ now: the journal counts.
            log.exception("watch %s is taken up again from its journal", self.watch.name)
            self._is_open = False
            self.lanes.forget()
            return self._failed("unexpected", error)
        if self._last_error:
            log.info("watch %s: it works again", self.watch.name)
        self._last_error, self._wait = "", FIRST_WAIT
        return min(seconds, STOP_CHECK_SECONDS) if is_fitting_beside else seconds

    def _failed(self, kind: str, error: Exception) -> float:
        """Note a failure; return how long to wait."""
        self.errors[kind] = self.errors.get(kind, 0) + 1
        if str(error) != self._last_error:
            log.warning("watch %s: %s", self.watch.name, error, extra=IN_HEALTH)
        self._last_error = str(error) or type(error).__name__
        seconds, self._wait = self._wait, min(2.0 * self._wait, LONGEST_WAIT)
        return seconds

    def _obey(self) -> None:
        """Run the commands that wait."""
        while True:
            try:
                work, answer = self._commands.get_nowait()
            except queue.Empty:
                return
            if not answer.set_running_or_notify_cancel():
                continue
            try:
                answer.set_result(work())
            except Exception as error:
                answer.set_exception(error)

    def _refuse_commands(self) -> None:
        while True:
            try:
                _, answer = self._commands.get_nowait()
            except queue.Empty:
                return
            answer.set_exception(BusyError(f"watch {self.watch.name!r} is stopping; try later"))
