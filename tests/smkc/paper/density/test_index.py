import pickle
import sys

import numpy as np
import pytest
from tests import promise

from smkc import model_file
from smkc.errors import MissingExtraError, ModelFileError
from smkc.paper.density import KnnDensity, Projection, ReferenceSet, reference
from smkc.paper.density.index import CELLS_PER_PROBE, learned_centres, need_faiss
from smkc.paper.kernel import Representation, window_starts
from smkc.paper.sketch import Sketch
from smkc.recording import Recording

has_faiss = True
try:
    import faiss  # noqa: F401
except ModuleNotFoundError:
    has_faiss = False

needs_faiss = pytest.mark.skipif(not has_faiss, reason='needs pip install ".[ann]"')

NEIGHBOURS = 20
TOLERANCE = 1e-12  # of distances that are measured in float64


def unit_vectors(rng, n, d=16):
    """Return vectors around a few directions, as windows of a recording are."""
    centres = np.random.default_rng(5).normal(size=(12, d))
    vectors = centres[rng.integers(0, 12, n)] + 0.6 * rng.normal(size=(n, d))
    return (vectors / np.linalg.norm(vectors, axis=1, keepdims=True)).astype(np.float32)


def exact(vectors, rows=None):
    rows = np.arange(len(vectors)) if rows is None else rows
    return ReferenceSet(vectors, len(vectors), 10**6, np.asarray(rows, np.int64))


@pytest.fixture
def from_500(monkeypatch):
    monkeypatch.setattr(reference, "APPROXIMATE_FROM", 500)


@pytest.fixture
def large(rng, from_500):
    found = exact(unit_vectors(rng, 6000)).indexed(seed=3)
    assert found.index is not None
    return found


def recall(candidates, queries, vectors, n=NEIGHBOURS):
    nearest = np.argsort(-(queries @ vectors.T), axis=1)[:, :n]
    return np.mean([len(set(a) & set(b)) / n for a, b in zip(nearest, candidates, strict=True)])


@needs_faiss
def test_most_of_the_nearest_are_found_and_their_distances_are_true(rng, large):
    queries = unit_vectors(rng, 300)
    found = large.index.candidates(queries, 500)
    assert recall(found, queries, large.vectors) >= 0.95
    expected = exact(large.vectors).mean_distance(queries, NEIGHBOURS)
    actual = large.mean_distance(queries, NEIGHBOURS)
    assert (actual >= expected - TOLERANCE).all()  # a neighbour that was missed is no nearer one
    np.testing.assert_allclose(actual, expected, rtol=0.05)


@needs_faiss
def test_a_window_does_not_depend_on_the_others(rng, large):
    queries = unit_vectors(rng, 600)
    expected = large.mean_distance(queries, NEIGHBOURS)
    for n in (1, 7, 16, 255, 257):
        promise.assert_scores_agree(large.mean_distance(queries[:n], NEIGHBOURS), expected[:n])
    alone = [large.mean_distance_of_one(query, NEIGHBOURS) for query in queries[:40]]
    promise.assert_scores_agree(alone, expected[:40])


@needs_faiss
def test_references_nearby_are_left_out(rng, large):
    queries, rows = large.vectors[100:200], np.arange(100, 200)
    expected = exact(large.vectors).mean_distance(queries, NEIGHBOURS, rows, 30)
    actual = large.mean_distance(queries, NEIGHBOURS, rows, 30)
    np.testing.assert_allclose(actual, expected, rtol=0.05)
    assert (actual > large.mean_distance(queries, NEIGHBOURS)).all()  # which finds itself


@needs_faiss
def test_too_few_candidates_fall_back_to_all_references(rng, from_500):
    stored = exact(unit_vectors(rng, 2000)).indexed(seed=3)
    assert 2000 / CELLS_PER_PROBE < 900  # more than the cells that are searched hold
    queries, rows = stored.vectors[1000:1020], np.arange(1000, 1020)
    plain = exact(stored.vectors)
    promise.assert_scores_agree(
        stored.mean_distance(queries, 900), plain.mean_distance(queries, 900)
    )
    promise.assert_scores_agree(
        stored.mean_distance(queries, 900, rows, 30),
        plain.mean_distance(queries, 900, rows, 30),
    )
    assert np.isnan(stored.mean_distance(queries, 900, rows, 10**6)).all()


@needs_faiss
def test_the_same_vectors_and_seed_give_the_same_cells(large):
    np.testing.assert_array_equal(learned_centres(large.vectors, 3), large.index.centres)


@needs_faiss
def test_replaced_references_are_found_and_the_old_ones_are_not(rng, large):
    new, queries = unit_vectors(rng, 50), unit_vectors(rng, 20)
    before = large.mean_distance(queries, NEIGHBOURS)
    places = np.concatenate([np.arange(25), 6000 + np.arange(25)])
    both = large.replaced(places, new, np.arange(50), 50)
    assert both.index is not None
    assert both.index.centres is large.index.centres
    nearest = exact(both.vectors).mean_distance(new, 1)
    np.testing.assert_allclose(both.mean_distance(new, 1), nearest, atol=TOLERANCE)
    np.testing.assert_array_equal(large.mean_distance(queries, NEIGHBOURS), before)


@needs_faiss
def test_an_index_is_learned_anew_once_the_set_has_grown(rng, large):
    more = unit_vectors(rng, 60_000)
    grown = large.replaced(6000 + np.arange(60_000), more, np.arange(60_000), 60_000)
    assert grown.index is None
    assert len(grown.indexed(3).index.centres) > 2 * len(large.index.centres)


@needs_faiss
def test_an_index_can_be_copied(rng, large):
    queries = unit_vectors(rng, 9)
    again = pickle.loads(pickle.dumps(large))
    expected = large.mean_distance(queries, NEIGHBOURS)
    np.testing.assert_array_equal(again.mean_distance(queries, NEIGHBOURS), expected)


# ---------------------------------------------------------------------- the density


def recording(rng, n_rows=700):
    values = rng.normal(size=(n_rows, 3)).cumsum(axis=0)
    rows = [dict(zip("abc", map(float, step), strict=True)) for step in values]
    return Recording.from_rows(range(n_rows), rows)


def density():
    return KnnDensity.empty(
        window=16,
        representation=Representation.parse("log3 band(4)"),
        sketch=Sketch(buckets=16),
        projection=Projection(components=16),
        neighbours=5,
        least_filled=0.5,
        reference_size=4000,
    )


@needs_faiss
@pytest.mark.usefixtures("from_500")
def test_saving_and_loading_is_exact_after_learning_on(rng, tmp_path):
    first, second = recording(rng), recording(rng, 300)
    learned = density().learned(first, window_starts(700, 16, 1))
    learned = learned.learned(second, window_starts(300, 16, 1))
    assert learned.references.index is not None
    arrays, header = learned.to_arrays()
    model_file.write(tmp_path / "model", arrays, header)
    loaded = density().restored(*model_file.read(tmp_path / "model"))
    starts = window_starts(300, 16, 1)
    np.testing.assert_array_equal(loaded.scores(second, starts), learned.scores(second, starts))
    for name, array in loaded.to_arrays()[0].items():
        np.testing.assert_array_equal(array, arrays[name])
    both = [one.learned(first, starts).references for one in (loaded, learned)]
    np.testing.assert_array_equal(both[0].index.centres, both[1].index.centres)


@needs_faiss
@pytest.mark.usefixtures("from_500")
@pytest.mark.parametrize(
    "change",
    [
        lambda array: array * np.float32(np.nan),
        lambda array: array.astype(np.float64),
        lambda array: array[:, :-1],
        lambda array: array[:0],
        lambda array: array[0],
    ],
)
def test_an_index_that_does_not_fit_is_refused(rng, change):
    arrays, header = density().learned(recording(rng), window_starts(700, 16, 1)).to_arrays()
    arrays["index.centres"] = change(arrays["index.centres"])
    with pytest.raises(ModelFileError, match="fit again"):
        density().restored(arrays, header)


@needs_faiss
@pytest.mark.usefixtures("from_500")
def test_an_index_in_another_form_is_refused(rng):
    arrays, header = density().learned(recording(rng), window_starts(700, 16, 1)).to_arrays()
    arrays["index.codes"] = np.zeros((685, 16), np.uint8)
    with pytest.raises(ModelFileError, match="another version"):
        density().restored(arrays, header)


@pytest.mark.usefixtures("from_500")
def test_without_the_library_all_are_measured_and_a_warning_says_so(rng, monkeypatch):
    monkeypatch.setitem(sys.modules, "faiss", None)
    with pytest.raises(MissingExtraError, match=r'pip install "\.\[ann\]"'):
        need_faiss()
    data, starts = recording(rng), window_starts(700, 16, 1)
    with pytest.warns(UserWarning, match=r"all 685 references.*\.\[ann\]"):
        learned = density().learned(data, starts)
    assert learned.references.index is None
    assert np.isfinite(learned.scores(data, starts)).all()


@needs_faiss
@pytest.mark.usefixtures("from_500")
def test_a_stored_index_is_left_aside_without_the_library(rng, monkeypatch):
    data, starts = recording(rng), window_starts(700, 16, 1)
    learned = density().learned(data, starts)
    monkeypatch.setitem(sys.modules, "faiss", None)
    with pytest.warns(UserWarning, match="which is slow"):
        loaded = density().restored(*learned.to_arrays())
    expected = exact(learned.references.vectors).mean_distance(learned.references.vectors[:9], 5)
    np.testing.assert_array_equal(
        loaded.references.mean_distance(learned.references.vectors[:9], 5), expected
    )


def test_small_sets_have_no_index(rng):
    assert exact(unit_vectors(rng, 3000)).indexed(0).index is None
