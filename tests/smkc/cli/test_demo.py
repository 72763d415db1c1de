import json
import time
from pathlib import Path

import pytest
from tests.smkc.cli.conftest import run


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("demo")


@pytest.fixture(scope="module")
def answer(folder: Path, process) -> dict:
    started = time.monotonic()
    done = process("demo", "--out", str(folder), "--png", "--json")
    assert done.returncode == 0, done.stderr
    assert done.stderr == ""
    assert time.monotonic() - started < 60
    return json.loads(done.stdout)


def test_most_of_what_was_planted_is_found_and_the_count_is_honest(answer: dict) -> None:
    assert len(answer["incidents"]) == 4
    assert answer["found"] == sum(incident["found"] for incident in answer["incidents"]) >= 3
    assert answer["false_alarms"] <= 2
    met = {
        alert["start"]
        for alert in answer["alerts"]
        for incident in answer["incidents"]
        if alert["start"] <= incident["end"] and incident["start"] <= alert["end"]
    }
    assert answer["false_alarms"] == len(answer["alerts"]) - len(met)


def test_the_page_and_the_pictures_are_there(answer: dict, folder: Path) -> None:
    page = (folder / "report.html").read_text("utf-8")
    assert "Found against planted" in page
    assert f"{answer['found']} of 4 incidents found" in page
    names = {Path(path).name for path in answer["pictures"]}
    assert {"score.png", "presence.png", "alert-1-traces.png", "alert-1-evidences.png"} <= names
    assert all(Path(path).stat().st_size > 5000 for path in answer["pictures"])


def test_the_summary_for_people(answer: dict, tmp_path: Path) -> None:
    done = run("demo", "--out", str(tmp_path))
    assert done.exit_code == 0, done.output
    words = " ".join(done.stdout.split())
    assert f"Found {answer['found']} of 4 incidents" in words
    assert "routine changes left alone" in words
    assert "report.html" in words
    assert (tmp_path / "report.html").exists()


def test_a_place_that_cannot_be_written(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    done = run("demo", "--out", str(tmp_path / "file"), "--quiet")
    assert done.exit_code == 2
    assert "check the path" in " ".join(done.stderr.split())


def test_a_seed_that_is_no_seed() -> None:
    assert run("demo", "--seed", "-1").exit_code == 2
