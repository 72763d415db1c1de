"""Processes that a recorder starts and that end with it.

In: command lines. Out: running processes, free ports, and the programs that are missing.
"""

import ctypes
import shutil
import signal
import socket
import subprocess
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

__all__ = ["end", "free_port", "missing_programs", "start", "words_of"]

# From <linux/prctl.h>: send this signal to a process when its parent ends.
SET_PARENT_DEATH_SIGNAL = 1


def start(
    command: Sequence[str], log: Path, environment: Mapping[str, str] | None = None
) -> subprocess.Popen[bytes]:
    """Start a process that ends with this one; its output is appended to a log."""
    libc = ctypes.CDLL(None)

    def end_with_parent() -> None:
        libc.prctl(SET_PARENT_DEATH_SIGNAL, signal.SIGKILL)

    with log.open("ab") as out:
        return subprocess.Popen(
            command,
            stdin=subprocess.DEVNULL,
            stdout=out,
            stderr=subprocess.STDOUT,
            env=environment,
            preexec_fn=end_with_parent,
        )


def end(process: subprocess.Popen[bytes], patience: float = 3.0) -> None:
    """Terminate a process; kill it if it does not end within ``patience`` seconds."""
    process.terminate()
    try:
        process.wait(patience)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()


def free_port() -> int:
    """Return a free port on loopback."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def missing_programs(programs: Iterable[str]) -> list[str]:
    """Return the programs that are not installed."""
    return [program for program in programs if shutil.which(program) is None]


def words_of(options: Mapping[str, object]) -> list[str]:
    """Return options as command-line arguments.

    Examples
    --------
    >>> words_of({"port": 80, "work_seconds": 0.5})
    ['--port=80', '--work-seconds=0.5']
    """
    return [f"--{name.replace('_', '-')}={value}" for name, value in options.items()]
