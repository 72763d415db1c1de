"""Means, components and surprises, against plain NumPy."""

import numpy as np
import pytest

from smkc.evidence.settings import SETTINGS
from smkc.evidence.system._loops import component_residuals, trailing_means
from smkc.evidence.system.components import Components
from smkc.evidence.system.levels import Slow
from smkc.evidence.system.nulls import Nulls


def test_means_of_what_was_observed(rng):
    rows = rng.normal(size=(40, 3)).astype(np.float32)
    rows[rng.random(rows.shape) < 0.5] = np.nan
    actual = np.empty((35, 3), np.float32)
    trailing_means(rows, 6, 2.0, actual)
    for i, found in enumerate(actual):
        for j in range(3):
            seen = rows[i : i + 6, j]
            seen = seen[~np.isnan(seen)]
            expected = seen.mean() if len(seen) >= 2 else np.nan
            np.testing.assert_allclose(found[j], expected, rtol=1e-5, atol=1e-6)


def test_components_of_what_was_observed(rng):
    rows = rng.normal(size=(6, 5))
    rows[0, 1] = rows[1, [0, 4]] = np.nan
    loadings, prior = rng.normal(size=(2, 5)), np.array([0.1, 0.2])
    actual = np.empty(rows.shape)
    component_residuals(rows, loadings, prior, actual)
    for row, found in zip(rows, actual, strict=True):
        seen = ~np.isnan(row)
        some = loadings[:, seen]
        value = np.linalg.solve(some @ some.T + np.diag(prior), some @ row[seen])
        np.testing.assert_allclose(found[seen], row[seen] - value @ some, atol=1e-10)
        assert np.isnan(found[~seen]).all()


def test_components_see_a_broken_relation(rng):
    common = rng.normal(size=(400, 1))
    rows = (common * [1.0, 1.0, -1.0] + 0.1 * rng.normal(size=(400, 3))).astype(np.float32)
    fitted = Components.fit(rows)
    assert fitted.loadings.shape == (1, 3)
    assert Components.fit(np.ones((30, 1), np.float32)).loadings.shape[1] == 1


def test_trailing_means_do_not_depend_on_cuts(rng):
    rows = rng.normal(size=(40, 3)).astype(np.float32)
    expected = Slow(3, 4).push(rows)
    parts = Slow(3, 4)
    actual = [parts.push(rows[:1]), parts.push(rows[1:19]), parts.push(rows[19:])]
    np.testing.assert_array_equal(np.concatenate(actual), expected)


def test_surprises_are_ranks_then_a_power_law(rng):
    sample = rng.normal(size=500)
    nulls = Nulls.of(np.stack([sample, np.full(500, np.nan)]))
    nats = nulls.nats(np.column_stack([sample, np.zeros(500)]))[:, 0]
    assert np.mean(nats >= -np.log(0.1)) == pytest.approx(0.1, abs=0.01)
    order = np.argsort(sample)
    assert (np.diff(nats[order]) >= 0).all()
    far = nulls.nats(np.array([[1e2, 0.0], [1e3, 0.0]]))[:, 0]
    assert far[1] - far[0] == pytest.approx(4 * np.log(10), rel=0.02)


def test_an_evidence_that_was_seldom_asked_says_nothing(rng):
    samples = rng.normal(size=(2, 400))
    samples[1, SETTINGS.min_observations - 1 :] = np.nan
    nats = Nulls.of(samples).nats(np.full((3, 2), 9.0))
    assert (nats[:, 0] > 3.0).all()
    assert np.isnan(nats[:, 1]).all()
    samples[1, : SETTINGS.min_observations] = 0.0
    assert np.isfinite(Nulls.of(samples).nats(np.full((3, 2), 9.0))).all()
