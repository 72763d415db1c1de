"""The report in a real Chromium: it draws, complains of nothing, and asks nobody for anything."""

import json
import shutil
import subprocess
from dataclasses import dataclass
from pathlib import Path

import pytest

from smkc import plot

CHROMIUM = next(
    filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None
)
FLAGS = [
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-sync",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-dev-shm-usage",
    "--disable-extensions",
    "--virtual-time-budget=15000",
    "--window-size=1280,3000",
    "--enable-logging=stderr",
    "--dump-dom",
]

pytestmark = [
    pytest.mark.browser,
    pytest.mark.skipif(CHROMIUM is None, reason="no Chromium here; install one to see the page"),
]


@dataclass(frozen=True)
class Visit:
    dom: str
    complaints: list[str]
    requests: list[str]


def visit(page: Path, folder: Path) -> Visit:
    """Open a page, wait until it has drawn, and note what it said and asked for."""
    assert CHROMIUM is not None
    log = folder / "net.json"
    done = subprocess.run(
        [
            CHROMIUM,
            *FLAGS,
            f"--user-data-dir={folder / 'profile'}",
            f"--log-net-log={log}",
            "--host-resolver-rules=MAP * ~NOTFOUND",
            page.as_uri(),
        ],
        capture_output=True,
        text=True,
        timeout=120,
        check=True,
    )
    complaints = [line for line in done.stderr.splitlines() if "CONSOLE" in line]
    return Visit(done.stdout, complaints, _requests(log))


def _requests(log: Path) -> list[str]:
    """List addresses asked for on behalf of a page; the browser's own affairs have no origin."""
    found = []
    for event in json.loads(log.read_text("utf-8"))["events"]:
        params = event.get("params", {})
        url, initiator = params.get("url", ""), params.get("initiator", "not an origin")
        if url.startswith(("http:", "https:", "ws:", "wss:")) and initiator != "not an origin":
            found.append(url)
    return found


def test_the_report_draws_without_a_word_and_without_network(watched, tmp_path: Path) -> None:
    page = plot.report(tmp_path / "report.html", watched.scored)
    seen = visit(page, tmp_path)
    assert seen.complaints == []
    assert seen.requests == []
    assert "What smkc found" in seen.dom
    assert seen.dom.count('class="uplot') == seen.dom.count("data-chart=") >= 4
    assert "&lt;img src=x" in seen.dom
    assert '<img src="x"' not in seen.dom


def test_the_check_notices_a_page_that_complains_and_calls_out(tmp_path: Path) -> None:
    page = tmp_path / "bad.html"
    page.write_text('<img src="http://outside.invalid/x.png"><script>console.error("oh")</script>')
    seen = visit(page, tmp_path)
    assert seen.requests == ["http://outside.invalid/x.png"]
    assert any("oh" in line for line in seen.complaints)
