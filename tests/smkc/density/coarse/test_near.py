import numpy as np
import pytest
from numba import njit

from smkc.density._tiles import LANES, has_tiles
from smkc.density.coarse._loops import _measure
from smkc.density.coarse._near import MEASURED, alike_four, within

pytestmark = pytest.mark.skipif(not has_tiles(), reason="the processor has no AVX-512 VNNI")

TOLERANCE = 1e-6  # products of unit vectors in float32 against float64


@njit
def found_within(bounds, row, about, width, limit, which):
    return within(bounds, row, about, width, limit, which)


@njit
def alike(vectors, row, references, which, at, out):
    alike_four(vectors, row, references, which, at, out)


@pytest.mark.parametrize("limit", [-1.0, 0.01, 0.3, 2.0])
def test_those_within_the_limit_are_found_in_order(rng, limit):
    n, width = 512, np.float32(0.5)
    bounds = rng.random((3, n + 16)).astype(np.float32)
    about = rng.random((3, n)).astype(np.float32)
    which = np.full(n + LANES, -1, np.int32)
    n_found = found_within(bounds, 1, about, width, np.float32(limit), which)
    expected = np.flatnonzero(bounds[1, :n].astype(float) - 0.5 * about[1] <= limit)
    np.testing.assert_array_equal(which[:n_found], expected)


def test_a_bound_that_is_no_number_is_not_within(rng):
    bounds, about = np.full((1, 256 + 16), np.nan, np.float32), np.ones((3, 256), np.float32)
    which = np.empty(256 + LANES, np.int32)
    assert found_within(bounds, 0, about, np.float32(0.0), np.float32(1e30), which) == 0


def test_four_products_at_a_time(rng):
    vectors, references = rng.normal(size=(3, 64)), rng.normal(size=(10, 64))
    vectors, references = vectors.astype(np.float32) / 8, references.astype(np.float32) / 8
    which = np.array([9, 9, 0, 4, 7, 1, 3], np.int32)
    actual = np.full(8, 9.0, np.float32)
    alike(vectors, 2, references, which, 2, actual)
    expected = vectors[2].astype(float) @ references[which[2:6]].T
    np.testing.assert_allclose(actual[2 : 2 + MEASURED], expected, atol=TOLERANCE)
    assert (np.delete(actual, range(2, 2 + MEASURED)) == 9.0).all()


@pytest.mark.parametrize("d", [1, 15, 16, 40, 257])
@pytest.mark.parametrize(("first", "last"), [(0, 0), (0, 1), (0, 4), (3, 9), (5, 5), (2, 17)])
def test_distances_are_the_same_to_the_bit_wherever_a_reference_stands(rng, d, first, last):
    vectors = rng.normal(size=(2, d)).astype(np.float32) / np.float32(np.sqrt(d))
    references = rng.normal(size=(30, d)).astype(np.float32) / np.float32(np.sqrt(d))
    places = rng.permutation(30).astype(np.int32)
    alone, actual = np.empty((2, 30), np.float32)
    for at in range(30):
        _measure(vectors, 1, references, places[at : at + 1].repeat(5), 0, 1, actual)
        alone[at] = actual[0]
    _measure(vectors, 1, references, places.copy(), first, last, actual)
    np.testing.assert_array_equal(actual[first:last], alone[first:last])
    expected = np.maximum(1 - references[places].astype(float) @ vectors[1], 0)
    np.testing.assert_allclose(alone, expected, atol=4 * TOLERANCE)
