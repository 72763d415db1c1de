"""The README and the documentation are run: what they show is what happens."""

import os
import re
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
from tests.prometheus_server import real_prometheus
from tools.pages import Block, blocks, run_page, written_demo

from smkc.fleet import Fleet, make_fleet

ROOT = Path(__file__).parents[1]
DOCS = ROOT / "docs"
PAGES = sorted(str(path.relative_to(DOCS)) for path in DOCS.rglob("*.md"))

# What of these can be run has tests of its own; what is left is a manual for other machines.
TESTED_ELSEWHERE = {"production.md": "test_production_guide"}
LONG = {"start.md", "tutorials/own-benchmark.md", "tutorials/pandas.md", "results.md"}


@pytest.fixture(scope="module")
def demo(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return written_demo(tmp_path_factory.mktemp("pages"))


def checked(page: Path, folder: Path, **given) -> Iterator[tuple[Block, str]]:
    """Run a page and compare what it prints with what it shows."""
    for block, printed in run_page(page, folder, **given):
        if block.shown is not None:
            assert printed == block.shown, f"{page.name}, line {block.line}; python -m tools.pages"
        yield block, printed


@pytest.mark.slow
def test_every_command_of_the_readme_runs_in_an_empty_folder(tmp_path: Path) -> None:
    ran = [block.text for block, _ in checked(ROOT / "README.md", tmp_path)]
    lines = [line for text in ran for line in text.splitlines()]
    commands = {line.split()[1] for line in lines if line.startswith("smkc ")}
    assert commands == {"demo", "detect", "doctor", "explain", "fit"}
    for written in ("demo/report.html", "report.html", "doctor.html", "scores.parquet"):
        assert (tmp_path / written).stat().st_size > 0


def test_the_readme_is_short() -> None:
    assert len((ROOT / "README.md").read_text().splitlines()) <= 150


@pytest.mark.parametrize(
    "page",
    [
        pytest.param(page, marks=[pytest.mark.slow] if page in LONG else [])
        for page in PAGES
        if page not in TESTED_ELSEWHERE
    ],
)
def test_every_block_of_a_page_runs_and_prints_what_is_shown(
    page: str, demo: Path, tmp_path: Path
) -> None:
    shutil.copytree(demo, tmp_path / "demo")
    n_run = sum(1 for _ in checked(DOCS / page, tmp_path))
    wanted = [block for block in blocks(DOCS / page) if block.language in ("sh", "python")]
    assert n_run == len([block for block in wanted if block.needs is None])


def test_a_page_that_shows_what_does_not_happen_is_found_out(tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    page.write_text("```python\nprint(1 + 1)\n```\n\n```text\n3\n```\n")
    with pytest.raises(AssertionError, match=r"page.md, line 1"):
        list(checked(page, tmp_path))
    page.write_text("```sh\nfalse\n```\n")
    with pytest.raises(RuntimeError, match=r"page.md, line 1: exit code 1"):
        list(checked(page, tmp_path))
    page.write_text("```ruby\nputs 1\n```\n")
    with pytest.raises(ValueError, match=r"line 1: a block of language 'ruby'"):
        list(checked(page, tmp_path))


@pytest.mark.slow
def test_the_site_builds_strictly_and_asks_for_nothing_from_elsewhere(tmp_path: Path) -> None:
    pytest.importorskip("mkdocs", reason="make docs installs what builds the site")
    env = os.environ | {"NO_MKDOCS_2_WARNING": "1"}
    built = subprocess.run(
        [sys.executable, "-m", "mkdocs", "build", "--quiet", "--strict", "-d", str(tmp_path)],
        capture_output=True, text=True, cwd=ROOT, env=env, timeout=300,
    )  # fmt: skip
    assert (built.returncode, built.stdout, built.stderr) == (0, "", "")
    pages = list(tmp_path.rglob("*.html"))
    assert len(pages) > len(PAGES)
    loaded = re.compile(r"""<(?:script|link|img|iframe)[^>]+(?:src|href)=["']?(?:https?:)?//""")
    assert [page.name for page in pages if loaded.search(page.read_text("utf-8"))] == []
    styles = [path.read_text("utf-8") for path in tmp_path.rglob("*.css")]
    assert not any(re.search(r"(?:@import|url\()\s*[\"']?https?:", style) for style in styles)


@pytest.mark.slow
@pytest.mark.prometheus
def test_the_tutorial_of_prometheus_runs_against_a_real_one(tmp_path: Path) -> None:
    page = DOCS / "tutorials" / "prometheus.md"
    with real_prometheus(history=history_of(make_fleet(0))) as server:
        env = {"PROMETHEUS": server.url}
        ran = list(checked(page, tmp_path, given=frozenset({"Prometheus"}), env=env))
    assert len(ran) == 3


def history_of(fleet: Fleet) -> str:
    """Write a fleet as OpenMetrics, so that its last row is ten minutes from now.

    Prometheus repeats the last value of a series that ends, which looks frozen: the page must have
    been read before the history ends, however slow the machine is.
    A scrape that finds a series gone marks it so. Text cannot hold that mark, but it can hold NaN.
    """
    recordings = (fleet.reference, fleet.live)
    times = np.concatenate([one.times for one in recordings]).astype("datetime64[s]")
    end = int(time.time()) // 30 * 30 + 600
    seconds = times.astype(np.int64) + end - int(times[-1].astype(np.int64))
    series: dict[str, np.ndarray] = {}
    for one, first in zip(recordings, (0, len(fleet.reference)), strict=True):
        for code, name in enumerate(one.names):
            values = series.setdefault(name, np.full(len(times), np.nan))
            own = one.codes == code
            values[first + one.row_numbers[own]] = one.values[own]
    lines: dict[str, list[str]] = {}
    for name, values in series.items():
        seen = np.flatnonzero(~np.isnan(values))
        for row in range(seen[0], min(seen[-1] + 2, len(values))):
            line = f"{name} {values[row]} {seconds[row]}\n".replace(" nan ", " NaN ")
            lines.setdefault(name.partition("{")[0], []).append(line)
    text = "".join(f"# TYPE {metric} gauge\n{''.join(some)}" for metric, some in lines.items())
    return text + "# EOF\n"
