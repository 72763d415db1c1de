"""``python -m benchmarks paper``: every table, small, from the command to files and pictures."""

import json
import math
from pathlib import Path

import pytest
from tests.benchmarks.commands.conftest import run, wrong

from benchmarks.paper.methods import METHODS
from benchmarks.paper.tables import TABLES


@pytest.fixture(scope="module")
def smoke(tmp_path_factory, request):
    """All tables of the smoke budget, made once."""
    folder = tmp_path_factory.mktemp("smoke")
    done = run("paper", "--table", "all", "--budget", "smoke", "--jobs", "1", "--out", str(folder))
    assert done.exit_code == 0, done.output
    return folder, done


def table(folder: Path, name: str):
    return json.loads((folder / f"{name}.json").read_text())


@pytest.mark.slow
def test_every_table_has_its_files(smoke):
    folder, done = smoke
    for name in TABLES:
        assert (folder / f"{name}.md").exists(), name
        made = table(folder, name)["provenance"]
        assert made["budget"] == "smoke"
        assert made["command"].startswith("python -m benchmarks")
        assert {"date", "machine", "commit", "device", "versions"} <= made.keys()
    for picture in ("average", "cardinality", "rate", "figure-transform", "figure-collapse"):
        assert (folder / f"{picture}.png").stat().st_size > 10_000, picture
    assert "paper (ours - paper)" in done.stdout


@pytest.mark.slow
def test_every_row_is_there_with_numbers(smoke):
    folder, _ = smoke
    names = {method.name for method in METHODS.values()}
    for name, n_groups in [("average", 2), ("cardinality", 2), ("rate", 1), ("types", 2)]:
        rows = table(folder, name)["rows"]
        assert {row["name"] for row in rows} == names
        assert len(rows) == n_groups * len(names)
    for row in table(folder, "average")["rows"]:
        for cell in row["cells"]:
            assert 0 <= cell["low"] <= cell["value"] <= cell["high"] <= 1 or cell["value"] is None


@pytest.mark.slow
def test_likeness_knows_itself(smoke):
    folder, _ = smoke
    rows = {row["name"]: row["cells"] for row in table(folder, "likeness")["rows"]}
    assert rows["max |g|"][0]["value"] == pytest.approx(1)
    assert rows["max |delta g|"][1]["value"] == pytest.approx(1)
    assert all(-1 <= cell["value"] <= 1 for cells in rows.values() for cell in cells)


@pytest.mark.slow
def test_the_paper_stands_beside_ours(smoke):
    folder, _ = smoke
    rows = table(folder, "average")["rows"]
    cell = next(row for row in rows if row["name"] == "StatsPool-kNN")["cells"][0]
    assert cell["paper"] == 0.267
    assert cell["difference"] == pytest.approx(cell["value"] - 0.267)


@pytest.mark.slow
def test_collisions_are_the_papers(smoke):
    folder, _ = smoke
    for row in table(folder, "hash-width")["rows"]:
        for cell in row["cells"][2:4]:  # 96 windows only: looser than the paper's sizes allow
            assert abs(cell["difference"]) < 0.02, row["name"]


@pytest.mark.slow
def test_the_diagnostic_is_the_papers(smoke):
    folder, _ = smoke
    scaling, _ = table(folder, "diagnostic")["rows"]
    cosine, _, log_distance, _ = (cell["value"] for cell in scaling["cells"])
    assert abs(cosine - 0.5) < 0.25
    assert log_distance > 0.95


@pytest.mark.slow
def test_dimensions_and_costs(smoke):
    folder, _ = smoke
    for row in table(folder, "scaling")["rows"]:
        cost, dimension = row["cells"][-2:]
        assert dimension["difference"] == 0, row["name"]
        assert abs(cost["difference"]) < 1e-4
        assert row["cells"][2]["value"] > 0, "seconds on the CPU"
        assert row["cells"][4]["value"] is None, "none on a GPU that is not there"


@pytest.mark.slow
def test_tables_are_made_again_from_scores(smoke):
    folder, _ = smoke
    before = table(folder, "rate")
    scores = {path: path.stat().st_mtime_ns for path in folder.rglob("*.parquet")}
    (folder / "rate.json").unlink()
    done = run("paper", "--table", "rate", "--budget", "smoke", "--out", str(folder), "-q")
    assert (done.exit_code, done.stdout) == (0, "")
    assert table(folder, "rate")["rows"] == before["rows"]
    assert scores == {path: path.stat().st_mtime_ns for path in folder.rglob("*.parquet")}


def test_a_run_that_is_out_of_time_says_so(tmp_path: Path):
    command = [
        "paper",
        "--budget",
        "smoke",
        "--methods",
        "lof,largest-jump",
        "--jobs",
        "1",
    ]
    done = run(*command, "--out", str(tmp_path), "--stop-after", "0")
    assert done.exit_code == 4
    assert "4 runs are left" in done.stderr
    assert "Not run yet: LOF(stats), max |delta g|" in done.stdout
    done = run(*command, "--out", str(tmp_path), "--world", "drift")
    assert done.exit_code == 0, done.output
    rows = table(tmp_path, "average-drift")["rows"]
    assert all(cell["paper"] is None for row in rows for cell in row["cells"])
    assert all(math.isfinite(cell["value"]) for row in rows for cell in row["cells"])


def test_a_record_gives_the_same_tables_without_a_run(tmp_path: Path):
    command = ["paper", "--table", "average,rate,types", "--budget", "smoke", "--methods"]
    command += ["lof,largest-jump", "--jobs", "1", "-q"]
    first, record, second = (str(tmp_path / name) for name in ("first", "record", "second"))
    done = run(*command, "--out", first, "--record", record)
    assert done.exit_code == 0, done.output
    assert [path.name for path in Path(record).iterdir()] == ["main.parquet"]
    done = run(*command, "--out", second, "--from-record", record)
    assert done.exit_code == 0, done.output
    for name in ("average", "rate", "types"):
        assert table(Path(second), name)["rows"] == table(Path(first), name)["rows"]
    assert not (Path(second) / "scores").exists()
    done = run(*command, "--out", second, "--from-record", first)
    wrong(done, "holds no recorded scores")


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--table", "averages"], "there are average, cardinality"),
        (["--budget", "free"], "smoke, quick, paper"),
        (["--methods", "gpt"], "isolation-forest, lof"),
        (["--world", "real"], "there are paper, clean-copy"),
    ],
)
def test_what_is_not_known_is_said(words, message, tmp_path):
    done = run("paper", *words, "--out", str(tmp_path))
    wrong(done, message)
    assert not list(tmp_path.iterdir())


def test_no_gpu_is_said(tmp_path):
    import torch

    if torch.cuda.is_available():
        pytest.skip("there is a GPU")
    done = run(
        "paper",
        "--budget",
        "smoke",
        "--methods",
        "gru-ae",
        "--device",
        "cuda",
        "--out",
        str(tmp_path),
    )
    wrong(done, "torch finds no GPU here")
