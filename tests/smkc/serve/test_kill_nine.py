"""Killed at random moments and started again: the same verdicts and messages, bit for bit."""

import os
import subprocess
import sys

import pytest
from tests.kill_nine import ACCEPT, SWAP, told


def followed(folder, seed, n_kills, n_rows):
    """Follow in a process that kills its children; return what was said, and how many it killed."""
    done = subprocess.run(
        [sys.executable, "-m", "tests.kill_nine", folder, str(seed), str(n_kills), str(n_rows)],
        capture_output=True,
        text=True,
        timeout=3_000,
        env=os.environ | {"SMKC_THREADS": "1"},
    )
    assert done.returncode == 0, done.stderr
    return told(folder), int(done.stdout)


@pytest.mark.parametrize(
    ("n_kills", "n_rows"),
    [
        pytest.param(5, 400, id="5 times"),
        pytest.param(50, 800, id="50 times", marks=pytest.mark.slow),
    ],
)
def test_kills_change_nothing(tmp_path, n_kills, n_rows):
    unbroken, _ = followed(tmp_path / "unbroken", 0, 0, n_rows)
    killed, n_killed = followed(tmp_path / "killed", 1, n_kills, n_rows)
    assert n_killed == n_kills
    assert killed == unbroken
    assert unbroken["columns"]["number"] == list(range(240, n_rows))
    assert len(set(unbroken["keys"])) == len(unbroken["keys"]) > 0
    kinds = [(at, kind) for at, kind, _ in unbroken["events"]]
    assert kinds[1][1] == "settle"
    assert kinds[2:4] == [(ACCEPT, "accept"), (SWAP, "fit")]
    assert unbroken["damaged"] == []
    in_incidents = [one.id for _, alerts in unbroken["incidents"] for one in alerts]
    assert sorted(in_incidents) == sorted(one.id for one in unbroken["alerts"])
