import json
import re
from html.parser import HTMLParser
from pathlib import Path

import numpy as np
import pytest
from tests.smkc.plot.conftest import HOSTILE

from smkc import plot
from smkc.detector import Detector
from smkc.errors import InputError
from smkc.fleet import Change, Incident
from smkc.paper import KnnDetector
from smkc.plot.page import safe_json
from smkc.recording import Recording


class Outline(HTMLParser):
    """Tags, attributes and the text of a page, scripts and styles apart."""

    def __init__(self, source: str) -> None:
        super().__init__()
        self.tags: list[str] = []
        self.attributes: list[tuple[str, str]] = []
        self.words: list[str] = []
        self.scripts: list[str] = []
        self._inside = ""
        self.feed(source)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        self.attributes += [(key, value or "") for key, value in attrs]
        self._inside = tag

    def handle_endtag(self, tag: str) -> None:
        self._inside = ""

    def handle_data(self, data: str) -> None:
        if self._inside == "script":
            self.scripts.append(data)
        elif self._inside != "style":
            self.words.append(data)


@pytest.fixture(scope="module")
def source(watched, tmp_path_factory: pytest.TempPathFactory) -> str:
    path = tmp_path_factory.mktemp("report") / "report.html"
    return plot.report(path, watched.scored).read_text("utf-8")


def test_the_page_says_what_matters(watched, source: str) -> None:
    words = " ".join(Outline(source).words)
    assert f"{len(watched.alerts)} alert" in words
    for expected in ("400", "rows", "variables seen", "1.0%", "Score over time", "Alert 1"):
        assert expected in words


def test_hostile_names_stay_text(source: str) -> None:
    outline = Outline(source)
    assert outline.tags.count("script") == 3
    assert HOSTILE in "".join(outline.words)
    assert not [value for key, value in outline.attributes if key.startswith("on")]
    assert "<img src=x" not in source


def test_nothing_is_asked_from_outside(source: str) -> None:
    outline = Outline(source)
    for key, value in outline.attributes:
        if key in ("src", "href"):
            assert value.startswith("data:")
    assert [value for _, value in outline.attributes if value.startswith("default-src 'none'")]
    assert "@import" not in source
    assert "url(" not in re.sub(r"<script>.*?</script>", "", source, flags=re.S)


def test_only_its_own_scripts_may_run(source: str) -> None:
    policies = [value for _, value in Outline(source).attributes if "script-src" in value]
    assert len(policies) == 1
    assert policies[0].count("'sha256-") == 2
    script_rule = policies[0].split("script-src")[1].split(";")[0]
    assert "unsafe" not in script_rule


def test_charts_hold_the_scores_peak_and_the_alert_bands(watched, source: str) -> None:
    charts = json.loads(Outline(source).scripts[0])
    scores = watched.detector.decision_function(watched.recording)
    drawn = [value for value in charts["score"]["lines"][0]["y"] if value is not None]
    assert max(drawn) == pytest.approx(np.nanmax(scores), rel=1e-4)
    assert len(charts["score"]["spans"]) == len(watched.alerts)
    boxes = {value for key, value in Outline(source).attributes if key == "data-chart"}
    assert boxes == set(charts)


def test_the_number_of_alerts_in_detail_is_bounded_and_said(watched, tmp_path: Path) -> None:
    many = [watched.alerts[0]] * 30
    page = plot.report(tmp_path / "r.html", watched.scored, many, max_alerts=2).read_text("utf-8")
    assert page.count('<article class="card alert"') == 2
    assert "The 2 strongest of 30" in page


def test_without_alerts_the_page_says_so(watched, tmp_path: Path) -> None:
    page = plot.report(tmp_path / "r.html", watched.scored, []).read_text()
    assert "No alert" in page
    assert "Nothing was past the threshold" in page


def test_planted_incidents_found_and_missed_are_both_told(watched, tmp_path: Path) -> None:
    times = watched.recording.times
    alert = watched.alerts[0]
    met = Incident(start=alert.start, end=alert.end, kind="met", story="s", variables=())
    free = next(
        row
        for row in range(len(times))
        if not any(one.first_row <= row <= one.last_row for one in watched.alerts)
    )
    missed = Incident(
        start=times[free], end=times[free], kind="<b>unmet</b>", story="s", variables=()
    )
    routine = Change(start=times[free], end=times[free], kind="rollout", story="calm")
    page = plot.report(
        tmp_path / "r.html",
        watched.scored,
        incidents=[met, missed],
        routine=[routine],
    ).read_text("utf-8")
    assert "1 of 2 incidents found" in page
    assert '<span class="bad">missed</span>' in page
    assert "left alone" in page
    assert "<b>unmet</b>" not in page


def test_plain_numbers_as_times(tmp_path: Path, rng: np.random.Generator) -> None:
    normal = Recording.from_rows(np.arange(800), [{"a": x} for x in rng.normal(size=800)])
    detector = KnnDetector(window=16, false_alarm_rate=0.01).fit(normal)
    page = plot.report(tmp_path / "r.html", detector.score(normal.rows(0, 300))).read_text("utf-8")
    words = " ".join(Outline(page).words)
    assert "0 to 299" in words
    assert "UTC" not in words


def test_a_page_is_small(source: str) -> None:
    assert len(source) < 700_000


def test_whoever_drew_it_is_credited(source: str) -> None:
    assert "Copyright (c) 2022 Leon Sorokin" in source


def test_what_was_learned_from_and_what_nearly_alerted_are_told(watched, tmp_path: Path) -> None:
    page = plot.report(tmp_path / "r.html", watched.scored, watched.alerts[:1]).read_text("utf-8")
    words = " ".join(Outline(page).words)
    learned = watched.detector.learned_
    assert f"{learned.rows:,} rows from {learned.start} to {learned.end}" in words
    assert "Next strangest moments" in words
    many = plot.report(tmp_path / "s.html", watched.scored, watched.alerts[:1] * 9)
    assert "Next strangest moments" not in many.read_text("utf-8")


def test_hours_that_the_reference_does_not_cover_are_noted_above_the_charts(tmp_path: Path) -> None:
    times = np.datetime64("2026-03-04T09:00", "ns") + np.arange(900).astype("m8[m]")
    values = np.random.default_rng(0).normal(size=900)
    detector = Detector().fit({"time": times[:300], "cpu": values[:300]})
    scored = detector.score({"time": times[300:], "cpu": values[300:]})
    words = " ".join(Outline(plot.report(tmp_path / "r.html", scored).read_text("utf-8")).words)
    note = words.index("600 of 600 rows are at times of the day that the reference")
    assert note < words.index("Score over time")


def test_nothing_to_report_and_nowhere_to_write(watched, tmp_path: Path) -> None:
    empty = Detector().fit(watched.recording).score(watched.recording.rows(0, 0))
    with pytest.raises(InputError, match="no rows"):
        plot.report(tmp_path / "r.html", empty)
    (tmp_path / "file").write_text("")
    with pytest.raises(InputError, match="choose another place"):
        plot.report(tmp_path / "file" / "r.html", watched.scored, [])
    assert not list(tmp_path.glob(".*.draft"))


def test_json_cannot_end_its_script() -> None:
    hostile = {"</script>": "<!-- & -->"}
    assert "<" not in safe_json(hostile)
    assert json.loads(safe_json(hostile)) == hostile
