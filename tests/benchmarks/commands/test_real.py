"""``python -m benchmarks real``: from the command to files, on made-up and on real data."""

import json
import os

import pytest
from tests.benchmarks.commands.conftest import run, wrong
from tests.benchmarks.real.conftest import registry  # noqa: F401

from benchmarks.real.datasets import public_sources

pytestmark = pytest.mark.filterwarnings("ignore::smkc.errors.CalibrationWarning")

BENCH = ("real", "--jobs", "1")
QUICK = (*BENCH, "--methods", "plain-z,windowed-knn")


def table(folder, name):
    return json.loads((folder / f"{name}.json").read_text())


@pytest.mark.usefixtures("registry")
def test_tables_are_shown_and_kept(tmp_path):
    out = tmp_path / "out"
    done = run(*QUICK, "--seeds", "1", "--out", str(out))
    assert done.exit_code == 0, done.output
    assert "# Real data: every method on every dataset" in done.stdout
    assert "AUROC" not in done.stdout, "the main table's first part alone"
    assert str(out / "main.png") in done.stdout
    made = table(out, "main")["provenance"]
    assert made["budget"] == "full"
    assert made["command"].startswith("python -m benchmarks")


@pytest.mark.usefixtures("registry")
def test_conditions_can_be_chosen(tmp_path):
    words = ["--datasets", "smd", "--churn", "none,full", "--drift", "still", "--mode", "static"]
    done = run(*QUICK, *words, "--seeds", "2", "--out", str(tmp_path / "out"), "-q")
    assert (done.exit_code, done.stdout) == (0, "")
    kept = sorted(path.parts[-3] for path in (tmp_path / "out").rglob("plain-z.parquet"))
    assert kept == [
        "churn-full-still-static-seed0",
        "churn-full-still-static-seed1",
        "churn-none-still-static-seed0",
    ]
    assert table(tmp_path / "out", "main")["columns"] == ["smd", "smd, full churn", "mean of 2"]
    assert not (tmp_path / "out" / "drift.md").exists()


@pytest.mark.usefixtures("registry")
def test_all_labelled_datasets_have_one_word(tmp_path):
    words = ["--datasets", "labelled", "--churn", "none", "--drift", "still", "--mode", "static"]
    done = run(*QUICK, *words, "--out", str(tmp_path / "out"), "-q")
    assert (done.exit_code, done.stdout) == (0, "")
    assert table(tmp_path / "out", "main")["columns"] == ["smd", "mean of 1"]


@pytest.mark.usefixtures("registry")
def test_a_run_that_is_out_of_time_says_so_and_goes_on(tmp_path):
    words = ["--drift", "still", "--mode", "static", "--seeds", "1", "--out", str(tmp_path / "out")]
    done = run(*QUICK, *words, "--stop-after", "0")
    assert done.exit_code == 4
    assert "8 runs are left" in done.stderr
    done = run(*QUICK, *words)
    assert done.exit_code == 0, done.output
    before = {path: path.stat().st_mtime_ns for path in tmp_path.rglob("*.parquet")}
    assert len([path for path in before if "out" in path.parts]) == 8
    assert run(*QUICK, *words).exit_code == 0
    assert before == {path: path.stat().st_mtime_ns for path in tmp_path.rglob("*.parquet")}


def test_a_missing_dataset_is_said_and_loses_nothing(registry, tmp_path):  # noqa: F811
    words = ["--drift", "still", "--mode", "static", "--seeds", "1", "--out", str(tmp_path / "out")]
    assert run(*QUICK, *words).exit_code == 0
    before = {path: path.read_bytes() for path in (tmp_path / "out").rglob("*") if path.is_file()}
    (registry / "lro" / "one.train.parquet").unlink()
    wrong(run(*QUICK, *words), "one.train.parquet is missing")
    after = {path: path.read_bytes() for path in (tmp_path / "out").rglob("*") if path.is_file()}
    assert before == after
    done = run(*QUICK, *words, "--datasets", "smd")
    assert done.exit_code == 0, done.output


def test_a_changed_file_is_said_before_anything_runs(registry, tmp_path):  # noqa: F811
    file = registry / "smd" / "two.test.parquet"
    file.write_bytes(file.read_bytes()[:-1] + b"x")
    wrong(run(*QUICK, "--out", str(tmp_path / "out")), "SHA-256")
    assert not (tmp_path / "out").exists()


def test_no_data_at_all_is_said(tmp_path, monkeypatch):
    monkeypatch.delenv("SMKC_DATA", raising=False)
    wrong(run(*QUICK, "--out", str(tmp_path / "out")), "SMKC_DATA is not set")


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--budget", "free"], "smoke, full, thorough"),
        (["--methods", "gpt"], "windowed-knn"),
        (["--datasets", "swat"], "there are smd, asd, skab"),
        (["--churn", "wild"], "there are none, mild, full"),
        (["--drift", "maybe"], "there are still, drift"),
        (["--mode", "live"], "there are static, prequential"),
    ],
)
def test_what_is_not_known_is_said(words, message, tmp_path):
    wrong(run(*BENCH, *words, "--out", str(tmp_path / "out")), message)
    assert not (tmp_path / "out").exists()


@pytest.mark.slow
@pytest.mark.skipif(
    not os.environ.get("SMKC_DATA"),
    reason="SMKC_DATA is not set; public sources: " + public_sources(),
)
def test_the_real_datasets_run_cut_short(tmp_path):
    keys = "random,plain-z,windowed-knn,smkc-knn"
    done = run(*BENCH, "--budget", "smoke", "--methods", keys, "--out", str(tmp_path), "-q")
    assert done.exit_code == 0, done.output
    main = table(tmp_path, "main")
    assert len(main["columns"]) == 13
    assert main["columns"][-2:] == ["mean of 11", "hostwatch"]
    assert {row["name"] for row in main["rows"]} >= {"windowed kNN", "smkc kNN"}
    for row in main["rows"]:
        if not row["group"].startswith("steps to detection"):
            assert all(0 <= cell["value"] <= 1 for cell in row["cells"]), row
    assert {row["group"] for row in table(tmp_path, "causes")["rows"]} == {
        "smd, churn none",
        "smd, churn full",
    }
