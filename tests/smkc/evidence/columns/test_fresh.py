"""The columns of newcomers: memory is bounded, and who is silent for long makes room."""

import numpy as np
import pytest

from smkc.evidence.columns import fresh as fresh_module
from smkc.evidence.columns.fresh import FreshColumns
from smkc.evidence.model import ReferenceEvidence
from smkc.recording import Recording

N_REFERENCE, N_LIVE = 200, 3000


def met(fresh, *names_and_rows):
    return [fresh.meet(name, row) for name, row in names_and_rows]


def test_whoever_is_silent_for_longest_makes_room():
    fresh = FreshColumns(2, silent_rows=10, block=1)
    assert met(fresh, ("a", 0), ("b", 1), ("c", 5)) == [False, False, False]
    assert fresh.names == ["a", "b"], "nobody was silent for long: c finds no room"
    fresh.note("a", 8)
    assert met(fresh, ("c", 13)) == [True]
    assert fresh.names == ["a", "c"]
    assert "b" not in fresh.column_of


def test_nobody_loses_a_column_to_a_row_of_the_same_block():
    fresh = FreshColumns(1, silent_rows=2, block=8)
    assert met(fresh, ("a", 0), ("b", 7)) == [False, False]
    assert met(fresh, ("b", 8)) == [True]


def test_bounds_find_room_where_others_do_not():
    fresh = FreshColumns(1, silent_rows=5, block=1)
    fresh.meet("a", 0)
    fresh.meet("b", 1, share=2)
    assert fresh.names == ["a", "b"]


# ------------------------------------------------------------------ in the model of all evidences


def recording(values, names, first):
    rows, codes = np.nonzero(~np.isnan(values))
    times = np.arange(first, first + len(values))
    return Recording.from_observations(times, rows, codes, values[rows, codes], tuple(names))


@pytest.fixture(scope="module")
def model():
    values = np.random.default_rng(0).normal(size=(N_REFERENCE, 2))
    return ReferenceEvidence.fit(recording(values, "ab", 0))


@pytest.fixture
def few_columns(monkeypatch):
    monkeypatch.setattr(fresh_module, "MAX_BYTES", 0)
    monkeypatch.setattr(fresh_module, "MIN_COLUMNS", 2)


@pytest.fixture
def visitors(rng):
    """Return two known variables and six others that come one after the other and leave."""
    values = rng.normal(size=(N_LIVE, 8))
    for number in range(6):
        values[:, 2 + number][: 450 * number] = np.nan
        values[:, 2 + number][450 * number + 400 :] = np.nan
    values[2900:2950, 2] = rng.normal(size=50)  # the first one returns
    return values


@pytest.mark.usefixtures("few_columns")
def test_in_pieces_columns_are_taken_over_alike(model, visitors):
    names = ["a", "b", *(f"visitor-{number}" for number in range(6))]
    visitors[1500:1510, 5] += 30.0
    expected = model.start(follows=True)
    whole = expected.push_rows(recording(visitors, names, N_REFERENCE))
    state, parts = model.start(follows=True), []
    for number, rows in enumerate(np.array_split(np.arange(N_LIVE), 301)):
        parts.append(state.push_rows(recording(visitors[rows], names, N_REFERENCE + rows[0])))
        if number % 20 == 0:
            state = model.start(follows=True).restored(*state.to_arrays())
    for key in ("held", "prompt", "p_values"):
        actual = np.concatenate([getattr(part, key) for part in parts])
        np.testing.assert_array_equal(actual, getattr(whole, key), err_msg=key)
    assert state._rows.fresh.names == expected._rows.fresh.names
    assert len(state._rows.fresh.names) == 2


@pytest.mark.usefixtures("few_columns")
def test_who_takes_over_a_column_has_a_past_of_its_own(model, rng):
    """The one before was a thousand times as large; the next is not compared with it."""
    values = np.full((2500, 4), np.nan)
    values[:, :2] = rng.normal(size=(2500, 2))
    values[:300, 2] = 1000.0 + 100.0 * rng.normal(size=300)
    values[1500:, 3] = rng.normal(size=1000)
    values[2000:2005, 3] += 40.0
    state = model.start(follows=True)
    state.push_rows(recording(values[:, :3], "abx", N_REFERENCE).rows(0, 1400))
    found = state.push_rows(recording(values, "abxy", N_REFERENCE).rows(1400, 2500))
    surprises = -np.log(found.p_values)
    assert surprises[600:605].max() > -np.log(0.002)
    assert next(iter(state.blame(2000, 2005).variables)) == "y"


@pytest.mark.usefixtures("few_columns")
def test_ten_thousand_newcomers_take_no_more_memory(model, rng):
    names = ["a", "b", *(f"visitor-{number}" for number in range(10_000))]
    values = rng.normal(size=(3, len(names)))
    state = model.start(follows=True)
    state.push_rows(recording(values, names, N_REFERENCE))
    assert len(state._rows.fresh.names) == 2
    assert state._scorer.variables.residents.values.shape[1] == 2
