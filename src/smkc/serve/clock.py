"""Clock: the current time, and waiting; passed in, so that time can be simulated.

In: nothing. Out: milliseconds since 1970, UTC. The time may step back, as wall clocks do.
"""

import threading
import time


class Clock:
    """The machine's clock."""

    def now(self) -> int:
        """Return the time in milliseconds since 1970, UTC."""
        return time.time_ns() // 1_000_000

    def sleep(self, seconds: float, until: threading.Event) -> None:
        """Wait for a number of seconds, or until the event is set.

        Steps of the wall clock do not change how long this waits.
        """
        until.wait(max(seconds, 0.0))
