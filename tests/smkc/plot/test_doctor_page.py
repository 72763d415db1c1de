"""The doctor's page: what it says, that it is whole, and that it asks nobody for anything."""

import json
from pathlib import Path

import numpy as np
import pytest
from tests.smkc.plot.conftest import HOSTILE, make_recording
from tests.smkc.plot.test_browser import CHROMIUM, visit
from tests.smkc.plot.test_report import Outline

from smkc.doctor import CHURN, KINDS, Diagnosis, diagnose
from smkc.errors import InputError
from smkc.paper import KnnDetector
from smkc.plot.doctor_page import doctor_page


@pytest.fixture(scope="module")
def diagnosis() -> Diagnosis:
    rng = np.random.default_rng(6)
    recording = make_recording(rng, 1000, ["cpu", "mem", "disk", HOSTILE])
    still = np.where(recording.codes == recording.names.index(HOSTILE), 1, recording.values)
    detector = KnnDetector(window=16, false_alarm_rate=0.01)
    return diagnose(recording.with_values(still.astype(np.float32)), detector, places=3)


@pytest.fixture(scope="module")
def page(diagnosis: Diagnosis, tmp_path_factory: pytest.TempPathFactory) -> Path:
    return doctor_page(tmp_path_factory.mktemp("doctor") / "doctor.html", diagnosis)


def test_the_page_says_what_the_diagnosis_says(diagnosis: Diagnosis, page: Path) -> None:
    outline = Outline(page.read_text("utf-8"))
    words = " ".join(outline.words)
    assert diagnosis.verdict.capitalize() in outline.words
    for part in (*KINDS, *CHURN, "What to change", "What would be caught", "400 after them"):
        assert part in words
    for one in diagnosis.findings:
        assert one.remedy in words
    for one in diagnosis.large:
        assert f"{one.caught} of {one.planted}" in words


def test_charts_are_there_and_nothing_is_asked_from_outside(page: Path) -> None:
    outline = Outline(page.read_text("utf-8"))
    charts = json.loads(outline.scripts[0])
    boxes = {value for key, value in outline.attributes if key == "data-chart"}
    assert boxes == set(charts) == {"rates", "score"}
    assert all(v.startswith("data:") for key, v in outline.attributes if key in ("src", "href"))


def test_hostile_names_stay_text(diagnosis: Diagnosis, page: Path) -> None:
    assert any(HOSTILE in one.evidence for one in diagnosis.findings)
    outline = Outline(page.read_text("utf-8"))
    assert outline.tags.count("script") == 3
    assert HOSTILE in "".join(outline.words)


def test_no_is_a_page_too(tmp_path: Path) -> None:
    short = make_recording(np.random.default_rng(1), 60, ["cpu"])
    none = diagnose(short, KnnDetector(window=16))
    words = " ".join(Outline(doctor_page(tmp_path / "p.html", none).read_text("utf-8")).words)
    assert "Too little data" in words
    assert "nothing could be tried" in words


def test_nowhere_to_write(diagnosis: Diagnosis, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(InputError, match="choose another place"):
        doctor_page(tmp_path / "file" / "p.html", diagnosis)


@pytest.mark.browser
@pytest.mark.skipif(CHROMIUM is None, reason="no Chromium here; install one to see the page")
def test_the_page_draws_without_a_word_and_without_network(page: Path, tmp_path: Path) -> None:
    seen = visit(page, tmp_path)
    assert seen.complaints == []
    assert seen.requests == []
    assert seen.dom.count('class="uplot') == 2
