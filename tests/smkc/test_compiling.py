"""The first call compiles and says so; ``smkc warmup`` leaves nothing to compile."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from smkc.compiling import MESSAGE

FIT = """
import numpy as np, smkc
data = {"cpu": np.random.default_rng(0).normal(size=300)}
smkc.Detector(false_alarm_rate=0.1).fit(data)
"""
COMMAND = "from smkc.cli import main; main()"


def run(code: str, *words: str, cache: Path, folder: Path, progress: str = "1"):
    env = {**os.environ, "NUMBA_CACHE_DIR": str(cache), "SMKC_PROGRESS": progress}
    done = subprocess.run(
        [sys.executable, "-c", code, *words],
        capture_output=True, text=True, timeout=300, env=env, cwd=folder,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    return done


@pytest.mark.slow
def test_compiling_is_announced_once_and_only_while_there_is_something_to_compile(tmp_path):
    first = run(FIT, cache=tmp_path / "cache", folder=tmp_path)
    assert first.stderr.count(MESSAGE) == 1
    assert MESSAGE not in run(FIT, cache=tmp_path / "cache", folder=tmp_path).stderr


@pytest.mark.slow
def test_compiling_is_not_announced_off_a_terminal(tmp_path):
    done = run(FIT, cache=tmp_path / "cache", folder=tmp_path, progress="0")
    assert (done.stdout, done.stderr) == ("", "")


@pytest.mark.slow
def test_after_warmup_no_command_compiles(tmp_path):
    def command(*words: str):
        return run(COMMAND, *words, cache=tmp_path / "cache", folder=tmp_path)

    assert json.loads(command("warmup", "--json").stdout)["compiled"] > 10
    assert "Nothing was left to compile" in command("warmup").stdout
    for words in (
        ("demo", "--out", "demo"),
        ("detect", "demo/live.csv"),
        ("fit", "demo/reference.parquet", "--out", "shop.smkc"),
        ("explain", "demo/live.parquet", "--model", "shop.smkc", "--at", "2026-03-04T05:10:00"),
    ):
        assert MESSAGE not in command(*words).stderr, words
