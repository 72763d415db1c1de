import numpy as np
import pytest
from tests import naive, promise, worlds

from smkc.errors import ModelFileError
from smkc.paper.density import KnnDensity, Projection
from smkc.paper.kernel import Representation, features, window_starts
from smkc.paper.sketch import Sketch

WINDOW = 8
NEIGHBOURS = 3
TOLERANCE = 2e-5  # a projection of float32 features against float64


def density(reference_size=1000, text="log3 band(3)", components=24):
    return KnnDensity.empty(
        window=WINDOW,
        representation=Representation.parse(text),
        sketch=Sketch(buckets=16),
        projection=Projection(components=components, seed=5),
        neighbours=NEIGHBOURS,
        least_filled=0.5,
        reference_size=reference_size,
    )


@pytest.fixture
def recording(rng):
    return worlds.recording_of(worlds.churn(rng, worlds.coupled(rng, 60, 4)))


def naive_vector(recording, start):
    rows = [recording.row(t) for t in range(start, start + WINDOW)]
    states = [naive.state(row, 16) for row in rows]
    log3 = ("log_g", "log_delta", "log_abs")
    features = naive.band(states, 3, log3).ravel()
    return (features @ Projection(components=24, seed=5).matrix(len(features))).tolist()


def test_scores_are_the_papers(recording):
    starts = window_starts(len(recording), WINDOW)
    learned = density().learned(recording, starts[:30])
    references = [naive_vector(recording, start) for start in range(30)]
    expected = [
        naive.knn_score(naive_vector(recording, start), references, NEIGHBOURS) for start in starts
    ]
    np.testing.assert_allclose(learned.scores(recording, starts), expected, atol=TOLERANCE)


@pytest.mark.parametrize("text", ["log3 band(3)", "log3 proj(5) band(1)", "seq"])
def test_references_are_projected_features(recording, text):
    starts = window_starts(len(recording), WINDOW)
    learned = density(text=text, components=64).learned(recording, starts)
    every = features(recording, starts, WINDOW, learned.representation, learned.sketch)
    expected = learned.projection.unit_vectors(every)
    promise.assert_features_agree(learned.references.vectors, expected)


def test_leaving_out_the_block_around_a_window(recording):
    starts = window_starts(len(recording), WINDOW)
    learned = density().learned(recording, starts)
    vectors = {start: naive_vector(recording, start) for start in range(len(starts))}
    guard = 2 * WINDOW
    expected = [
        naive.knn_score(
            vectors[a], [vectors[b] for b in range(len(starts)) if abs(a - b) >= guard], NEIGHBOURS
        )
        for a in range(len(starts))
    ]
    actual = learned.scores(recording, starts, guard)
    np.testing.assert_allclose(actual, expected, atol=TOLERANCE)


def test_windows_in_which_little_was_seen_have_no_score(rng):
    table = worlds.coupled(rng, 60, 3)
    table[20:30] = np.nan
    recording = worlds.recording_of(table)
    starts = window_starts(len(recording), WINDOW)
    scores = density().learned(recording, starts[:12]).scores(recording, starts)
    seen = [np.isfinite(table[s : s + WINDOW]).any(axis=1).mean() for s in starts]
    np.testing.assert_array_equal(np.isnan(scores), np.array(seen) < 0.5)


def test_more_windows_than_fit_stay_bounded(recording):
    starts = window_starts(len(recording), WINDOW)
    learned = density(reference_size=10).learned(recording, starts).learned(recording, starts)
    assert len(learned.references) == 10
    assert learned.references.seen == 2 * len(starts)


def test_typical_features_are_the_mean_of_those_kept(recording):
    starts = window_starts(len(recording), WINDOW)
    learned = density().learned(recording, starts[:10]).learned(recording, starts[10:40])
    log3_band = Representation.parse("log3 band(3)")
    offered = features(recording, starts[:40], WINDOW, log3_band, Sketch(buckets=16))
    np.testing.assert_allclose(learned.typical, offered.mean(axis=0), atol=1e-5)


def test_learning_nothing_changes_nothing(recording):
    starts = window_starts(len(recording), WINDOW)
    learned = density().learned(recording, starts)
    again = learned.learned(recording, starts[:0])
    np.testing.assert_array_equal(learned.references.vectors, again.references.vectors)
    np.testing.assert_array_equal(learned.typical, again.typical)


def test_saved_and_restored(recording):
    starts = window_starts(len(recording), WINDOW)
    learned = density().learned(recording, starts[:20])
    restored = density().restored(*learned.to_arrays())
    expected = learned.scores(recording, starts)
    np.testing.assert_array_equal(restored.scores(recording, starts), expected)


def test_another_generator_is_refused(recording):
    arrays, header = density().learned(recording, window_starts(60, WINDOW)).to_arrays()
    with pytest.raises(ModelFileError, match=r"random projection.*fit again"):
        density().restored(arrays, header | {"generator": "numpy.MT19937"})
    with pytest.raises(ModelFileError, match=r"random projection.*fit again"):
        density().restored(arrays, header | {"sha256": "0" * 64})
