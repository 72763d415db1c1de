"""Provenance: how a result was made, so that readers can judge and reproduce it.

In: the command as typed, a budget, seeds and a device. Out: facts about code, machine and
libraries, for a file; they contain no names of persons, hosts or folders.
"""

import os
import platform
import shlex
import subprocess
from collections.abc import Sequence
from datetime import UTC, datetime
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

from benchmarks.baselines.device import device_name

__all__ = ["LIBRARIES", "circumstances", "code_commit", "provenance"]

# Libraries that results depend on.
LIBRARIES = ("smkc", "numpy", "numba", "scikit-learn", "torch")


def provenance(
    command: str,
    budget: str,
    seeds: Sequence[int],
    device: str,
    *,
    commit: str | None = None,
    libraries: Sequence[str] = LIBRARIES,
) -> dict[str, Any]:
    """Return how a result was made: the command, the date, the machine and the code.

    Call it once, before the first file of a result is written.

    Parameters
    ----------
    command
        as typed; absolute paths are reduced to their last part.
    device
        "cpu" or a name that torch knows, such as "cuda".
    commit
        commit of the code; None takes that of :func:`code_commit`.
    libraries
        libraries whose versions are included, if they are installed.
    """
    return {
        "command": _without_folders(command),
        "date": datetime.now(UTC).isoformat(timespec="seconds"),
        "budget": budget,
        "seeds": [int(seed) for seed in seeds],
        "device": device_name(device),
        "machine": _machine(),
        "versions": {"python": platform.python_version(), **_versions(libraries)},
        "commit": code_commit() if commit is None else commit,
    }


def circumstances(command: str) -> dict[str, str]:
    """Return the provenance of a page without budget and seeds, one text per entry."""
    versions = {"python": platform.python_version(), **_versions(("smkc", "numpy", "numba"))}
    return {
        "date": datetime.now(UTC).isoformat(timespec="seconds"),
        "commit": code_commit(),
        "machine": _machine(),
        "versions": ", ".join(f"{name} {version}" for name, version in versions.items()),
        "command": _without_folders(command),
    }


def _without_folders(command: str) -> str:
    """Reduce absolute paths in a command to their last part, also after ``--option=``."""
    words = []
    for word in shlex.split(command):
        option, equals, value = word.partition("=")
        value = value if equals else option
        short = Path(value).name if Path(value).is_absolute() else value
        words.append(f"{option}={short}" if equals else short)
    return shlex.join(words)


def _machine() -> str:
    """Return processor, cores, memory and operating system, without the host's name."""
    name = platform.machine()
    try:
        for entry in Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines():
            if entry.startswith("model name"):
                name = entry.split(":", 1)[1].strip()
                break
        memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    except (AttributeError, OSError, ValueError):  # not Linux
        return f"{name}, {os.cpu_count()} cores, {platform.system()}"
    return f"{name}, {os.cpu_count()} cores, {memory / 2**30:.0f} GiB, {platform.system()}"


def _versions(libraries: Sequence[str]) -> dict[str, str]:
    found = {}
    for name in libraries:
        try:
            found[name] = version(name)
        except PackageNotFoundError:
            continue
    return found


def code_commit() -> str:
    """Return the commit of this code, with "-dirty" appended if files have changed since.

    The environment variable ``SMKC_COMMIT`` overrides it, for copies of the code without git
    history. Without either, the result is "unknown".
    """
    told = os.environ.get("SMKC_COMMIT")
    if told:
        return told
    home = Path(__file__).resolve().parent

    def git(*words: str) -> str | None:
        try:
            done = subprocess.run(
                ["git", *words], cwd=home, capture_output=True, text=True, check=False
            )
        except OSError:  # no git here
            return None
        return done.stdout.strip() if done.returncode == 0 else None

    # A copy of this code inside another project's checkout is in none of that project's commits.
    if git("ls-files", "--error-unmatch", Path(__file__).name) is None:
        return "unknown"
    changed = git("status", "--porcelain", "--", ".", "../src")
    return f"{git('rev-parse', '--short=10', 'HEAD')}{'-dirty' if changed else ''}"
