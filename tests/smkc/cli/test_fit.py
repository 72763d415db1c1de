import json
from pathlib import Path

from tests.smkc.cli.conftest import QUICK, run, write_wide, wrong

from smkc.loading import load

KNN = [*QUICK, "--detector", "knn"]


def test_fit_writes_a_model_that_loads(files, tmp_path: Path, process) -> None:
    out = tmp_path / "m.smkc"
    done = process(
        "fit", str(files.reference), "--out", str(out), *KNN, "--set", "neighbours=7", "--json"
    )
    assert done.returncode == 0, done.stderr
    answer = json.loads(done.stdout)
    assert answer["model"] == str(out)
    assert answer["rows"] == 1500
    assert done.stderr == ""
    detector = load(out)
    assert (detector.window, detector.neighbours) == (16, 7)
    assert detector.threshold_ == answer["threshold"]


def test_none_switches_a_setting_off_and_families_come_from_the_file(files, tmp_path: Path) -> None:
    out, config = tmp_path / "m.smkc", tmp_path / "c.toml"
    config.write_text('[identity]\ndrop = ["pod"]\n')
    done = run(
        "fit",
        str(files.reference),
        "--out",
        str(out),
        *KNN,
        "--config",
        str(config),
        "--set",
        "scaling=none",
    )
    assert done.exit_code == 0, done.output
    assert "Learned from 1,500 rows of 4 variables" in " ".join(done.stdout.split())
    detector = load(out)
    assert detector.scaling is None
    assert detector.identity is not None
    assert detector.identity.drop == ("pod",)


def test_input_that_cannot_be_used(files, tmp_path: Path) -> None:
    out = str(tmp_path / "m.smkc")
    empty, text = tmp_path / "empty.csv", tmp_path / "text.csv"
    empty.write_text("")
    text.write_text("time,cpu\n2026-01-01,high\n")
    short = write_wide(tmp_path / "short.csv", 40, seed=4)
    wrong(run("fit", str(tmp_path / "no.csv"), "--out", out), "no.csv")
    wrong(run("fit", str(empty), "--out", out), "empty")
    wrong(run("fit", str(text), "--out", out), "high")
    wrong(run("fit", str(short), "--out", out, "--detector", "knn"), "64")
    wrong(run("fit", str(files.reference), "--out", out, "--set", "nope=1"), "'nope'")
    wrong(run("fit", str(files.reference)), "--out")
    assert not Path(out).exists()


def test_a_place_that_cannot_be_written(files, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    wrong(run("fit", str(files.reference), "--out", str(tmp_path / "file" / "m"), *QUICK), "file")
