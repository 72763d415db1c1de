"""Running a function in new namespaces, so that nothing of it remains.

In: a function and a folder. Out: its exit status. Inside, the folder is mounted at ``/mnt``, the
only network is a separate loopback, no other process is visible, and the host name is ``host``.
Mounts, rules of ``tc`` and processes vanish with the namespaces, even after ``kill -9``.
"""

import ctypes
import os
import signal
import socket
import subprocess
import sys
import traceback
from collections.abc import Callable
from pathlib import Path
from types import FrameType

__all__ = ["INSIDE", "can_isolate", "run_isolated"]

# Path of the recording's folder inside the namespaces.
INSIDE = Path("/mnt")

# From <linux/sched.h>: new mounts, host name, processes, network.
NEW_NAMESPACES = 0x00020000 | 0x04000000 | 0x20000000 | 0x40000000

# From <linux/prctl.h>.
SET_PARENT_DEATH_SIGNAL = 1


def can_isolate() -> bool:
    """Return whether this process may create namespaces."""
    if os.geteuid() != 0:
        return False
    command = ["unshare", "--mount", "--uts", "--pid", "--net", "--fork", "true"]
    try:
        return subprocess.run(command, capture_output=True, check=False).returncode == 0
    except FileNotFoundError:
        return False


def run_isolated(work: Callable[[], None], folder: Path) -> int:
    """Run a function in new namespaces; return its exit status once everything has ended.

    SIGTERM and SIGINT of this process end the function with SystemExit.
    """
    if os.geteuid() != 0:
        raise SystemExit("recording needs root: everything runs in namespaces of its own")
    sys.stdout.flush()
    outer = os.fork()
    if outer == 0:
        _enter(work, folder)

    def pass_on(number: int, frame: FrameType | None) -> None:
        os.kill(outer, signal.SIGTERM)

    before = {one: signal.signal(one, pass_on) for one in (signal.SIGTERM, signal.SIGINT)}
    try:
        _, status = os.waitpid(outer, 0)
    finally:
        for one, handler in before.items():
            signal.signal(one, handler)
    return os.waitstatus_to_exitcode(status)


def _enter(work: Callable[[], None], folder: Path) -> None:
    """Create the namespaces in an intermediate process, whose child is their first process."""
    libc = ctypes.CDLL(None, use_errno=True)
    libc.prctl(SET_PARENT_DEATH_SIGNAL, signal.SIGKILL)
    if libc.unshare(NEW_NAMESPACES) != 0:
        os.write(2, f"no namespaces: {os.strerror(ctypes.get_errno())}\n".encode())
        os._exit(1)
    inner = os.fork()
    if inner != 0:
        signal.signal(signal.SIGINT, signal.SIG_IGN)
        signal.signal(signal.SIGTERM, lambda number, frame: os.kill(inner, signal.SIGTERM))
        _, status = os.waitpid(inner, 0)
        os._exit(abs(os.waitstatus_to_exitcode(status)))
    libc.prctl(SET_PARENT_DEATH_SIGNAL, signal.SIGKILL)
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.signal(signal.SIGTERM, _stop)
    status = 1
    try:
        for command in (
            ["mount", "--make-rprivate", "/"],
            ["mount", "-t", "proc", "proc", "/proc"],
            ["mount", "--bind", str(folder), str(INSIDE)],
            ["ip", "link", "set", "lo", "up"],
        ):
            subprocess.run(command, check=True)
        socket.sethostname("host")
        work()
        status = 0
    except SystemExit as error:
        os.write(2, f"{error}\n".encode())
    except BaseException:
        traceback.print_exc()
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(status)


def _stop(number: int, frame: FrameType | None) -> None:
    raise SystemExit(f"stopped by signal {number}")
