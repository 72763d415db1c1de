"""Provenance: how a result came about, so that a reader can judge it and make it again.

In: the command as typed, a budget, seeds and a device. Out: facts about code, machine and libraries
that a file can hold; they name no person, no host and no folder.
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

# What a result depends on beside smkc itself.
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
    """Return how a result came about: what was run, when, on what and with which code.

    Take it once, before the first file of a result is written.

    Parameters
    ----------
    command
        as typed; of a path that starts at the root only the last name is kept.
    device
        "cpu" or a name that torch knows, such as "cuda".
    commit
        of the code, where the checkout is not at hand; asked of git otherwise.
    libraries
        whose versions are told, where they are installed.
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
    """Return what a page without budget and seeds says of how it was made, one text per line."""
    versions = {"python": platform.python_version(), **_versions(("smkc", "numpy", "numba"))}
    return {
        "date": datetime.now(UTC).isoformat(timespec="seconds"),
        "commit": code_commit(),
        "machine": _machine(),
        "versions": ", ".join(f"{name} {version}" for name, version in versions.items()),
        "command": _without_folders(command),
    }


def _without_folders(command: str) -> str:
    """Keep only the last name of a path from the root, also behind ``--option=``."""
    words = []
    for word in shlex.split(command):
        option, equals, value = word.partition("=")
        value = value if equals else option
        short = Path(value).name if Path(value).is_absolute() else value
        words.append(f"{option}={short}" if equals else short)
    return shlex.join(words)


def _machine() -> str:
    """Return processor, cores, memory and system, without the machine's own name."""
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
    """Return the commit of this code, "-dirty" added where its files differ from it.

    ``SMKC_COMMIT`` says it where the code was copied without its history.
    """
    told = os.environ.get("SMKC_COMMIT")
    if told:  # a copy of the code without its history
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

    # Copied beside other work, this code is in no commit of that work.
    if git("ls-files", "--error-unmatch", Path(__file__).name) is None:
        return "unknown"
    changed = git("status", "--porcelain", "--", ".", "../src")
    return f"{git('rev-parse', '--short=10', 'HEAD')}{'-dirty' if changed else ''}"
