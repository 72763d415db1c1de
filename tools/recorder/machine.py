"""Facts about the machine: hardware, software versions, and load.

In: nothing, or names of packages. Out: facts for a dataset's README that identify nobody.
"""

import os
import re
import subprocess
import time
from collections.abc import Iterable
from pathlib import Path

__all__ = ["busy_processors", "machine_facts", "versions"]

# Shortest time of a measurement, because the kernel counts in hundredths of a second.
MIN_SECONDS = 0.5


def machine_facts() -> dict[str, object]:
    """Return the number of processors, memory, kernel and distribution.

    Examples
    --------
    >>> sorted(machine_facts())
    ['distribution', 'kernel', 'memory_gb', 'processors']
    """
    pages, size = os.sysconf("SC_PHYS_PAGES"), os.sysconf("SC_PAGE_SIZE")
    kernel = re.match(r"\d+\.\d+", os.uname().release)
    release = Path("/etc/debian_version")
    return {
        "processors": os.cpu_count() or 1,
        "memory_gb": round(pages * size / 1e9),
        "kernel": f"Linux {kernel[0] if kernel else ''}".strip(),
        "distribution": f"Debian {release.read_text().strip()}" if release.exists() else "Linux",
    }


def versions(packages: Iterable[str]) -> dict[str, str]:
    """Return the installed versions of Debian packages, ``unknown`` for those not installed."""
    found = {}
    for package in sorted(set(packages)):
        told = subprocess.run(
            ["dpkg-query", "-W", "-f=${Version}", package],
            capture_output=True,
            text=True,
            check=False,
        )
        found[package] = told.stdout if told.returncode == 0 else "unknown"
    return found


def busy_processors(seconds: float) -> float:
    """Return the mean number of busy processors over the next seconds."""
    before, begun = _busy_seconds(), time.monotonic()
    time.sleep(max(seconds, MIN_SECONDS))
    return (_busy_seconds() - before) / max(time.monotonic() - begun, 1e-9)


def _busy_seconds() -> float:
    """Return the busy seconds of all processors since the start of the machine."""
    words = Path("/proc/stat").read_text(encoding="ascii").splitlines()[0].split()[1:9]
    user, nice, system, _idle, _iowait, irq, soft, steal = map(int, words)
    return (user + nice + system + irq + soft + steal) / os.sysconf("SC_CLK_TCK")
