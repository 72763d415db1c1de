"""Clock: what time it is, and waiting; handed in, so that a day can pass in a second.

In: nothing. Out: milliseconds since 1970, UTC. It may step back, as wall clocks do.
"""

import threading
import time
from typing import Protocol

__all__ = ["Clock", "WallClock"]


class Clock(Protocol):
    """What runners ask of a clock."""

    def now(self) -> int:
        """Return the time in milliseconds since 1970, UTC."""
        ...

    def sleep(self, seconds: float, until: threading.Event) -> None:
        """Wait so long, or until the event is set."""
        ...


class WallClock:
    """The machine's clock.

    Examples
    --------
    >>> WallClock().now() > 1_600_000_000_000
    True
    """

    def now(self) -> int:
        """Return the time in milliseconds since 1970, UTC."""
        return time.time_ns() // 1_000_000

    def sleep(self, seconds: float, until: threading.Event) -> None:
        """Wait so long, or until the event is set; the clock's steps change nothing in that."""
        until.wait(max(seconds, 0.0))
