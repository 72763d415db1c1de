"""``python -m benchmarks alerts``: from the command line to files, on made-up recordings."""

import csv
import json
import os

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from tests.benchmarks.commands.conftest import run, wrong
from tests.benchmarks.real.conftest import registry  # noqa: F401

from benchmarks.alerts import jobs, methods
from benchmarks.alerts.columns import LABELLED, QUIET, truths
from benchmarks.real.datasets import public_sources

BENCH = ("alerts", "--jobs", "1", "--datasets", "smd,lro")
QUICK = (*BENCH, "--methods", "default,plain-z")


@pytest.fixture(autouse=True)
def _forget():
    truths.cache_clear()
    yield
    truths.cache_clear()


def table(folder, name):
    return json.loads((folder / f"{name}.json").read_text())


def files(folder, pattern):
    return {path: path.stat().st_mtime_ns for path in folder.rglob(pattern)}


@pytest.mark.usefixtures("registry")
def test_tables_and_a_picture_are_made(tmp_path):
    out = tmp_path / "out"
    done = run(*QUICK, "--out", str(out))
    assert done.exit_code == 0, done.output
    assert "# Alerts: every method over all datasets" in done.stdout
    assert "## smkc, default" in done.stdout
    assert "## plain z, mean" not in done.stdout, "one method alone on the terminal"
    assert str(out / "alerts.png") in done.stdout
    summary, found = table(out, "summary"), table(out, "datasets")
    assert summary["provenance"]["command"].startswith("python -m benchmarks")
    assert summary["columns"][:2] == ["recall, mean of 3", "begun at it, mean"]
    rows = {(row["group"], row["name"]): row["cells"] for row in found["rows"]}
    assert {name for _, name in rows} == {"lro", "smd", "smd, full churn"}
    cells = {cell["column"]: cell["value"] for cell in rows["plain z, mean", "smd"]}
    # 104 null rows are 5 blocks, so that the tail is wide and 2 of the 4 faults stay below.
    assert (cells["events"], cells["found"], cells["recall"]) == (4, 2, 0.5)
    assert (cells["R1k"], cells["named first"], cells["false alerts"]) == (1.0, 1.0, 0)


@pytest.mark.usefixtures("registry")
def test_a_run_that_is_out_of_time_goes_on_and_nothing_is_done_twice(tmp_path, monkeypatch):
    words = [*QUICK, "--out", str(tmp_path / "out")]
    done = run(*words, "--stop-after", "0")
    assert done.exit_code == 4
    assert "6 runs are left" in done.stderr
    assert run(*words).exit_code == 0
    before = files(tmp_path / "out", "*.parquet")
    assert len(before) == 6
    assert run(*words).exit_code == 0
    assert files(tmp_path / "out", "*.parquet") == before
    measures = files(tmp_path / "out" / "scores", "*.json")
    monkeypatch.setattr(jobs, "MEASURES_VERSION", 1000)
    assert run(*words).exit_code == 0
    assert files(tmp_path / "out", "*.parquet") == before, "measures are taken from files"
    assert files(tmp_path / "out" / "scores", "*.json") != measures


@pytest.mark.usefixtures("registry")
def test_the_default_runs_again_when_its_code_has_changed(tmp_path, monkeypatch):
    words = [*QUICK, "--out", str(tmp_path / "out")]
    assert run(*words).exit_code == 0
    before = files(tmp_path / "out", "*.parquet")
    monkeypatch.setattr(methods, "detector_code", lambda: "changed")
    assert run(*words).exit_code == 0
    after = files(tmp_path / "out", "*.parquet")
    assert {path.stem for path in before if before[path] != after[path]} == {"default"}


def test_a_missing_file_is_said_before_anything_runs(registry, tmp_path):  # noqa: F811
    (registry / "lro" / "one.train.parquet").unlink()
    wrong(run(*QUICK, "--out", str(tmp_path / "out")), "one.train.parquet is missing")
    assert not (tmp_path / "out").exists()


def test_no_data_at_all_is_said_with_public_sources(tmp_path, monkeypatch):
    monkeypatch.delenv("SMKC_DATA", raising=False)
    done = run(*QUICK, "--out", str(tmp_path / "out"))
    wrong(done, "SMKC_DATA is not set")
    assert "dongyoungy/dbsherlock" in done.stderr


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--methods", "gpt"], "there are default, random"),
        (["--datasets", "swat"], "there are asd, cloudmon"),
    ],
)
def test_what_is_not_known_is_said(words, message, tmp_path):
    wrong(run("alerts", *words, "--out", str(tmp_path / "out")), message)


@pytest.mark.skipif(
    not os.environ.get("SMKC_DATA"),
    reason="SMKC_DATA is not set; public sources: " + public_sources(*LABELLED, *QUIET),
)
def test_a_real_dataset_with_a_file_of_many_recordings_runs(tmp_path):
    words = ["--methods", "plain-z", "--datasets", "rcd-sockshop", "--out", str(tmp_path)]
    done = run("alerts", "--jobs", "1", *words)
    assert done.exit_code == 0, done.output
    cells = table(tmp_path, "datasets")["rows"][0]["cells"]
    assert [cell["value"] for cell in cells][:2] == [29, 27]


@pytest.fixture
def recorded(tmp_path, rng):
    """Folder of a recording as ``tools.recorder`` exports it: one variable jumps for 15 rows."""
    folder = tmp_path / "shop-1" / "dataset"
    folder.mkdir(parents=True)
    times = 1_700_000_000 + 2 * np.arange(500)
    values = rng.normal(size=(500, 4))
    values[400:415, 2] += 40
    labels = np.zeros(500, np.int8)
    labels[400:415] = 1
    names = [f'cpu{{pod="app-{n}",service="app"}}' for n in range(4)]
    for part, rows in (("train", slice(0, 300)), ("test", slice(300, None))):
        columns = {name: pa.array(values[rows, n], pa.float32()) for n, name in enumerate(names)}
        content = {"time": times[rows], **columns, "label": labels[rows]}
        pq.write_table(pa.table(content), folder / f"shop.{part}.parquet")
    with (folder / "events.csv").open("w") as file:
        writer = csv.writer(file)
        writer.writerow(["series", "part", "start", "end", "variables", "kind", "service"])
        writer.writerow(["shop", "test", times[400], times[415], names[2], "memory_leak", "app"])
    return folder.parent


def test_a_recording_is_scored_from_its_folder(recorded, tmp_path):
    out = tmp_path / "out"
    words = ("alerts", "--jobs", "1", "--methods", "plain-z", "--data", str(recorded))
    done = run(*words, "--out", str(out))
    assert done.exit_code == 0, done.output
    (row,) = table(out, "datasets")["rows"]
    cells = {cell["column"]: cell["value"] for cell in row["cells"]}
    assert row["name"] == "shop-1"
    assert (cells["events"], cells["found"], cells["named first"]) == (1, 1, 1.0)
    assert (out / "scores" / "shop-1" / "plain-z.parquet").exists()
    assert not (out / "summary.json").exists()


def test_a_folder_without_a_recording_is_told_with_the_remedy(recorded, tmp_path):
    words = ("alerts", "--jobs", "1", "--methods", "plain-z", "--out", str(tmp_path / "out"))
    wrong(run(*words, "--data", str(tmp_path)), "holds no *.test.parquet")
    twice = f"{recorded},{recorded}"
    wrong(run(*words, "--data", twice), "give folders of different names")
    (recorded / "dataset" / "events.csv").unlink()
    wrong(run(*words, "--data", str(recorded)), "events.csv is missing")
