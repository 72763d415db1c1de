"""Residents: newcomers that stayed are judged by their own first rows, season included."""

import numpy as np
import pytest

from smkc.evidence.causes.wording import causes_of
from smkc.evidence.model import ReferenceEvidence
from smkc.recording import Recording

PER_DAY = 48
N_REFERENCE = 10 * PER_DAY
ARRIVES, N_LIVE = 100, 100 + N_REFERENCE + 6 * PER_DAY
START = np.datetime64("2026-03-02", "ns")
UNUSUAL = -np.log(0.002)


def recording(values, names, first):
    step = np.timedelta64(86_400 // PER_DAY, "s")
    times = START + (first + np.arange(len(values))) * step
    rows, codes = np.nonzero(~np.isnan(values))
    return Recording.from_observations(times, rows, codes, values[rows, codes], tuple(names))


@pytest.fixture(scope="module")
def model():
    rng = np.random.default_rng(0)
    return ReferenceEvidence.fit(recording(rng.normal(size=(N_REFERENCE, 3)), "abc", 0))


@pytest.fixture(scope="module")
def live():
    """Return three known variables, and a newcomer that is high by day and low by night."""
    rng = np.random.default_rng(1)
    values = rng.normal(size=(N_LIVE, 4))
    hours = np.arange(N_LIVE) % PER_DAY / PER_DAY
    values[:, 3] = 500.0 + 100.0 * np.sin(2 * np.pi * hours) + 5.0 * rng.normal(size=N_LIVE)
    values[:ARRIVES, 3] = np.nan
    return values


def at_noon(day):
    """Return a row at the time of the newcomer's usual mean, on a day after it has settled."""
    return ARRIVES + N_REFERENCE + day * PER_DAY - (ARRIVES + N_REFERENCE) % PER_DAY


def surprises(model, values):
    return -np.log(model.start(follows=True).push_rows(recording(values, "abcn", 480)).p_values)


def test_a_level_that_is_wrong_for_the_hour_is_a_surprise(model, live):
    usual = surprises(model, live)
    row = at_noon(3)
    assert abs(live[row, 3] - 500.0) < 20.0
    wrong = live.copy()
    wrong[row : row + 3, 3] += 80.0  # usual at other hours
    found = surprises(model, wrong)
    assert usual[row : row + 3].max() < UNUSUAL < found[row : row + 3].max()
    np.testing.assert_array_equal(found[:row], usual[:row])


def test_its_causes_say_what_is_usual_for_it(model, live):
    row = at_noon(3)
    values = live.copy()
    values[row : row + 3, 3] += 80.0
    state = model.start(follows=True)
    state.push_rows(recording(values[: row + 3], "abcn", 480))
    rows = recording(values[row : row + 3], "abcn", 480 + row)
    causes = causes_of(state.blame(row, row + 3), rows, model, state.usual)
    (detail,) = [cause.detail for cause in causes if cause.variable == "n"]
    assert "; usual at 0" in detail
    assert " since it came is " in detail
    low, high = map(float, detail.rpartition(" is ")[2].split(" to "))
    assert 450.0 < low < high < 550.0 < values[row : row + 3, 3].max()
    assert state.usual("a", rows.times[0]) is None, "the reference knows it"
    assert state.usual("unheard", rows.times[0]) is None


def test_before_it_has_stayed_it_has_no_season(model, live):
    state = model.start(follows=True)
    state.push_rows(recording(live[: ARRIVES + N_REFERENCE // 2], "abcn", 480))
    residents = state._scorer.variables.residents
    assert not residents.groups
    state.push_rows(
        recording(live[ARRIVES + N_REFERENCE // 2 :], "abcn", 480 + ARRIVES + N_REFERENCE // 2)
    )
    (group,) = residents.groups
    assert group.columns.tolist() == [0]
    assert group.fitted.seasons.period.tolist() == [86_400.0]


def test_a_constant_one_says_nothing(model, live):
    values = np.hstack([live, np.full((N_LIVE, 1), 7.0)])
    values[:ARRIVES, 4] = np.nan
    with_constant = model.start(follows=True).push_rows(recording(values, "abcnz", 480))
    assert np.isfinite(with_constant.scores).all()
    assert with_constant.p_values[at_noon(0) :].min() > 1e-4
    values[at_noon(2), 4] = 8.0
    state = model.start(follows=True)
    moved = state.push_rows(recording(values, "abcnz", 480))
    assert np.isfinite(moved.scores).all()
    assert (moved.p_values > 0).all(), "it has moved, which is no certain trouble"


def test_what_it_learned_does_not_change(model, live):
    """A fault that lasts stays a surprise: the first rows count, not the latest."""
    values = live.copy()
    row = at_noon(2)
    values[row:, 3] += 300.0
    found = surprises(model, values)
    assert np.median(found[row : row + 100]) > UNUSUAL


def test_pieces_and_saving_change_no_bit(model, live):
    values = live.copy()
    values[at_noon(2) : at_noon(2) + 5, 3] += 200.0
    expected = model.start(follows=True).push_rows(recording(values, "abcn", 480))
    state, parts = model.start(follows=True), []
    for number, rows in enumerate(np.array_split(np.arange(N_LIVE), 97)):
        parts.append(state.push_rows(recording(values[rows], "abcn", 480 + rows[0])))
        if number % 10 == 0:
            state = model.start(follows=True).restored(*state.to_arrays())
    for key in ("held", "prompt", "p_values"):
        actual = np.concatenate([getattr(part, key) for part in parts])
        np.testing.assert_array_equal(actual, getattr(expected, key), err_msg=key)
