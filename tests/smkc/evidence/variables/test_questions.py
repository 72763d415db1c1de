"""Statistics of single variables, against plain Python, and however rows are cut."""

import numpy as np
import pytest
from tests import naive_variables as naive

import smkc
from smkc.evidence.causes.wording import KIND_OF_EVIDENCE
from smkc.evidence.variables import PAST_ROWS, QUESTIONS, Question
from smkc.evidence.variables.questions import FROZEN, RELATION, Statistics

# Sums of float32 numbers of order 1, in float64, rounded to float32.
EXACT = 1e-6

N = 120


@pytest.fixture
def values(rng):
    """Return columns with gaps, that is empty, constant, in steps, and late."""
    values = rng.normal(size=(N, 6)).astype(np.float32)
    values[rng.random(N) < 0.5, 1] = np.nan
    values[:, 2] = np.nan
    values[:, 3] = 7.0
    values[:, 4] = np.round(values[:, 4])
    values[:70, 5] = np.nan
    return values


def columns_of(values):
    return [column.astype(float).tolist() for column in values.T]


def test_levels_and_jumps(values):
    actual = Statistics(6).push(values)[:FROZEN]
    expected = np.array([naive.levels(column) for column in columns_of(values)])
    np.testing.assert_allclose(actual, expected.transpose(2, 1, 0), rtol=EXACT, atol=EXACT)
    assert np.isnan(actual[:, :, 2]).all()
    assert (actual[2, 1:, 3] == 0.0).all()


def test_lengths_of_runs(values):
    actual = Statistics(6).push(values)[FROZEN]
    expected = np.array([naive.run_lengths(column) for column in columns_of(values)]).T
    np.testing.assert_array_equal(actual, expected)
    np.testing.assert_array_equal(actual[:, 3], np.arange(1, N + 1))


def test_changes_of_residuals(rng, values):
    residuals = rng.normal(size=values.shape).astype(np.float32)
    residuals[np.isnan(values)] = np.nan
    actual = Statistics(6).push(values, residuals)[RELATION]
    expected = np.array([naive.rms_changes(column) for column in columns_of(residuals)]).T
    np.testing.assert_allclose(actual, expected, rtol=EXACT, atol=EXACT)
    assert np.isnan(Statistics(6).push(values)[RELATION]).all(), "nothing was given to ask of"


def test_a_gap_neither_ends_a_run_nor_lengthens_it():
    values = np.array([[1.0], [np.nan], [1.0], [2.0], [2.0]], np.float32)
    found = Statistics(1).push(values)[FROZEN].ravel()
    np.testing.assert_array_equal(found, [1.0, np.nan, 2.0, 1.0, 2.0])


def test_a_mean_needs_a_quarter_of_its_rows():
    values = np.full((16, 1), np.nan, np.float32)
    values[[12, 15]] = 3.0
    assert np.isnan(Statistics(1).push(values)[1, -1, 0])
    values[[4, 5]] = 3.0
    assert Statistics(1).push(values)[1, -1, 0] == 3.0


@pytest.mark.parametrize("cuts", [[], [1], [5, 5, 60], list(range(1, N))])
def test_cuts_and_late_columns_change_no_bit(rng, values, cuts):
    residuals = rng.normal(size=(N, 4)).astype(np.float32)
    expected = Statistics(6).push(values, residuals)
    state = Statistics(5)
    parts = []
    for rows in np.split(np.arange(N), cuts):
        width = 6 if len(rows) and rows[-1] >= 70 else 5  # the last column came at row 70
        found = np.full((len(QUESTIONS), len(rows), 6), np.nan, np.float32)
        found[:, :, :width] = state.push(values[rows, :width], residuals[rows])
        parts.append(found)
        again = Statistics(width)
        again.restore({key: array.copy() for key, array in state.to_arrays().items()})
        state = again
    np.testing.assert_array_equal(np.concatenate(parts, axis=1), expected)


def test_rows_farther_back_than_stated_play_no_part(values):
    first = values.copy()
    first[: N - 1 - PAST_ROWS, :3] += 5.0
    many = [Statistics(6).push(some)[:FROZEN, -1] for some in (values, first)]
    np.testing.assert_array_equal(*many)


@pytest.mark.parametrize("shape", [(0, 3), (4, 0), (1, 1), (0, 0)])
def test_nothing_and_next_to_nothing(shape):
    state = Statistics(shape[1])
    assert state.push(np.zeros(shape, np.float32)).shape == (len(QUESTIONS), *shape)


def bend(recent):
    """(n, C) how far each value is from the line through the two before it."""
    n = len(recent.run_lengths)
    last = recent.values[len(recent.values) - n - 2 :]
    return last[2:] - 2 * last[1:-1] + last[:-2]


def test_another_question_is_another_entry_of_the_list(rng, monkeypatch):
    added = Question(name="bend", kind="jump", rows=1, is_lasting=False, statistic=bend)
    more = (*QUESTIONS, added)
    # An entry in the file needs none of this: only a test has to replace the list where it was
    # imported.
    for room in ("variables.questions", "variables.model", "variables.state", "state"):
        monkeypatch.setattr(f"smkc.evidence.{room}.QUESTIONS", more)
    monkeypatch.setitem(KIND_OF_EVIDENCE, added.name, added.kind)
    line = 40 * np.sin(np.arange(1600)[:, None] / np.array([61.0, 83.0, 97.0]))
    line += 0.02 * rng.normal(size=line.shape)
    line[1400:, 1] += 2.5  # small beside the waves, and a sharp bend
    detector = smkc.Detector().fit({"time": np.arange(1000), **named(line[:1000])})
    (found,) = detector.alerts({"time": np.arange(1000, 1600), **named(line[1000:])})
    assert found.first_row in (400, 401)
    assert found.causes[0].variable == "v1"
    nats = detector.fitted_.known.variables.tails["bend"].nats(np.float32([[0.0, 2.5, 0.0]]))
    assert nats[0, 1] > 8


def named(table):
    return {f"v{j}": table[:, j] for j in range(table.shape[1])}
