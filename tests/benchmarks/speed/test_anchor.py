"""The anchor computes the same numbers as the oracle: it is slow honestly, not wrongly."""

import numpy as np
import pytest
from tests import naive

from benchmarks.speed import anchor

# Gram-matrix distances lose digits where steps are close; 64-bit floats leave plenty.
TOLERANCE = 1e-9


@pytest.fixture
def window():
    rng = np.random.default_rng(11)
    values = rng.normal(size=(12, 5)).cumsum(axis=0)
    observed = rng.random((12, 5)) > 0.2
    observed[4] = False
    return values, observed


NAMES = ["cpu", "mem", 'up{job="a"}', "temp\u00e9rature", "v"]


def expected_states(window, m):
    rows = [
        {name: value for name, value, seen in zip(NAMES, *step, strict=True) if seen}
        for step in zip(*window, strict=True)
    ]
    return [naive.state(row, m=m) for row in rows]


@pytest.mark.parametrize("m", [2, 128])
def test_anchor_equals_the_oracle(window, m):
    g = expected_states(window, m)
    actual = anchor.Anchor(NAMES, m)
    np.testing.assert_allclose(actual.states(*window), g, rtol=0, atol=TOLERANCE)
    np.testing.assert_allclose(actual.image(*window), naive.image(g), rtol=0, atol=TOLERANCE)
    expected = naive.band(g, 8, ["log_g", "log_delta", "log_abs"])
    np.testing.assert_allclose(actual.log3_band(*window), expected, rtol=0, atol=TOLERANCE)


def test_anchor_scores_as_the_oracle_does():
    rng = np.random.default_rng(12)
    features, projection = rng.normal(size=30), rng.normal(size=(30, 6))
    references = rng.normal(size=(25, 6))
    unit = references / np.linalg.norm(references, axis=1, keepdims=True)
    expected = naive.knn_score(features @ projection, references.tolist(), 20)
    actual = anchor.knn_score(features, projection, unit)
    assert actual == pytest.approx(expected, abs=TOLERANCE)
