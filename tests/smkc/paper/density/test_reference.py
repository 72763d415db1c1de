import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests import naive, promise

from smkc.errors import InputError
from smkc.paper.density import ReferenceSet, reference, reservoir_places
from smkc.paper.density._loops import nearest

TOLERANCE = 1e-6  # of unit vectors in float32 against float64


def unit_vectors(rng, n, d=12):
    vectors = rng.normal(size=(n, d))
    return (vectors / np.linalg.norm(vectors, axis=1, keepdims=True)).astype(np.float32)


def reference_set(vectors, rows=None):
    rows = np.arange(len(vectors)) if rows is None else rows
    return ReferenceSet(vectors, len(vectors), len(vectors), np.asarray(rows, np.int64))


@pytest.mark.parametrize("neighbours", [1, 3, 20, 50])
def test_mean_distance_to_the_nearest(rng, neighbours):
    references, vectors = unit_vectors(rng, 50), unit_vectors(rng, 30)
    expected = [naive.knn_score(v.tolist(), references.tolist(), neighbours) for v in vectors]
    actual = reference_set(references).mean_distance(vectors, neighbours)
    np.testing.assert_allclose(actual, expected, atol=TOLERANCE)


def test_ties_and_copies_of_a_reference(rng):
    references = np.repeat(unit_vectors(rng, 4), 5, axis=0)
    expected = [naive.knn_score(v.tolist(), references.tolist(), 7) for v in references]
    actual = reference_set(references).mean_distance(references, 7)
    np.testing.assert_allclose(actual, expected, atol=TOLERANCE)
    assert (reference_set(references).mean_distance(references, 5) >= 0).all()


@pytest.mark.parametrize("n_windows", [1, 7, 16, 255, 256, 257, 600])
def test_a_window_does_not_depend_on_the_others(rng, n_windows):
    stored, vectors = reference_set(unit_vectors(rng, 40)), unit_vectors(rng, 600)
    expected = stored.mean_distance(vectors, 5)[:n_windows]
    promise.assert_scores_agree(stored.mean_distance(vectors[:n_windows], 5), expected)


@pytest.mark.parametrize(("guard", "neighbours"), [(1, 3), (7, 3), (25, 3), (25, 30), (10**6, 1)])
def test_references_nearby_are_left_out(rng, guard, neighbours):
    references, vectors = unit_vectors(rng, 60), unit_vectors(rng, 300)
    reference_rows = rng.integers(0, 100, 60)
    rows = rng.integers(0, 100, 300)
    expected = []
    for vector, row in zip(vectors, rows, strict=True):
        far = [
            reference.tolist()
            for reference, at in zip(references, reference_rows, strict=True)
            if abs(at - row) >= guard
        ]
        enough = len(far) >= neighbours
        expected.append(naive.knn_score(vector.tolist(), far, neighbours) if enough else np.nan)
    stored = reference_set(references, reference_rows)
    actual = stored.mean_distance(vectors, neighbours, rows, guard)
    np.testing.assert_allclose(actual, expected, atol=TOLERANCE)


@pytest.mark.parametrize("together", [16, 100])
def test_the_size_of_a_block_makes_no_difference(rng, monkeypatch, together):
    stored, queries = reference_set(unit_vectors(rng, 900)), unit_vectors(rng, 300)
    expected = stored.mean_distance(queries, 20)
    monkeypatch.setattr(reference, "BLOCK_SIMILARITIES", 900 * together)
    promise.assert_scores_agree(stored.mean_distance(queries, 20), expected)


@pytest.mark.parametrize("k", [1, 5, 63, 64, 70])
def test_the_nearest_are_found_with_ties_from_the_front(rng, k):
    similarities = rng.integers(-10, 11, (9, 70)).astype(np.float32) / 10
    which, rows = np.empty((9, k), np.int64), np.zeros(9, np.int64)
    nearest(similarities, rows, np.arange(70), 0, which)
    for row, found in zip(similarities, which, strict=True):
        np.testing.assert_array_equal(found, np.sort(np.argsort(-row, kind="stable")[:k]))


def test_missing_neighbours_are_marked_where_too_few_remain(rng):
    similarities = rng.random((1, 30)).astype(np.float32)
    which = np.empty((1, 5), np.int64)
    nearest(similarities, np.array([10]), np.arange(30), 18, which)
    assert sorted(which[0].tolist()) == [-1, -1, -1, 28, 29]


def test_small_distances_keep_their_digits(rng):
    one = unit_vectors(rng, 1, 256)
    near = one + np.float32(1e-4) * rng.normal(size=(40, 256)).astype(np.float32)
    near /= np.linalg.norm(near, axis=1, keepdims=True)
    exact = 0.5 * ((near.astype(np.float64) - one) ** 2).sum(axis=1)
    actual = reference_set(near).mean_distance(one, 40)
    np.testing.assert_allclose(actual, exact.mean(), rtol=1e-12)


def test_too_few_references_say_how_many(rng):
    with pytest.raises(InputError, match=r"5 reference windows, 6 neighbours.*more reference data"):
        reference_set(unit_vectors(rng, 5)).mean_distance(unit_vectors(rng, 1), 6)


# ---------------------------------------------------------------------- reservoir


@given(
    st.lists(st.integers(0, 60), min_size=1, max_size=6),
    st.integers(1, 30),
    st.integers(0, 5),
)
def test_the_set_is_bounded_and_no_place_is_given_twice(offers, capacity, seed):
    seen, held = 0, set()
    for n_offered in offers:
        which, places = reservoir_places(n_offered, seen, capacity, seed)
        assert (np.diff(which) > 0).all()
        assert ((which >= 0) & (which < n_offered)).all()
        assert len(set(places.tolist())) == len(places)
        assert ((places >= 0) & (places < capacity)).all()
        held |= set(places.tolist())
        seen += n_offered
        assert held == set(range(min(seen, capacity)))


def test_the_seed_decides():
    first, second = (reservoir_places(500, 100, 50, seed=3) for _ in range(2))
    np.testing.assert_array_equal(first, second)
    assert not np.array_equal(first[0], reservoir_places(500, 100, 50, seed=4)[0])


def test_every_window_has_the_same_chance():
    n_seeds, capacity, parts = 2000, 10, (17, 1, 42)
    stayed = np.zeros(sum(parts))
    for seed in range(n_seeds):
        held = np.full(capacity, -1)
        seen = 0
        for n_offered in parts:
            which, places = reservoir_places(n_offered, seen, capacity, seed)
            held[places] = seen + which
            seen += n_offered
        stayed[held] += 1
    expected = n_seeds * capacity / sum(parts)
    # 59 degrees of freedom, less a little because a set has a fixed size: 99.99% lie below 110.
    assert ((stayed - expected) ** 2 / expected).sum() < 110


def test_replacing_keeps_the_rest_and_marks_it_as_elsewhere(rng):
    old, new = unit_vectors(rng, 4), unit_vectors(rng, 3)
    stored = ReferenceSet(old, 4, 6, np.arange(4))
    both = stored.replaced(np.array([1, 4, 5]), new, np.array([10, 20, 30]), 9)
    np.testing.assert_array_equal(both.vectors, [old[0], new[0], old[2], old[3], new[1], new[2]])
    assert both.seen == 13
    assert both.rows[[1, 4, 5]].tolist() == [10, 20, 30]
    assert (both.rows[[0, 2, 3]] < -(10**9)).all()
    np.testing.assert_array_equal(stored.vectors, old)
