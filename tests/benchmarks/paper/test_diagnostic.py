"""The cosine diagnostic: cosines do not see magnitude, log distances do."""

import numpy as np
import pytest

from benchmarks.paper.diagnostic import COLUMNS, TASKS, Diagnostic
from benchmarks.world import TRAINING, World, generate
from smkc.errors import InputError, SettingError

# 150 against 150 windows: an AUROC without signal has a standard deviation of 0.033.
CHANCE = 0.1


@pytest.fixture(scope="module")
def windows():
    return generate(World(), pool=TRAINING, n_windows=300, cardinality=8, length=32, seed=(1, 2))


@pytest.fixture(scope="module")
def diagnosis(windows):
    return Diagnostic(seed=3).run(windows)


def test_cosines_do_not_tell_scaled_windows_and_log_distances_do(diagnosis):
    assert tuple(diagnosis.rows) == TASKS
    figures = dict(zip(COLUMNS, diagnosis.rows["amplitude scaling"], strict=True))
    assert abs(figures["cosine_auroc"] - 0.5) < CHANCE
    assert abs(figures["cosine_auprc"] - 0.5) < CHANCE
    assert figures["logdist_auroc"] > 0.99
    assert figures["logdist_auprc"] > 0.99


def test_an_added_vector_lowers_the_mean_cosine_and_lifts_the_log_distances(diagnosis):
    figures = dict(zip(COLUMNS, diagnosis.rows["additive perturbation"], strict=True))
    assert figures["cosine_auroc"] < 0.4
    assert figures["logdist_auroc"] > 0.99


def test_scaling_changes_no_cosine_but_by_rounding(diagnosis):
    assert 0 < diagnosis.cosine_max_difference <= diagnosis.cosine_max_difference_of_all < 1e-6
    assert diagnosis.logdist_max_difference > 1


def test_the_example_is_what_the_figures_are_of(diagnosis):
    example = diagnosis.example
    change = np.abs(example.after - example.before)
    assert change[0].max() == np.float32(diagnosis.cosine_max_difference)
    assert change[1].max() == np.float32(diagnosis.logdist_max_difference)
    first, end = example.segment
    assert 4 <= end - first <= 8
    # Distances outside the segment change by the window's sigma alone: all by one law.
    outside = np.r_[0:first, end:32]
    ratio = np.expm1(example.after[1]) / np.maximum(np.expm1(example.before[1]), 1e-9)
    ratio = ratio[np.ix_(outside, outside)][~np.eye(len(outside), dtype=bool)]
    np.testing.assert_allclose(ratio, np.median(ratio), rtol=1e-3)


def test_the_same_seed_gives_the_same_figures(windows, diagnosis):
    assert Diagnostic(seed=3).run(windows).rows == diagnosis.rows
    assert Diagnostic(seed=4).run(windows).rows != diagnosis.rows


def test_anomalous_windows_are_left_out(windows):
    mixed = generate(
        World(), pool=TRAINING, n_windows=20, cardinality=8, length=32, rate=0.5, seed=(5,)
    )
    assert Diagnostic().run(mixed).rows == Diagnostic().run(mixed.normal()).rows


def test_what_makes_no_sense_is_refused(windows):
    with pytest.raises(InputError, match="needs 2 at least"):
        Diagnostic().run(windows.take(slice(0, 1)))
    with pytest.raises(SettingError, match="factor=0"):
        Diagnostic(factor=0.0)
    with pytest.raises(SettingError, match="segment="):
        Diagnostic(segment=(0.5, 0.2))
