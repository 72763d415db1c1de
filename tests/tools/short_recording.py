"""A recording of five minutes, end to end: recorded, exported, checked and drawn.

Each system has a test file of its own, so that several workers record at the same time.
"""

import subprocess
import sys
from pathlib import Path

import pytest
from tools.recorder.check import moved
from tools.recorder.dataset import read_dataset
from tools.recorder.isolation import can_isolate
from tools.recorder.record import missing_packages
from tools.recorder.system import System
from tools.recorder.systems import SYSTEMS

CHECKOUT = Path(__file__).resolve().parents[2]

LENGTHS = (
    "--rest 1 --warm 20 --reference 100 --faults 160 --fault-every 53 --routine-every 20 "
    "--shortest 20 --longest 22 --kinds memory_leak,cpu_neighbour,bad_rollout"
)


def skip_unless_recordable(system: type[System]) -> None:
    if not can_isolate():
        pytest.skip("recording needs root and namespaces")
    if missing := missing_packages(system):
        pytest.skip(f"apt install {' '.join(missing)}")


def recorder(*words: object) -> None:
    command = [sys.executable, "-m", "tools.recorder", *map(str, words)]
    done = subprocess.run(command, cwd=CHECKOUT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr


def check_short_recording(name: str, folder: Path) -> None:
    """Record a system with three faults, and check all that is made of it."""
    skip_unless_recordable(SYSTEMS[name])
    recorder("record", name, folder, *LENGTHS.split())
    recorder("export", name, folder)
    recorder("check", name, folder)
    data = read_dataset(folder / "dataset", name)
    assert len(data.times) == pytest.approx(130, abs=2)
    assert sorted(event.kind for event in data.events) == [
        "bad_rollout",
        "cpu_neighbour",
        "memory_leak",
    ]
    for event in data.events:
        assert max(moved(data, event).values()) >= 4, event
    recorder("picture", name, folder)
    assert (folder / "picture.png").stat().st_size > 10_000
    assert "CC0" in (folder / "dataset" / "README.md").read_text()
