"""Collision fractions against sets, and against the paper's figures."""

import numpy as np
import pytest
from tests.benchmarks.baselines.made_windows import made_windows

from benchmarks.paper.collisions import collision_fractions
from benchmarks.protocols import PROTOCOLS, Splits
from benchmarks.windows import PADDING
from smkc.errors import InputError
from smkc.paper.sketch import hash_identifier

# Buckets: the paper's fractions, of the value and of the presence stream.
REPORTED = {32: (0.0406, 0.0402), 64: (0.0208, 0.0205), 128: (0.0114, 0.0099)}
FROM_THE_PAPER = 0.005


@pytest.mark.parametrize("buckets", REPORTED)
def test_training_windows_collide_as_often_as_the_papers(buckets):
    windows = Splits(seed=0).train(PROTOCOLS["holdout_C"])
    actual = collision_fractions(windows, buckets)
    np.testing.assert_allclose(actual, REPORTED[buckets], atol=FROM_THE_PAPER)


@pytest.mark.parametrize("buckets", [1, 3, 16])
def test_fractions_are_as_sets_say(rng, buckets):
    windows = made_windows(rng, 30, n_places=6).padded_to(9)
    expected = []
    for stream in (0, 2):
        fractions = []
        for places in windows.variables:
            names = [windows.names[j] for j in places if j != PADDING]
            distinct = {hash_identifier(name, buckets)[stream] for name in names}
            fractions.append(1 - len(distinct) / len(names))
        expected.append(np.mean(fractions))
    np.testing.assert_allclose(collision_fractions(windows, buckets), expected, rtol=1e-12)


def test_a_single_variable_never_collides(rng):
    windows = made_windows(rng, 5, n_places=1)
    assert collision_fractions(windows.padded_to(4), 1) == (0.0, 0.0)


def test_no_windows_are_refused(rng):
    with pytest.raises(InputError, match="at least one"):
        collision_fractions(made_windows(rng, 2).take(slice(0, 0)), 16)
