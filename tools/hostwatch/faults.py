"""Beginning and end of each kind of fault.

In: the schedule's entry of a fault, and the affected replica. Out: the fault, and a function that
ends it.
"""

import signal
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

from tools.hostwatch.fleet import Fleet, Pod
from tools.hostwatch.processes import start_own
from tools.stack.processes import end

__all__ = ["Faults"]

# Seconds that a crashing replica is up and down.
CRASH_UP, CRASH_DOWN = 5.0, 3.0

MEGABYTE = 1024 * 1024

Stop = Callable[[], None]


class Faults:
    """Starter of faults; ``soon`` schedules a later step on the recorder's timeline."""

    def __init__(
        self,
        folder: Path,
        fleet: Fleet,
        stack: dict[str, subprocess.Popen[bytes]],
        soon: Callable[[float, Callable[[], None]], None],
    ) -> None:
        self.folder = folder
        self.fleet = fleet
        self.stack = stack
        self.soon = soon

    def begin(self, about: dict[str, Any], pod: Pod | None) -> Stop:
        """Begin a fault; return the function that ends it."""
        kind = about["kind"]
        if kind == "cpu_hog":
            return self._load([{"role": "hog"}] * about["processes"])
        if kind == "disk_load":
            path, speed = self.folder / "written", about["megabytes_a_second"]
            return self._load([{"role": "writer", "path": path, "megabytes_a_second": speed}])
        if pod is None:
            return self._stop_exporter(about["exporter"])
        if kind == "memory_leak":
            speed = int(about["megabytes_a_second"] * MEGABYTE)
            return self._control(pod, "leak_a_second", speed)
        if kind == "slow_service":
            return self._control(pod, "added_seconds", about["added_seconds"])
        if kind == "silent":
            return self._control(pod, "silent", 1)
        return self._crash(pod)

    def _load(self, processes: list[dict[str, Any]]) -> Stop:
        """Start processes that load the machine, in the group of the short jobs."""
        log = self.folder / "fleet.log"
        started = [start_own(group="job", log=log, **options) for options in processes]

        def stop() -> None:
            for process in started:
                end(process)
            (self.folder / "written").unlink(missing_ok=True)

        return stop

    def _control(self, pod: Pod, word: str, value: float) -> Stop:
        """Make a replica leak memory, be slow or hide its metrics; the end resets it."""
        self.fleet.control(pod, **{word: value})
        return lambda: self.fleet.control(pod, **{word: 0})

    def _stop_exporter(self, name: str) -> Stop:
        """Suspend the process of an exporter."""
        self.stack[name].send_signal(signal.SIGSTOP)
        return lambda: self.stack[name].send_signal(signal.SIGCONT)

    def _crash(self, pod: Pod) -> Stop:
        """Kill a replica and start it again under the same name, repeatedly."""
        pod.is_crashing = True

        def crash() -> None:
            if pod.is_crashing:
                pod.process.kill()
                pod.process.wait()
                self.soon(CRASH_DOWN, again)

        def again() -> None:
            if pod.is_crashing:
                self.fleet.start_again(pod)
                self.soon(CRASH_UP, crash)

        def stop() -> None:
            pod.is_crashing = False

        crash()
        return stop
