import subprocess
import sys

import pytest

from smkc import progress

LONG = """
import time
from smkc import progress
progress.APPEARS_AFTER_SECONDS = 0.05
with progress.task("reading", total=3) as advance:
    for _ in range(3):
        time.sleep(0.04)
        advance(1)
"""


def shown(code: str, monkeypatch, asked: str | None) -> str:
    if asked is None:
        monkeypatch.delenv("SMKC_PROGRESS", raising=False)
    else:
        monkeypatch.setenv("SMKC_PROGRESS", asked)
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=60
    )
    assert done.stdout == ""
    return done.stderr


def test_a_long_task_shows_a_bar_when_asked(monkeypatch):
    assert "reading" in shown(LONG, monkeypatch, "1")


@pytest.mark.parametrize("asked", ["0", None])
def test_no_bar_when_forbidden_or_not_on_a_terminal(monkeypatch, asked):
    assert shown(LONG, monkeypatch, asked) == ""


def test_short_tasks_show_nothing(monkeypatch):
    code = LONG.replace("= 0.05", "= 30")
    assert shown(code, monkeypatch, "1") == ""


def test_quiet_wins(monkeypatch):
    lines = LONG.strip().splitlines()
    inner = "\n".join("    " + line for line in lines[3:])
    code = "\n".join([*lines[:3], "with progress.quiet():", inner])
    assert shown(code, monkeypatch, "1") == ""


def test_the_bar_is_taken_away_when_the_work_fails(monkeypatch, capsys):
    monkeypatch.setenv("SMKC_PROGRESS", "1")
    monkeypatch.setattr(progress, "APPEARS_AFTER_SECONDS", 0.0)

    def failing():
        with progress.task("reading", total=3) as advance:
            advance(1)
            raise RuntimeError("in the middle")

    with pytest.raises(RuntimeError, match="in the middle"):
        failing()
    assert "reading" in capsys.readouterr().err


def test_quiet_ends_with_its_block(monkeypatch):
    monkeypatch.setenv("SMKC_PROGRESS", "1")
    with progress.quiet():
        assert not progress._is_wanted()
    assert progress._is_wanted()
