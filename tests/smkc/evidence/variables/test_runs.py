"""Surprises of values that are repeated, against plain Python."""

import numpy as np
import pytest
from tests import naive_variables as naive

from smkc.evidence.variables.questions import FROZEN, Statistics
from smkc.evidence.variables.runs import Runs

# Surprises are kept in float32.
CLOSE = 1e-5

N = 400


@pytest.fixture
def values(rng):
    """Return columns: noise, with some runs, with gaps, of few values, constant, seldom seen."""
    values = rng.normal(size=(N, 6)).astype(np.float32)
    for t in range(1, N):
        if rng.random() < 0.2:
            values[t, 1] = values[t - 1, 1]
    values[rng.random(N) < 0.5, 2] = np.nan
    values[:, 3] = np.round(values[:, 3], 1)
    values[:, 4] = 7.0
    values[20:, 5] = np.nan
    return values


def fitted(values):
    return Runs.fit(Statistics(values.shape[1]).push(values)[FROZEN], values)


def test_surprises_are_those_of_plain_python(values):
    lengths = np.repeat(np.array([np.nan, 1, 2, 3, 4, 5, 8, 20, 500], np.float32)[:, None], 6, 1)
    expected = [
        [naive.run_surprise(column.astype(float).tolist(), float(length)) for column in values.T]
        for length in lengths[:, 0]
    ]
    actual = fitted(values).nats(lengths)
    np.testing.assert_allclose(actual, expected, rtol=CLOSE)
    assert (actual[2:, 0] > 0.0).all(), "noise never repeats itself"
    assert (actual[:, 3:] == 0.0).all(), "nothing to say of those that usually repeat themselves"


def test_surprises_grow_with_the_run_and_then_no_more(values):
    lengths = np.repeat(np.arange(1, 200, dtype=np.float32)[:, None], 6, axis=1)
    nats = fitted(values).nats(lengths)
    assert (np.diff(nats, axis=0) >= 0).all()
    assert nats[-1, :3].tolist() == [40.0] * 3


def test_what_the_reference_showed_is_no_surprise(values):
    assert (fitted(values).nats(Statistics(6).push(values)[FROZEN]) == 0.0).all()


@pytest.mark.parametrize("shape", [(0, 3), (5, 0), (1, 1)])
def test_short_and_empty_references_claim_nothing(shape):
    nats = fitted(np.zeros(shape, np.float32)).nats(np.full((2, shape[1]), 50.0, np.float32))
    assert nats.shape == (2, shape[1])
    assert (nats == 0.0).all()


def test_edges_are_values_that_the_reference_repeated(values):
    values[[3, 9], 0] = -9.0
    edges = fitted(values).edges
    assert edges[0, 0] == -9.0
    assert np.isnan(edges[1, 0])
    assert edges[:, 4].tolist() == [7.0, 7.0]
    assert fitted(values).are_at_edges(values)[:, 0].sum() == 2
