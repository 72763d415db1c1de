"""Comparisons: what recordings drawn anew would undo, ranks, and their critical difference."""

import numpy as np
import pytest

from benchmarks.real.comparison import critical_difference, mean_ranks, paired_series
from benchmarks.real.plan import Column
from smkc.errors import InputError

SMD, CHURNED, ONE = Column("smd"), Column("smd", "full"), Column("lro")


def test_a_difference_in_every_recording_is_certain():
    theirs = {SMD: np.array([0.1, 0.5, 0.3, 0.2]), ONE: np.array([0.4])}
    ours = {column: values + 0.1 for column, values in theirs.items()}
    test = paired_series(ours, theirs, n=999)
    assert test.difference == pytest.approx(0.1)
    assert (test.low, test.high) == pytest.approx((0.1, 0.1))
    assert test.p_value == pytest.approx(2 / 1000)


def test_a_difference_in_one_recording_is_not():
    theirs = {SMD: np.full(6, 0.5)}
    ours = {SMD: np.array([0.9, 0.45, 0.48, 0.5, 0.52, 0.47])}
    test = paired_series(ours, theirs, n=999)
    assert test.low < 0 < test.high
    assert test.p_value > 0.05


def test_columns_count_alike_however_many_recordings_they_have():
    theirs = {SMD: np.zeros(8), ONE: np.zeros(1)}
    ours = {SMD: np.full(8, 0.2), ONE: np.array([0.4])}
    assert paired_series(ours, theirs, n=99).difference == pytest.approx(0.3)


def test_columns_of_one_dataset_share_their_draws():
    rng = np.random.default_rng(0)
    change = rng.normal(size=12)
    zeros = np.zeros(12)
    cancelled = paired_series({SMD: change, CHURNED: -change}, {SMD: zeros, CHURNED: zeros}, n=99)
    assert (cancelled.low, cancelled.high, cancelled.p_value) == (0.0, 0.0, 1.0)


def test_the_same_seed_gives_the_same_test():
    rng = np.random.default_rng(1)
    ours, theirs = ({SMD: rng.normal(size=9)} for _ in range(2))
    assert paired_series(ours, theirs, n=200) == paired_series(ours, theirs, n=200)
    assert paired_series(ours, theirs, n=200) != paired_series(ours, theirs, n=200, seed=1)


def test_other_columns_cannot_be_compared():
    with pytest.raises(InputError, match="different columns"):
        paired_series({SMD: np.zeros(2)}, {ONE: np.zeros(2)})


def test_ranks_are_shared_by_ties():
    assert mean_ranks([[3, 1], [3, 2], [1, 3]]) == [2.25, 1.75, 2.0]


def test_the_critical_difference_is_nemenyis():
    # Demsar (2006), table 5: q = 2.343 for 3 methods and 3.164 for 10, over sqrt(k (k+1) / (6 N)).
    assert critical_difference(3, 10) == pytest.approx(2.343 * np.sqrt(12 / 60), abs=1e-3)
    assert critical_difference(10, 30) == pytest.approx(3.164 * np.sqrt(110 / 180), abs=1e-3)
