"""Distances between windows, against loops in plain NumPy."""

import numpy as np
import pytest

from smkc.evidence.reference._distances import nearest_windows, row_distances, window_residuals
from smkc.evidence.reference.choices import Choices
from smkc.evidence.reference.memory import Memory
from smkc.evidence.reference.neighbours import Neighbours, carried_forward

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
    """Windows of the reference and of a ring that is written across its end."""
    n, n_variables, n_reference, n_ring, k = 6, 4, 40, 11, 3
    rows = rng.normal(size=(w - 1 + n, n_variables)).astype(np.float32)
    rows[rng.random(rows.shape) < 0.2] = np.nan
    stored = rng.normal(size=(n_variables, n_reference + n_ring)).astype(np.float32)
    penalty = np.where(rng.random(n_reference + n_ring) < 0.3, np.inf, 0.0).astype(np.float32)
    penalty[: w - 1] = np.inf
    history = np.empty((len(rows), stored.shape[1]), np.float32)
    row_distances(rows, stored, history)
    waiting = np.array([0, 5, 10])
    near = np.zeros(3, np.int64)
    distances, places = np.empty((n, 2)), np.empty((n, k), np.int64)
    nearest_windows(history, rows, n_reference, penalty, waiting, 1.2, near, distances, places)
    residuals = np.empty((n, n_variables), np.float32)
    window_residuals(rows, stored, n_reference, places, residuals)

    def stored_window(s):
        lags = np.arange(w - 1, -1, -1)
        at = s - lags if s < n_reference else n_reference + (s - n_reference - lags) % n_ring
        return stored[:, at].T

    ref_near = np.zeros(3, int)
    for i in range(n):
        window = rows[i : i + w]
        n_observed = (~np.isnan(window)).sum()
        total = np.full(stored.shape[1], np.inf)
        for s in range(w - 1, stored.shape[1]):
            total[s] = ref_distance(window, stored_window(s)) + penalty[s]
        ref_near += [
            ref_distance(window, stored_window(n_reference + p)) <= 1.44 * n_observed
            for p in waiting
        ]
        for column, some in enumerate((total[:n_reference], total)):
            mean = np.sort(some)[:k].mean() / max(n_observed, 1)
            assert distances[i, column] == pytest.approx(np.sqrt(mean), rel=1e-4)
        assert places[i].tolist() == np.argsort(total)[:k].tolist()
        each = np.stack([(window - stored_window(s)) ** 2 for s in places[i]])
        seen = ~np.isnan(window).all(axis=0)
        np.testing.assert_allclose(
            residuals[i, seen], np.nanmean(each[:, :, seen], (0, 1)), **CLOSE
        )
        assert np.isnan(residuals[i, ~seen]).all()
    assert near.tolist() == ref_near.tolist()


def test_fitted_neighbours_weigh_variables_by_what_is_expected(rng):
    rows = np.column_stack([rng.normal(size=300), 5.0 * rng.normal(size=300)]).astype(np.float32)
    fitted = Neighbours.fit(rows, 2)
    assert fitted.expected[1] > 1.5 * fitted.expected[0]
    memory = Memory(Choices(window=2, block=8, quarantine=100, memory=64), 1)
    state = fitted.start(rows[-1:], memory)
    rare = np.array([[4.0, 0.0], [0.0, 4.0]], np.float32)
    distances, residuals = state.push(np.repeat(rare, 2, axis=0))
    assert distances[1, 0] > 2.0 * distances[3, 0]
    assert residuals.shape == (4, 2)
    np.testing.assert_array_equal(distances[:, 0], distances[:, 1])  # nothing was admitted yet


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
