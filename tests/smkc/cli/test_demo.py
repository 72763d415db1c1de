import json
from pathlib import Path

import pytest
from tests.smkc.cli.conftest import run


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("demo")


@pytest.fixture(scope="module")
def answer(folder: Path, process) -> dict:
    done = process("demo", "--out", str(folder), "--json")
    assert done.returncode == 0, done.stderr
    assert done.stderr == ""
    return json.loads(done.stdout)


def test_most_incidents_are_found_and_counted_correctly(answer: dict) -> None:
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


def test_the_page_is_there(answer: dict, folder: Path) -> None:
    page = (folder / "report.html").read_text("utf-8")
    assert "Found against planted" in page
    assert f"{answer['found']} of 4 incidents found" in page


def test_telemetry_is_written_to_the_folder_of_the_report(answer: dict, folder: Path) -> None:
    names = {"reference.parquet", "reference.csv", "live.parquet", "live.csv", "labels.csv"}
    assert {Path(path).name for path in answer["data"]} == names
    assert all((folder / name).stat().st_size > 1000 for name in names)


def test_summary_on_the_terminal(answer: dict, tmp_path: Path) -> None:
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


def test_invalid_seed() -> None:
    assert run("demo", "--seed", "-1").exit_code == 2


@pytest.mark.parametrize(
    ("name", "some"),
    [
        ("hostwatch", {"cpu hog", "memory leak", "silent"}),
        ("shop", {"retry storm", "lock held"}),
        ("cache", {"client flood", "hot key"}),
        ("pipeline", {"traffic burst", "disk full"}),
    ],
)
def test_the_projects_own_recordings_are_replayed(
    tmp_path: Path, name: str, some: set[str]
) -> None:
    done = run("demo", "--replay", name, "--out", str(tmp_path), "--json")
    assert done.exit_code == 0, done.output
    answer = json.loads(done.stdout)
    kinds = [incident["kind"] for incident in answer["incidents"]]
    assert some <= set(kinds)
    assert answer["found"] == sum(incident["found"] for incident in answer["incidents"])
    assert 0 < answer["found"] <= len(kinds)
    named_rightly = 0
    for incident in answer["incidents"]:
        met = [
            alert
            for alert in answer["alerts"]
            if alert["start"] <= incident["end"] and incident["start"] <= alert["end"]
        ]
        first = {alert["causes"][0]["variable"] for alert in met if alert["causes"]}
        assert (incident["named"] in first) if first else (incident["named"] is None)
        named_rightly += incident["named"] in incident["planted_in"]
    # A variable drawn at random would be a right one in fewer than 1 of 40 faults.
    assert named_rightly >= answer["found"] / 5
    page = (tmp_path / "report.html").read_text("utf-8")
    assert "A real system" in page
    assert f"{answer['found']} of {len(kinds)} incidents found" in page


def test_help_and_documentation_mention_every_recording() -> None:
    from smkc.fleet.replay import RECORDINGS

    told = " ".join(run("demo", "--help").stdout.split())
    page = (Path(__file__).parents[3] / "docs/start.md").read_text("ascii")
    for name in RECORDINGS:
        assert f"{name} is " in told
        assert f"--replay {name}`" in page or f"`{name}`" in page


def test_missing_recording_is_reported_with_its_place(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from smkc.fleet import replay

    monkeypatch.delenv("SMKC_DATA", raising=False)
    monkeypatch.setattr(replay, "PROJECT_DATA", tmp_path / "nowhere")
    done = run("demo", "--replay", "hostwatch", "--out", str(tmp_path))
    assert done.exit_code == 2
    words = " ".join(done.stderr.split())
    assert "comes with the project's source" in words
    assert "data/hostwatch" in words


def test_unknown_recording_is_reported_with_the_choices(tmp_path: Path) -> None:
    done = run("demo", "--replay", "smd", "--out", str(tmp_path))
    assert done.exit_code == 2
    assert "'smd' cannot be replayed; choose hostwatch, shop, cache or pipeline" in " ".join(
        done.stderr.split()
    )
