import numpy as np
import pytest
from tests import worlds

from smkc.decide import step_scores
from smkc.errors import ModelFileError
from smkc.paper import KnnDetector
from smkc.paper import fitted as module

SMALL = {"window": 16, "neighbours": 5, "components": 32, "false_alarm_rate": 0.05}


@pytest.fixture(scope="module")
def reference():
    rng = np.random.default_rng(2)
    return worlds.recording_of(worlds.churn(rng, worlds.coupled(rng, 600, 4)))


@pytest.fixture(scope="module")
def learned(reference):
    return KnnDetector(**SMALL).fit(reference).fitted_


def test_every_reference_window_calibrates_with_its_block_left_out(learned, reference):
    prepared = learned.prepare(reference)
    starts = np.arange(len(reference) - 15)
    scores = learned.left_out_scores(prepared, starts)
    expected = np.sort(scores[np.isfinite(scores)])
    np.testing.assert_array_equal(learned.of_windows.null, expected)
    # the guard is four windows
    guarded = learned.density.scores(prepared, starts, 64)
    np.testing.assert_array_equal(scores, guarded)


def test_steps_calibrate_where_all_their_windows_are(learned, reference):
    scores = learned.left_out_scores(learned.prepare(reference), np.arange(585))
    steps = step_scores(scores, np.arange(585), 16, 600, "sharp")[15:-15]
    np.testing.assert_array_equal(learned.of_steps.null, np.sort(steps[np.isfinite(steps)]))


def test_neighbouring_scores_count_as_one(learned):
    assert learned.of_windows.n_independent == pytest.approx(len(learned.of_windows.null) / 8)
    assert learned.of_steps.n_independent == pytest.approx(len(learned.of_steps.null) / 24)


def test_long_reference_data_are_calibrated_on_runs(reference, monkeypatch):
    monkeypatch.setattr(module, "MAX_CALIBRATED_WINDOWS", 320)
    monkeypatch.setattr(module, "CALIBRATED_RUNS", 4)
    learned = KnnDetector(**SMALL).fit(reference).fitted_
    assert 280 <= len(learned.of_windows.null) <= 320
    assert len(learned.density.references) == 585 - int(
        np.isnan(learned.density.scores(learned.prepare(reference), np.arange(585))).sum()
    )


def test_learning_leaves_the_original_alone(learned, reference):
    before = learned.of_windows.null.copy(), learned.density.references.vectors.copy()
    more = learned.updated(reference, seed=0)
    np.testing.assert_array_equal(learned.of_windows.null, before[0])
    np.testing.assert_array_equal(learned.density.references.vectors, before[1])
    assert len(more.of_windows.null) == 2 * len(before[0])
    assert more.of_windows.n_independent == 2 * learned.of_windows.n_independent


def test_null_scores_are_bounded(learned, reference, monkeypatch):
    monkeypatch.setattr(module, "MAX_NULL_SCORES", 700)
    more = learned.updated(reference, seed=0)
    assert len(more.of_windows.null) == len(more.of_steps.null) == 700
    assert more.of_windows.n_independent == 2 * learned.of_windows.n_independent


@pytest.mark.parametrize("number", [0.0, -1.0, 1e300, "many", 3])
def test_a_number_of_independent_scores_that_makes_no_sense(learned, number):
    arrays, header = learned.to_arrays()
    empty = KnnDetector(**SMALL)._empty()
    with pytest.raises(ModelFileError, match=r"calibration of windows.*fit again"):
        empty.restored(arrays, header | {"independent_windows": number})
