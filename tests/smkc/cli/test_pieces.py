import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from tests.smkc.cli.conftest import QUICK, run, wrong

from smkc.cli import pieces


@pytest.fixture(scope="module")
def large(tmp_path_factory):
    """Two hosts with a fault in one of them, long and sorted by time, and the days before."""
    folder = tmp_path_factory.mktemp("large")
    for name, n_rows, seed in (("reference", 800, 1), ("live", 600, 2)):
        rng = np.random.default_rng(seed)
        values = rng.normal(size=(n_rows, 2, 3)) + 10
        if name == "live":
            values[300:320, 1, 2] += 40
        first = np.datetime64("2026-01-05", "ns") + np.timedelta64(800 * 15, "s") * (seed - 1)
        times = first + np.arange(n_rows) * np.timedelta64(15, "s")
        table = pa.table(
            {
                "time": np.repeat(times, 6),
                "host": np.tile(np.repeat(["a", "b"], 3), n_rows),
                "variable": np.tile(["cpu", "mem", "net"], 2 * n_rows),
                "value": values.ravel(),
            }
        )
        pq.write_table(table, folder / f"{name}.parquet", row_group_size=700)
    return folder


def arguments(folder: Path, out: Path, *more: str) -> list[str]:
    live, reference = str(folder / "live.parquet"), str(folder / "reference.parquet")
    return ["detect", live, "--reference", reference, "--entity", "host", "--out", str(out), *more]


@pytest.mark.parametrize("kind", ["evidence", "knn"])
def test_pieces_give_the_file_that_memory_gives(large, tmp_path, kind):
    whole, out = tmp_path / "whole.parquet", tmp_path / "out.parquet"
    chosen = ["--set", f"detector={kind}", *QUICK]
    assert run(*arguments(large, whole, "--no-stream", *chosen)).exit_code == 0
    done = run(*arguments(large, out, "--stream", "--fail-on-alert", *chosen))
    assert done.exit_code == 3, done.output
    assert pq.read_table(out).equals(pq.read_table(whole))
    text = " ".join(done.stdout.split())
    assert "Judged 1,200 rows of 2 entities, 3,600 observations, in pieces" in text
    assert "smkc explain" in text


def test_json_names_the_entity_of_each_alert(large, tmp_path):
    done = run(*arguments(large, tmp_path / "out.parquet", "--stream", "--json", *QUICK))
    told = json.loads(done.stdout)
    assert (told["rows"], told["observations"], told["entities"]) == (1200, 3600, 2)
    assert told["n_alerts"] == len(told["alerts"])
    fault = "2026-01-05T04:36:00Z"
    assert any(a["entity"] == "b" and a["start"] <= fault <= a["end"] for a in told["alerts"])


def test_large_files_are_read_in_pieces_by_default(large, tmp_path, monkeypatch):
    out = tmp_path / "out.parquet"
    assert "in pieces" not in run(*arguments(large, out)).stdout
    monkeypatch.setattr(pieces, "LARGE", 1000)
    assert "in pieces" in run(*arguments(large, out)).stdout
    assert "in pieces" not in run(*arguments(large, tmp_path / "out.csv")).stdout
    assert "in pieces" not in run(*arguments(large, out, "--no-stream")).stdout


def test_a_reference_larger_than_memory_is_refused_with_the_remedy(large, tmp_path, monkeypatch):
    monkeypatch.setattr(pieces, "LARGE", 1000)
    live, reference = str(large / "live.parquet"), str(large / "reference.parquet")
    told = ["detect", live, "--reference", reference, "--out", str(tmp_path / "out.parquet")]
    wrong(run(*told), "more than 1,000 observations", "a stretch of normal rows")
    wrong(run(*told, "--set", "detector=knn"), "more than 1,000 observations")


def test_options_that_exclude_reading_in_pieces(large, files, tmp_path):
    out = tmp_path / "out.parquet"
    live = str(large / "live.parquet")
    wrong(run("detect", live, "--stream", "--out", str(out)), "--model or --reference")
    wrong(run(*arguments(large, tmp_path / "out.csv", "--stream")), "--out NAME.parquet")
    page = ["--report", str(tmp_path / "page.html")]
    wrong(run(*arguments(large, out, "--stream", *page)), "--report", "leave out one")
    wrong(run(*arguments(large, out, "--workers", "2")), "--engine ray")
    wrong(run(*arguments(large, out, "--held", "-1")), "held=-1")
    csv = [str(files.live), "--model", str(files.model), "--stream", "--out", str(out)]
    wrong(run("detect", *csv), "is CSV", "Parquet")


def test_killed_and_resumed_it_writes_the_same_bytes(large, tmp_path):
    whole, out = tmp_path / "whole.parquet", tmp_path / "out.parquet"
    more = ["--stream", "--held", "10", *QUICK]
    assert run(*arguments(large, whole, *more)).exit_code == 0
    command = [sys.executable, "-c", SLOW, *arguments(large, out, *more)]
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL)
    progress = Path(f"{out}.parts") / "block-0000" / "progress.json"
    while process.poll() is None and not progress.exists():
        time.sleep(0.01)
    os.kill(process.pid, signal.SIGKILL)
    assert process.wait() == -signal.SIGKILL
    assert 0 < json.loads(progress.read_text())["rows"] < 1200
    wrong(run(*arguments(large, out, *more)), "holds an unfinished run", "--resume")
    done = run(*arguments(large, out, "--resume", *more))
    assert done.exit_code == 0, done.output
    assert out.read_bytes() == whole.read_bytes()


# The command, writing its state after every piece and then waiting, so that it can be killed.
SLOW = """
import time
from smkc.cli import main
from smkc.scale import block
block.ScaleSettings.__init__.__kwdefaults__.update(block=200, seconds=0.0)
write = block.BlockFolder.write
def slow(self, *arguments):
    done = write(self, *arguments)
    time.sleep(0.2)
    return done
block.BlockFolder.write = slow
main()
"""


@pytest.mark.ray
@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::ResourceWarning")
@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
def test_the_engine_ray_writes_the_same_file_and_is_quiet(large, tmp_path, process):
    pytest.importorskip("ray", reason='Ray is not installed; run: pip install ".[ray]"')
    here, there = tmp_path / "here.parquet", tmp_path / "there.parquet"
    assert run(*arguments(large, here, "--stream", *QUICK)).exit_code == 0
    more = ["--engine", "ray", "--workers", "2", "--json", *QUICK]
    done = process(*arguments(large, there, *more))
    assert done.returncode == 0, done.stderr
    assert done.stderr == ""
    assert json.loads(done.stdout)["rows"] == 1200
    assert there.read_bytes() == here.read_bytes()
