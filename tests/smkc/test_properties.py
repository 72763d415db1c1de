"""Properties of scores that hold for any recording."""

import warnings

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests import promise, strategies, worlds

from smkc.errors import UnscoredWarning
from smkc.paper import KnnDetector
from smkc.paper.sketch import hash_names
from smkc.recording import Recording

WINDOW = 8
SMALL = {"window": WINDOW, "neighbours": 5, "components": 32, "representation": "log3 band(4)"}
RENAME_TOLERANCE = 1e-5  # buckets are summed in another order

pytestmark = pytest.mark.filterwarnings("ignore::smkc.errors.UnscoredWarning")


def fitted(scaling):
    table = worlds.coupled(np.random.default_rng(5), 300, 4)
    names = ["cpu", "mem", "v0", "v1"]
    return KnnDetector(**SMALL, scaling=scaling).fit(worlds.recording_of(table, names))


DETECTORS = {scaling: fitted(scaling) for scaling in ("robust", None)}
detectors = st.sampled_from(sorted(DETECTORS, key=str)).map(DETECTORS.__getitem__)
live_rows = strategies.rows(min_size=WINDOW, max_size=3 * WINDOW)


def recording_of(rows):
    return Recording.from_rows(range(len(rows)), rows)


def scores_of(det, recording):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UnscoredWarning)
        return det.score_windows(recording).score


@given(live_rows, detectors, st.randoms(use_true_random=False))
def test_shuffling_the_variables_changes_no_bit(rows, det, random):
    shuffled = []
    for row in rows:
        items = list(row.items())
        random.shuffle(items)
        shuffled.append(dict(items))
    expected = scores_of(det, recording_of(rows))
    np.testing.assert_array_equal(scores_of(det, recording_of(shuffled)), expected)


@given(live_rows, detectors, strategies.identifiers)
def test_a_variable_that_is_never_observed_changes_no_bit(rows, det, name):
    with_it = [{name: np.nan, **row} for row in rows]
    listed = recording_of(rows)
    listed = Recording(
        listed.times, listed.indptr, listed.codes, listed.values, (*listed.names, "\U0010ffff")
    )
    expected = scores_of(det, recording_of(rows))
    np.testing.assert_array_equal(scores_of(det, recording_of(with_it)), expected)
    np.testing.assert_array_equal(scores_of(det, listed), expected)


@given(live_rows, detectors)
def test_batch_is_stream_is_one_window_at_a_time(rows, det):
    recording = recording_of(rows)
    expected = scores_of(det, recording)
    stream = det.stream()
    # None is no score yet; NaN is a window in which too little was seen
    streamed = [stream.push(t, recording.row(t)) for t in range(len(rows))]
    assert streamed[: WINDOW - 1] == [None] * (WINDOW - 1)
    promise.assert_scores_agree(streamed[WINDOW - 1 :], expected)
    learned = det.fitted_
    prepared = learned.prepare(recording)
    starts = np.arange(len(expected))
    alone = [learned.density.scores(prepared, starts[b : b + 1])[0] for b in starts]
    promise.assert_scores_agree(alone, expected)


@given(live_rows, detectors, live_rows)
def test_later_rows_change_no_earlier_score(rows, det, later):
    expected = scores_of(det, recording_of(rows))
    actual = scores_of(det, recording_of(rows + later))
    promise.assert_scores_agree(actual[: len(expected)], expected)


@pytest.mark.parametrize("scaling", ["robust", None])
def test_later_rows_change_no_earlier_score_in_long_recordings(rng, scaling):
    det = DETECTORS[scaling]
    live = worlds.recording_of(worlds.churn(rng, worlds.coupled(rng, 2500, 6)))
    whole = scores_of(det, live)
    for n_rows in (8, 9, 23, 24, 263, 264, 265, 1031, 1032, 2100):
        promise.assert_scores_agree(scores_of(det, live.rows(0, n_rows)), whole[: n_rows - 7])


@settings(max_examples=15)
@given(st.integers(1, 2000), detectors, st.integers(0, 2**32))
def test_scores_are_finite_for_any_cardinality(cardinality, det, seed):
    rng = np.random.default_rng(seed)
    recording = worlds.recording_of(rng.normal(size=(2 * WINDOW, cardinality)))
    scores = scores_of(det, recording)
    assert np.isfinite(scores).all()
    assert ((scores >= 0) & (scores <= 2)).all()


@given(live_rows, detectors)
def test_scores_are_finite_or_nan_and_p_values_probabilities(rows, det):
    recording = recording_of(rows)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UnscoredWarning)
        windows = det.score_windows(recording)
    filled = np.array([len(row) > 0 for row in rows])
    enough = [filled[a : a + WINDOW].mean() >= 0.5 for a in windows.first_row]
    if det.scaling is None:  # scaling may leave observations out, such as a counter's first
        np.testing.assert_array_equal(np.isfinite(windows.score), enough)
    known = windows.p_value[~np.isnan(windows.score)]
    assert ((known > 0) & (known <= 1)).all()


@given(
    st.integers(0, 1000),
    st.lists(st.text("abcdef", min_size=1, max_size=6), min_size=3, max_size=3, unique=True),
)
def test_a_rename_without_collisions_changes_no_score(seed, names):
    old = ["cpu", "mem", "v0"]
    for some in (old, names):
        hashes = hash_names(some, 128)
        if len(set(hashes.value_bucket)) < 3 or len(set(hashes.presence_bucket)) < 3:
            return
    det = DETECTORS[None]
    table = worlds.coupled(np.random.default_rng(seed), 3 * WINDOW, 3)
    expected = scores_of(det, worlds.recording_of(table, old))
    actual = scores_of(det, worlds.recording_of(table, names))
    np.testing.assert_allclose(actual, expected, atol=RENAME_TOLERANCE)
