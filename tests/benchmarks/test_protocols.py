"""Protocols: who learns from what, and that tests are shared and kept apart."""

import numpy as np
import pytest

from benchmarks.protocols import PROTOCOLS, RATES, Sizes, Splits, find_protocol
from benchmarks.world import find_world
from smkc.errors import SettingError

SPLITS = Splits(seed=4, sizes=Sizes(train=12, validation=20, test=40))


def test_the_protocols_are_the_papers():
    assert PROTOCOLS["in_dist_C"].train == PROTOCOLS["in_dist_C"].test == (1, 2, 3, 4, 6, 8, 12, 16)
    assert PROTOCOLS["holdout_C"].train == (1, 2, 4, 8)
    assert PROTOCOLS["holdout_C"].test == (3, 6, 12, 16)
    assert RATES == (0.01, 0.05, 0.10, 0.20)
    with pytest.raises(SettingError, match="in_dist_C, holdout_C"):
        find_protocol("holdout")


def test_splits_have_the_sizes_and_rates_asked_for():
    holdout = find_protocol("holdout_C")
    train, validation = SPLITS.train(holdout), SPLITS.validation(holdout)
    assert (np.unique(train.cardinality, return_counts=True)[1] == 12).all()
    assert not train.is_anomalous.any()
    assert validation.is_anomalous.sum() == 8
    assert SPLITS.test(6, 0.2).is_anomalous.sum() == 8


def test_protocols_share_training_windows_of_shared_cardinalities():
    few = SPLITS.train(find_protocol("holdout_C"))
    many = SPLITS.train(find_protocol("in_dist_C"))
    shared = many.take(many.cardinality == 8)
    np.testing.assert_array_equal(few.take(few.cardinality == 8).values, shared.values[:, :, :8])


def test_no_two_splits_are_alike():
    holdout = find_protocol("holdout_C")
    validation = SPLITS.validation(holdout)
    train = SPLITS.train(holdout)
    seen = [
        train.take(train.cardinality == 4).values[0, :, :4],
        validation.take(validation.cardinality == 4).values[0, :, :4],
        *(SPLITS.test(4, rate).values[0] for rate in RATES),
        Splits(seed=5, sizes=SPLITS.sizes).test(4, 0.1).values[0],
    ]
    assert len({array.tobytes() for array in seen}) == len(seen)


def test_tests_use_variables_that_were_never_learned_from():
    assert SPLITS.test(4, 0.1).names[0].startswith("eval")
    assert SPLITS.train(find_protocol("holdout_C")).names[0].startswith("train")
    seen = Splits(seed=4, sizes=SPLITS.sizes, world=find_world("seen-variables"))
    assert seen.test(4, 0.1).names[0].startswith("train"), "unless that is what is asked for"
