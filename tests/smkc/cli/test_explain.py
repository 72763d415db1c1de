import json
from pathlib import Path

import numpy as np
from tests.smkc.cli.conftest import START, run, write_wide, wrong

AT = str(START + np.timedelta64(305 * 15, "s"))


def test_the_guilty_variable_comes_first(files, process) -> None:
    done = process("explain", str(files.live), "--model", str(files.model), "--at", AT, "--json")
    assert done.returncode == 0, done.stderr
    answer = json.loads(done.stdout)
    assert answer["at"] == AT + "Z"
    assert answer["until"] is None
    assert answer["causes"][0]["variable"] == "disk"
    assert done.stderr == ""


def test_table_on_the_terminal_for_a_time_span(files) -> None:
    done = run(
        "explain",
        str(files.live),
        "--model",
        str(files.model),
        "--at",
        str(START),
        "--until",
        AT,
        "--top",
        "1",
    )
    assert done.exit_code == 0, done.output
    assert "disk" in done.stdout
    assert "cpu" not in done.stdout


def test_invalid_times(files) -> None:
    arguments = ["explain", str(files.live), "--model", str(files.model), "--at"]
    wrong(run(*arguments, "yesterday"), "--at", "ISO 8601")
    wrong(run(*arguments, "2031-01-01"), "outside the recording", "2026-01-05T00:00:00Z")
    wrong(run(*arguments, AT, "--until", "2031-01-01"), "--until")


def test_input_that_cannot_be_used(files, tmp_path: Path) -> None:
    model, at = str(files.model), ["--at", AT]
    empty, text, bad = tmp_path / "empty.csv", tmp_path / "text.csv", tmp_path / "bad.smkc"
    empty.write_text("")
    text.write_text("time,cpu\n2026-01-01,high\n")
    bad.write_bytes(b"\x00" * 64)
    short = write_wide(tmp_path / "short.csv", 10, seed=4)
    wrong(run("explain", str(tmp_path / "no.csv"), "--model", model, *at), "no.csv")
    wrong(run("explain", str(empty), "--model", model, *at), "empty")
    wrong(run("explain", str(text), "--model", model, *at), "high")
    late = ["--at", "2031-01-01"]
    wrong(run("explain", str(short), "--model", model, *late), "outside the recording")
    wrong(run("explain", str(files.live), "--model", str(bad), *at), "bad.smkc")
    wrong(run("explain", str(files.live), "--model", model, *at, "--read", "x=1"), "'x'")
