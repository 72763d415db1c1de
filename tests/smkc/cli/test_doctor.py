import json
from pathlib import Path

import pytest
from tests.smkc.cli.conftest import run, write_wide, wrong

KNN = ["--detector", "knn", "--window", "16", "--places", "3"]


@pytest.fixture(scope="module")
def file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_wide(tmp_path_factory.mktemp("doctor") / "metrics.csv", 1000, seed=4)


def test_table_on_the_terminal_and_page(file: Path, tmp_path: Path) -> None:
    page = tmp_path / "doctor.html"
    done = run("doctor", str(file), *KNN, "--out", str(page))
    assert done.exit_code == 0, done.output
    for part in ("large planted anomalies would be caught", "level shift", "rename", "Page:"):
        assert part in done.stdout
    assert "metrics.csv" in page.read_text("utf-8")


def test_json_for_programs(file: Path) -> None:
    done = run("doctor", str(file), *KNN, "--json", "--seed", "2")
    assert done.exit_code == 0, done.output
    answer = json.loads(done.stdout)
    assert answer["verdict"] in ("yes", "partly")
    assert answer["rows"] == 1000
    assert answer["seed"] == 2
    assert answer["detector"]["detector"] == "knn"
    assert {one["kind"] for one in answer["false_alarms"]} >= {"untouched", "rename"}
    again = run("doctor", str(file), *KNN, "--json", "--seed", "2")
    assert again.stdout == done.stdout


def test_verdict_no_has_its_own_exit_code_and_a_page(tmp_path: Path) -> None:
    short = write_wide(tmp_path / "short.csv", 60, seed=1)
    page = tmp_path / "no.html"
    done = run("doctor", str(short), *KNN, "--out", str(page))
    assert done.exit_code == 5
    assert "No: too little data" in done.stdout
    assert "Too little data" in page.read_text("utf-8")
    done = run("doctor", str(short), *KNN, "--json")
    assert done.exit_code == 5
    assert json.loads(done.stdout)["verdict"] == "no"


def test_quiet_is_one_line(file: Path) -> None:
    done = run("doctor", str(file), *KNN, "--quiet")
    assert done.exit_code == 0
    assert len(done.stdout.strip().splitlines()) == 1


def test_wrong_input_is_reported(file: Path, tmp_path: Path) -> None:
    wrong(run("doctor", str(tmp_path / "none.csv")), "none.csv")
    wrong(run("doctor", str(file), *KNN, "--share", "1.5"), "share=1.5", "between 0 and 1")
    wrong(run("doctor", str(file), *KNN, "--set", "windw=3"), "windw", "window")
    (tmp_path / "file").write_text("")
    place = str(tmp_path / "file" / "page.html")
    wrong(run("doctor", str(file), *KNN, "--out", place), "choose another place")
