"""The cache tier, recorded for five minutes, and a recording of it that is stopped.

Both are in one file, so that one worker runs them one after the other: each has cluster nodes.
"""

import subprocess
import sys
from contextlib import suppress
from pathlib import Path

import pytest
from tests.tools.short_recording import CHECKOUT, check_short_recording, skip_unless_recordable
from tools.recorder.systems import SYSTEMS


@pytest.mark.slow
@pytest.mark.prometheus
def test_a_short_recording_passes_its_check(tmp_path: Path) -> None:
    check_short_recording("cache", tmp_path / "recording")


@pytest.mark.slow
@pytest.mark.prometheus
def test_a_recording_that_is_told_to_stop_leaves_nothing(tmp_path: Path) -> None:
    skip_unless_recordable(SYSTEMS["cache"])
    folder, before = tmp_path / "recording", cluster_nodes()
    command = [sys.executable, "-m", "tools.recorder", "record", "cache", folder, "--rest", "0"]
    process = subprocess.Popen([*map(str, command)], cwd=CHECKOUT, stderr=subprocess.PIPE)
    log = folder / "log.jsonl"
    while not log.exists():
        assert process.poll() is None, process.stderr.read()
    process.terminate()
    _, told = process.communicate(timeout=60)
    assert process.returncode == 1
    assert b"stopped by signal" in told
    assert cluster_nodes() <= before


def cluster_nodes() -> set[Path]:
    """Return the processes that are nodes of a cluster."""
    found = set()
    for path in Path("/proc").glob("[0-9]*/cmdline"):
        with suppress(OSError):
            if "redis-server" in (text := path.read_text(errors="replace")) and "cluster" in text:
                found.add(path)
    return found
