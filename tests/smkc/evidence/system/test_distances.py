"""Distances between windows, against loops in plain NumPy."""

import numpy as np
import pytest

from smkc.evidence.system._distances import nearest_windows, row_distances, window_residuals
from smkc.evidence.system.neighbours import Neighbours, carried_forward

CLOSE = {"rtol": 2e-5, "atol": 1e-5}


def ref_distance(window, stored):
    """Sum of squared differences over what the window observes."""
    difference = window - stored
    return np.nansum(difference**2)


@pytest.mark.parametrize("n_variables", [1, 3, 4, 9])
def test_rows(rng, n_variables):
    rows = rng.normal(size=(5, n_variables)).astype(np.float32)
    rows[rng.random(rows.shape) < 0.3] = np.nan
    rows[2] = np.nan
    stored = rng.normal(size=(n_variables, 700)).astype(np.float32)
    actual = np.empty((5, 700), np.float32)
    row_distances(rows, stored, actual)
    expected = [[ref_distance(row, one) for one in stored.T] for row in rows]
    np.testing.assert_allclose(actual, expected, **CLOSE)
    alone = np.empty((1, 700), np.float32)
    row_distances(rows[3:4], stored, alone)
    np.testing.assert_array_equal(alone[0], actual[3])


@pytest.mark.parametrize("w", [1, 3])
def test_windows(rng, w):
    n, n_variables, n_stored = 6, 4, 51
    rows = rng.normal(size=(w - 1 + n, n_variables)).astype(np.float32)
    rows[rng.random(rows.shape) < 0.2] = np.nan
    stored = rng.normal(size=(n_variables, n_stored)).astype(np.float32)
    penalty = np.where(rng.random(n_stored) < 0.3, np.inf, 0.0).astype(np.float32)
    penalty[: w - 1] = np.inf
    history = np.empty((len(rows), n_stored), np.float32)
    row_distances(rows, stored, history)
    distances, places = np.empty(n), np.empty(n, np.int64)
    nearest_windows(history, rows, penalty, distances, places)
    residuals = np.empty((n, n_variables), np.float32)
    window_residuals(rows, stored, places, residuals)
    for i in range(n):
        window = rows[i : i + w]
        n_observed = (~np.isnan(window)).sum()
        total = np.full(n_stored, np.inf)
        for s in range(w - 1, n_stored):
            total[s] = ref_distance(window, stored[:, s - w + 1 : s + 1].T) + penalty[s]
        assert distances[i] == pytest.approx(np.sqrt(total.min() / max(n_observed, 1)), rel=1e-4)
        assert places[i] == np.argmin(total)
        each = (window - stored[:, places[i] - w + 1 : places[i] + 1].T) ** 2
        seen = ~np.isnan(window).all(axis=0)
        np.testing.assert_allclose(residuals[i, seen], np.nanmean(each[:, seen], 0), **CLOSE)
        assert np.isnan(residuals[i, ~seen]).all()


def test_fitted_neighbours_weigh_variables_by_what_is_expected(rng):
    rows = np.column_stack([rng.normal(size=300), 5.0 * rng.normal(size=300)]).astype(np.float32)
    fitted = Neighbours.fit(rows, 2)
    assert fitted.expected[1] > 1.5 * fitted.expected[0]
    state = fitted.start(rows[-1:])
    rare = np.array([[4.0, 0.0], [0.0, 4.0]], np.float32)
    distances, residuals = state.push(np.repeat(rare, 2, axis=0))
    assert distances[1] > 2.0 * distances[3]
    assert residuals.shape == (4, 2)


def test_long_references_are_taken_in_runs(rng):
    rows = rng.normal(size=(5000, 2)).astype(np.float32)
    fitted = Neighbours.fit(rows, 4, most=640)
    ends = np.flatnonzero(fitted.penalty == 0)
    assert len(ends) == 640
    window = fitted.stored[:, ends[100] - 3 : ends[100] + 1].T
    view = np.lib.stride_tricks.sliding_window_view(rows, 4, axis=0).transpose(0, 2, 1)
    assert (view == window).all(axis=(1, 2)).any()


def test_constant_and_absent_variables_do_no_harm():
    rows = np.full((100, 3), np.nan, np.float32)
    rows[:, 0] = 1.0
    rows[:, 1] = np.arange(100) % 5
    fitted = Neighbours.fit(rows, 2)
    assert (fitted.expected > 0).all()
    assert np.isfinite(fitted.stored).all()


def test_gaps_are_carried_forward():
    rows = np.array([[np.nan, 1.0], [3.0, np.nan], [np.nan, np.nan]], np.float32)
    assert carried_forward(rows).tolist() == [[0.0, 1.0], [3.0, 1.0], [3.0, 1.0]]
