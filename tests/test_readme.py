"""The README is run: what it shows is what happens."""

import contextlib
import io
import json
import re
import shlex
import tomllib
from pathlib import Path

import numpy as np
import pytest
from typer.testing import CliRunner

import smkc
from benchmarks.__main__ import app as benchmarks
from smkc.cli.app import app
from smkc.paper import KnnDetector

ROOT = Path(__file__).parents[1]
PAGES = (
    "README.md",
    "CONTRIBUTING.md",
    "CHANGELOG.md",
    "docs/decisions.md",
    "docs/neighbours.md",
    "results/paper/README.md",
)
BLOCK = re.compile(r"^```(\w+)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
LINK = re.compile(r"\]\(([^)#:]+)\)")
START = np.datetime64("2026-03-04T00:00:00")


def blocks(page: str = "README.md") -> list[tuple[str, str]]:
    """Fenced blocks in order: their language and their content."""
    return BLOCK.findall((ROOT / page).read_text("ascii"))


def shell_lines(page: str = "README.md") -> list[str]:
    lines = [line for kind, text in blocks(page) if kind == "sh" for line in text.splitlines()]
    return [line.partition("#")[0].strip() for line in lines if line.strip()]


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


def write_telemetry(path: Path, rows: int, seed: int, names: tuple[str, ...]) -> None:
    """Write a long table with a burst of the first variable from 05:05 to 05:15."""
    rng = np.random.default_rng(seed)
    values = rng.normal(size=(rows, len(names)))
    values[610:630, 0] += 15 * rng.normal(size=20) * (rows < 1500)
    times = START + np.arange(rows) * np.timedelta64(30, "s")
    table = {
        "time": np.repeat(times, len(names)),
        "variable": np.tile(names, rows),
        "value": values.ravel(),
    }
    if path.suffix == ".csv":
        import pandas as pd

        pd.DataFrame(table).to_csv(path, index=False)
    else:
        import pyarrow as pa
        import pyarrow.parquet as pq

        pq.write_table(pa.table(table), path)


def test_python_blocks_print_what_is_shown(here: Path) -> None:
    shown, printed, names = [], [], {}
    for kind, text in blocks():
        if kind == "python":
            output = io.StringIO()
            with contextlib.redirect_stdout(output):
                exec(compile(text, "README.md", "exec"), names)
            printed.append(output.getvalue())
        if kind == "text":
            shown.append(text)
    assert len(shown) >= 2
    assert printed == shown


def test_command_lines_run(here: Path) -> None:
    write_telemetry(here / "last-week.parquet", 1500, 1, ("cpu", "mem", "net"))
    write_telemetry(here / "today.parquet", 800, 2, ("cpu", "mem", "disk"))
    write_telemetry(here / "metrics.csv", 1400, 3, ("cpu", "mem", "net"))
    commands = [line for line in shell_lines() if line.startswith("smkc ")]
    assert {command.split()[1] for command in commands} == {
        "demo",
        "detect",
        "doctor",
        "explain",
        "fit",
    }
    for command in commands:
        done = CliRunner().invoke(app, shlex.split(command)[1:])
        assert done.exit_code == 0, f"{command}: {done.output}"
        if "explain" in command:
            assert done.stdout.splitlines()[1].split()[2] == "cpu"
    for written in ("demo/report.html", "report.html", "shop.smkc", "scores.parquet"):
        assert (here / written).stat().st_size > 0


def test_benchmark_lines_run(here: Path) -> None:
    start = "python -m benchmarks "
    (command,) = [line for line in shell_lines() if line.startswith(start)]
    done = CliRunner().invoke(benchmarks, shlex.split(command.removeprefix(start)))
    assert done.exit_code == 0, f"{command}: {done.output}"
    assert (here / "smoke/average.md").stat().st_size > 0


def test_the_averages_are_those_that_were_recorded() -> None:
    table = json.loads((ROOT / "results/paper/average.json").read_text())
    rows = table["rows"]
    by_protocol = {
        protocol: {row["name"]: row["cells"][0] for row in rows if row["group"] == protocol}
        for protocol in ("holdout_C", "in_dist_C")
    }
    expected = []
    for name in by_protocol["holdout_C"]:
        cells = [by_protocol[protocol].get(name, {}) for protocol in by_protocol]
        figures = [cell.get(key) for cell in cells for key in ("value", "paper")]
        texts = ["" if figure is None else f"{figure:.3f}" for figure in figures]
        expected.append(" | ".join([name.replace("|", "\\|"), *texts]))
    lines = (ROOT / "README.md").read_text().splitlines()
    heading = "| AUPRC at anomaly rate 0.10 | holdout_C | paper | in_dist_C | paper |"
    first = lines.index(heading) + 2
    assert [line.strip("| ") for line in lines[first : lines.index("", first)]] == [
        line.strip("| ") for line in expected
    ]


def test_make_targets_exist() -> None:
    makefile = (ROOT / "Makefile").read_text()
    lines = [line for page in ("README.md", "CONTRIBUTING.md") for line in shell_lines(page)]
    targets = [line.split()[1] for line in lines if line.startswith("make ")]
    assert {"demo", "test", "check"} <= set(targets)
    for target in targets:
        assert re.search(rf"^{target}:", makefile, re.MULTILINE), target


def test_the_rooms_are_listed_in_the_order_that_is_linted() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())
    layers = project["tool"]["importlinter"]["contracts"][0]["layers"]
    rooms = [layer.removeprefix("smkc.") for layer in reversed(layers)]
    lines = (ROOT / "CONTRIBUTING.md").read_text().splitlines()
    first = lines.index("| room | holds |") + 2
    cells = [line.split("|")[1] for line in lines[first : lines.index("", first)]]
    told = [room for cell in cells for room in re.findall(r"`(\w+)(?:\.py|/)`", cell)]
    assert sorted(told) == sorted(rooms)
    big = [room for room in told if (ROOT / "src/smkc" / room).is_dir()]
    assert big == [room for room in rooms if room in big]


def test_the_defaults_and_the_version_are_as_told() -> None:
    text = (ROOT / "README.md").read_text()
    rate = smkc.Detector().false_alarm_rate
    assert f"false alerts per time step that normal data may raise; {rate} by default" in text
    assert f"with {KnnDetector().buckets} buckets" in text
    assert KnnDetector().representation == "log3 band(8)"
    assert f"smkc {smkc.__version__} `Detector`" in text


@pytest.mark.parametrize("page", PAGES)
def test_pages_are_ascii_and_their_links_lead_somewhere(page: str) -> None:
    text = (ROOT / page).read_text("ascii")
    for target in LINK.findall(text):
        assert ((ROOT / page).parent / target).exists(), target
