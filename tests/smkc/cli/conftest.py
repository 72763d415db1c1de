"""Small files to run the commands on, and two ways of running them."""

import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pytest
from typer.testing import CliRunner, Result

from smkc.cli.app import app

START = np.datetime64("2026-01-05T00:00:00")
QUICK = ["--window", "16", "--false-alarm-rate", "0.01"]


@dataclass(frozen=True)
class Files:
    """A reference, a file with a fault from row 300 to 315, a model, and a folder for output."""

    reference: Path
    live: Path
    model: Path
    folder: Path


def write_wide(path: Path, rows: int, seed: int, fault: slice | None = None) -> Path:
    rng = np.random.default_rng(seed)
    values = rng.normal(size=(rows, 4)) + 10
    if fault is not None:
        values[fault, 2] += 30 * rng.normal(size=len(values[fault]))
    times = START + np.arange(rows) * np.timedelta64(15, "s")
    lines = ["time,cpu,mem,disk,net"]
    lines += [
        f"{t}Z," + ",".join(f"{v:.4f}" for v in row) for t, row in zip(times, values, strict=True)
    ]
    path.write_text("\n".join(lines) + "\n")
    return path


@pytest.fixture(scope="session")
def files(tmp_path_factory: pytest.TempPathFactory) -> Files:
    folder = tmp_path_factory.mktemp("files")
    reference = write_wide(folder / "reference.csv", 1500, seed=1)
    live = write_wide(folder / "live.csv", 500, seed=2, fault=slice(300, 315))
    model = folder / "shop.smkc"
    done = run("fit", str(reference), "--out", str(model), *QUICK)
    assert done.exit_code == 0, done.output
    return Files(reference, live, model, folder)


def run(*arguments: str) -> Result:
    """Run a command in this process."""
    return CliRunner().invoke(app, list(arguments))


@pytest.fixture(scope="session")
def process() -> Callable[..., "subprocess.CompletedProcess[str]"]:
    def start(*arguments: str) -> "subprocess.CompletedProcess[str]":
        return subprocess.run(
            [sys.executable, "-c", "from smkc.cli import main; main()", *arguments],
            capture_output=True,
            text=True,
            timeout=120,
        )

    return start


def wrong(result: Result, *parts: str) -> None:
    """Check that a command refused its input with one clear message and no traceback."""
    assert result.exit_code == 2, result.output
    assert result.stdout == ""
    assert "Traceback" not in result.stderr
    for part in parts:
        assert part in " ".join(result.stderr.split()), result.stderr
