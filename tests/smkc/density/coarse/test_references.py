import numba
import numpy as np
import pytest

from smkc.density import ReferenceSet
from smkc.density._tiles import LANES, has_tiles
from smkc.density.coarse import CoarseReferences
from smkc.density.coarse._loops import _measure

TOLERANCE = 1e-6  # cosine distances in float32 against float64

pytestmark = pytest.mark.skipif(not has_tiles(), reason="the processor has no AVX-512 VNNI")


def unit(vectors):
    return (vectors / np.linalg.norm(vectors, axis=1, keepdims=True)).astype(np.float32)


def stored(references):
    n = len(references)
    return ReferenceSet(references, n, n, np.arange(n))


def nearest(vectors, references, neighbours):
    distances = 1 - vectors.astype(np.float64) @ references.T.astype(np.float64)
    return np.sort(distances, axis=1)[:, :neighbours].mean(axis=1)


def alike(rng, n, d):
    """Vectors with a large part in common, as features have."""
    return unit(3 / np.sqrt(d) + rng.normal(size=(n, d)) / np.sqrt(d))


def clustered(rng, n, d):
    centres = rng.normal(size=(12, d))
    return unit(centres[rng.integers(0, 12, n)] + 0.05 * rng.normal(size=(n, d)))


def uneven(rng, n, d):
    """Few numbers far larger than the others, and a few vectors far from all others."""
    vectors = rng.normal(size=(n, d)) * np.geomspace(1, 1e-4, d)
    vectors[:20] *= -rng.random((20, 1)) * np.geomspace(1e-4, 1, d)
    return unit(vectors)


@pytest.mark.parametrize("made", [alike, clustered, uneven])
@pytest.mark.parametrize(("n", "d"), [(1024, 64), (1500, 30), (2304, 257)])
@pytest.mark.parametrize("neighbours", [1, 20, 64])
def test_the_nearest_are_found(rng, made, n, d, neighbours):
    both = made(rng, n + 50, d)
    references, vectors = both[:n], both[n:]
    expected = nearest(vectors, references, neighbours)
    actual = stored(references).mean_distance(vectors, neighbours)
    np.testing.assert_allclose(actual, expected, atol=TOLERANCE)


@pytest.mark.parametrize("made", [alike, clustered, uneven])
@pytest.mark.parametrize("neighbours", [1, 20])
def test_none_of_the_nearest_is_missed(rng, made, neighbours):
    both = made(rng, 4096 + 200, 256)
    references, vectors = both[:4096], both[4096:]
    every, distances = np.arange(4096 + LANES, dtype=np.int32), np.empty(4096 + LANES, np.float32)
    expected = np.empty(200)
    for row in range(200):
        _measure(vectors, row, references, every, 0, 4096, distances)
        expected[row] = np.sort(distances[:4096])[:neighbours].mean(dtype=np.float64)
    actual = CoarseReferences.of(references).mean_distance(vectors, neighbours)
    np.testing.assert_array_equal(actual, expected)


@pytest.mark.parametrize("n_windows", [1, 3, 4, 15, 16, 17, 40])
def test_a_window_is_the_same_to_the_bit_in_any_company(rng, n_windows):
    both = clustered(rng, 1100, 64)
    both[-30:-20] = both[0]  # some that are near to none, and measured to all
    held = stored(both[:1060])
    expected = held.mean_distance(both[1060:], 5)
    np.testing.assert_array_equal(
        held.mean_distance(both[1060:][:n_windows], 5), expected[:n_windows]
    )
    alone = [held.mean_distance_of_one(vector, 5) for vector in both[1060:]]
    np.testing.assert_array_equal(alone, expected)


@pytest.mark.parametrize(
    "vectors",
    [
        pytest.param(lambda references: references[:40], id="the-references"),
        pytest.param(lambda references: -references[:40], id="opposite"),
        pytest.param(lambda references: unit(references.mean(axis=0)[None]), id="the-mean"),
        pytest.param(lambda references: np.eye(64, dtype=np.float32), id="axes"),
    ],
)
def test_vectors_in_special_places(rng, vectors):
    references = alike(rng, 1300, 64)
    asked = vectors(references)
    actual = stored(references).mean_distance(asked, 7)
    np.testing.assert_allclose(actual, nearest(asked, references, 7), atol=TOLERANCE)
    assert (actual >= 0).all()


def test_where_all_are_about_as_near_the_answer_is_left_to_others(rng):
    references = np.repeat(unit(rng.normal(size=(2, 32))), 1024, axis=0)
    coarse = CoarseReferences.of(references)
    assert np.isnan(coarse.mean_distance(references[:5], 20)).all()
    assert np.isnan(coarse.mean_distance(unit(rng.normal(size=(5, 32))), 20)).all()
    actual = stored(references).mean_distance(references[:5], 20)
    np.testing.assert_allclose(actual, 0, atol=TOLERANCE)


def test_no_window_at_all(rng):
    references = alike(rng, 1024, 64)
    assert stored(references).mean_distance(references[:0], 20).shape == (0,)


def test_other_processors_measure_all_and_find_the_same(rng, monkeypatch):
    references, vectors = alike(rng, 1024, 64), alike(rng, 20, 64)
    expected = stored(references).mean_distance(vectors, 20)
    monkeypatch.setattr(numba.config, "DISABLE_JIT", True)
    has_tiles.cache_clear()
    try:
        assert not CoarseReferences.fits(1024, 20)
        actual = stored(references).mean_distance(vectors, 20)
    finally:
        has_tiles.cache_clear()
    np.testing.assert_allclose(actual, expected, atol=TOLERANCE)


@pytest.mark.parametrize(("n", "neighbours"), [(1023, 1), (4096, 65)])
def test_small_sets_and_many_neighbours_are_not_worth_it(n, neighbours):
    assert not CoarseReferences.fits(n, neighbours)
    assert CoarseReferences.fits(1024, 64)
