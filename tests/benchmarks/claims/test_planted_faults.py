"""Planted faults: what counts as found, where faults go, and the page made of the counts."""

import json
from dataclasses import replace
from functools import partial
from pathlib import Path

import numpy as np
import pytest

from benchmarks.claims.planted import made_up
from benchmarks.claims.planted.counts import Count, judged, n_false_alerts
from benchmarks.claims.planted.hours import clear_seasons, clearly_wrong, wrong_hours
from benchmarks.claims.planted.page import CASES, page
from benchmarks.claims.planted.vanishing import (
    QUIET_ROWS,
    VANISHED_ROWS,
    quiet_places,
    vanished_in,
    without,
)
from benchmarks.claims.planted_faults import Job, all_jobs, content_of, measured
from benchmarks.real.series import Series
from smkc.decide import Alert, Cause
from smkc.doctor import Plant
from smkc.recording import Recording

RESULTS = Path(__file__).parents[3] / "results"


def alert(first, last, cause=""):
    zero = np.datetime64(0, "s")
    return Alert(
        start=zero,
        end=zero,
        peak=zero,
        first_row=first,
        last_row=last,
        score=1.0,
        p_value=0.001,
        causes=(Cause(variable=cause, share=1.0, kind="level"),) if cause else (),
    )


def recording(values):
    rows, codes = np.nonzero(~np.isnan(values))
    names = tuple(f"v{j}" for j in range(values.shape[1]))
    times = np.datetime64("2026-01-05", "ns") + np.arange(len(values)) * np.timedelta64(60, "s")
    return Recording.from_observations(times, rows, codes, values[rows, codes], names)


def cells(shown):
    """Cells of each row of a page's tables, by the first cell."""
    lines = [line.strip("|").split("|") for line in shown.splitlines() if line.startswith("|")]
    return {name.strip(): [cell.strip() for cell in rest] for name, *rest in lines}


# ------------------------------------------------------------------ what counts as found


@pytest.mark.parametrize(
    ("alerts", "expected"),
    [
        ([], (False, False, 0)),
        ([alert(50, 60, "a")], (True, True, 0)),
        ([alert(48, 60, "b")], (True, False, 0)),
        ([alert(40, 60, "a")], (False, False, 0)),  # it began before, and is not false either
        ([alert(40, 47), alert(70, 80)], (False, False, 2)),
        ([alert(69, 80, "a")], (False, False, 0)),  # an echo
        ([alert(55, 56, "b"), alert(58, 59, "a")], (True, False, 0)),  # the first one tells
    ],
)
def test_an_alert_finds_a_fault_if_it_begins_in_its_rows(alerts, expected):
    assert judged(alerts, 50, 60, {"a"}) == expected


def test_alerts_near_events_are_not_false():
    is_near = np.zeros(100, bool)
    is_near[40:60] = True
    assert n_false_alerts([alert(10, 20), alert(30, 40), alert(60, 61)], is_near) == 2


# ------------------------------------------------------------------ made-up worlds


def test_a_shift_in_a_small_world_is_found_and_named():
    shifted = made_up.shifted_gaussian(0, n_variables=15)
    assert (shifted.found, shifted.of, shifted.named, shifted.rows) == (1, 1, 1, 300)
    counted = made_up.shifted_count(0, n_variables=15)
    assert (counted.case, counted.part, counted.found) == ("counts", "seed 0", 1)


@pytest.mark.parametrize(("kind", "found"), [("rows", 2), ("dates", 2), ("noise", 0)])
def test_seasons_of_a_known_period_are_counted(kind, found):
    count = made_up.seasons_found(kind, periods=(24,))
    assert (count.case, count.found, count.of) == (f"season, {kind}", found, 2)


@pytest.mark.parametrize(
    ("seasons", "agrees"),
    [
        ([24.0] * 4, True),
        ([24.2, 23.8, 48.0, 72.3], True),
        ([24.0] * 3, False),
        ([24.0, 24.0, 24.0, 36.0], False),
        ([12.0] * 4, False),
    ],
)
def test_a_season_agrees_if_it_is_a_multiple(seasons, agrees):
    named = {f"v{j}": period for j, period in enumerate(seasons)}
    assert made_up._agree(named, 24.0) is agrees


def test_a_wrong_hour_goes_into_variables_with_a_season_only():
    reference, live = made_up.daily_waves(n_reference_days=20, n_live_days=10)
    assert set(clear_seasons(reference)) == set(reference.names)
    quiet = np.zeros(len(live), bool)
    count, clear = wrong_hours("made up", reference, live, quiet, n_places=2)
    assert (count.of, count.rows) == (2, 240)
    assert count.named <= count.found <= 2
    assert clear.found <= clear.of <= 2
    noise = recording(np.random.default_rng(0).normal(size=(3000, 3)))
    assert clear_seasons(noise) == []


@pytest.mark.parametrize(("hour", "is_wrong"), [(3, True), (15, False)])
def test_a_level_is_clearly_wrong_where_the_reference_never_had_it(hour, is_wrong):
    reference, live = made_up.daily_waves(n_reference_days=20, n_live_days=1)
    values = live.values.copy()
    is_fault = (live.row_numbers // 4 == hour // 4) & (live.codes == 2)
    values[is_fault] = np.median(values[(live.row_numbers // 4 == 3) & (live.codes == 2)])
    first = hour // 4 * 4
    fault = Plant(first_row=first, last_row=first + 3, variables=("v0002",))
    assert clearly_wrong(reference, live.with_values(values), fault) is is_wrong


# ------------------------------------------------------------------ vanishing


def test_places_are_quiet_from_before_the_fault_to_its_end(rng):
    is_quiet = np.ones(1000, bool)
    is_quiet[[300, 700]] = False
    places = quiet_places(is_quiet, 6, rng)
    assert places == sorted(places)
    assert len(places) == 6
    for first in places:
        assert is_quiet[first - QUIET_ROWS : first + VANISHED_ROWS].all()
        assert first >= QUIET_ROWS
        assert first + VANISHED_ROWS <= 1000
    assert quiet_places(np.zeros(1000, bool), 6, rng) == []
    assert quiet_places(np.ones(10, bool), 6, rng) == []


def test_a_variable_that_vanishes_is_missing_in_these_rows_alone():
    whole = recording(np.arange(30.0).reshape(10, 3))
    left = without(whole, np.array([1]), 4, 6)
    is_same = np.ones((10, 3), bool)
    is_same[4:6, 1] = False
    seen = np.zeros((10, 3), bool)
    seen[left.row_numbers, left.codes] = True
    np.testing.assert_array_equal(seen, is_same)
    assert left.names == whole.names


def test_vanished_variables_are_alerted_in_a_small_world():
    rng = np.random.default_rng(3)
    values = rng.normal(size=(2000, 8))
    series = Series(
        dataset="made up",
        name="one",
        reference=recording(values[:1400]),
        test=recording(values[1400:]),
        labels=np.zeros(600, bool),
    )
    one, half = vanished_in(series, 2, rng)
    assert (one.case, half.case) == ("one vanishes", "half vanish")
    assert (half.found, half.of, one.of, one.rows) == (2, 2, 2, 600)


# ------------------------------------------------------------------ jobs and the page


def test_every_case_of_the_page_has_jobs_and_no_two_jobs_one_file():
    jobs = all_jobs()
    assert len({str(job).replace("/", "-") for job in jobs}) == len(jobs)
    assert [job.case for job in jobs].count("wrong hour") == 8
    assert {f"season, {job.part}" for job in jobs if job.case == "season"} <= set(CASES)


def test_without_data_the_made_up_cases_remain(monkeypatch, capsys):
    monkeypatch.delenv("SMKC_DATA", raising=False)
    monkeypatch.setattr(made_up, "seasons_found", partial(made_up.seasons_found, periods=(24,)))
    jobs = [Job("season", "rows"), Job("vanished", "asd"), Job("doctor", "smd/machine-2-1.train")]
    counts, left_out = measured(jobs)
    assert counts == [Count(case="season, rows", part="", found=2, of=2)]
    assert left_out == ["vanished: asd", "doctor: smd/machine-2-1.train"]
    assert "SMKC_DATA is not set" in capsys.readouterr().err
    shown = page(content_of(counts, left_out, {"command": "made up"}))
    assert cells(shown)["season found, without dates"] == ["2 of 2", "2", "yes", "", "", ""]
    assert "- vanished: asd" in shown


def test_the_page_adds_the_parts_and_compares_with_what_was_wanted():
    hour = Count(case="wrong hour", part="a", found=4, of=8, named=3, false_alerts=1, rows=900)
    counts = [
        hour,
        replace(hour, part="b", found=8, named=8),
        replace(hour, part="c", found=0, of=0),
        replace(hour, case="clearly wrong hour", found=3, of=4),
        Count(case="season, noise", part="", found=1, of=20),
        Count(case="doctor, frozen", part="smd/one", found=7, of=8, false_alerts=3, rows=1000),
        Count(case="doctor, frozen", part="lro/two", found=5, of=8, false_alerts=4, rows=2000),
        Count(case="doctor, ramp", part="lro/two", found=0, of=8, false_alerts=4, rows=2000),
    ]
    shown = page(content_of(counts, [], {"commit": "0123456789"}))
    assert "- commit: 0123456789" in shown
    assert "No suitable place: c." in shown
    rows = cells(shown)
    assert rows["a level wrong for the hour"] == ["12 of 16", "14", "no", "11", "2", "1,800"]
    assert rows["season found in noise"] == ["1 of 20", "0", "no", "", "", ""]
    assert rows["a"] == ["4 of 8", "3 of 4", "1", "900"]
    assert rows["b"] == ["8 of 8", "", "1", "900"]
    assert rows["frozen"] == ["7 of 8", "5 of 8", "7", "yes, no"]
    assert rows["ramp"] == ["", "0 of 8", "", ""]
    assert rows["rows without a fault"] == ["1,000", "2,000", "", ""]


def test_the_recorded_page_says_what_its_data_say():
    content = json.loads((RESULTS / "planted_faults.json").read_text(encoding="utf-8"))
    assert page(content) == (RESULTS / "planted_faults.md").read_text(encoding="utf-8")
    assert content["left_out"] == []
    cases = {one["case"] for one in content["counts"]}
    assert set(CASES) <= cases
    assert all(0 <= one["found"] <= one["of"] for one in content["counts"])
