import numpy as np
import pytest
from tests import promise

from smkc.errors import SettingError
from smkc.paper.density import Projection

N_FEATURES = 300


def test_vectors_have_length_one(rng):
    features = rng.normal(size=(40, N_FEATURES)).astype(np.float32)
    vectors = Projection(components=32).unit_vectors(features)
    assert vectors.shape == (40, 32)
    assert vectors.dtype == np.float32
    np.testing.assert_allclose(np.linalg.norm(vectors, axis=1), 1, atol=1e-6)


@pytest.mark.parametrize("components", [8, 64])
def test_windows_without_structure_become_the_first_axis(components):
    vectors = Projection(components=components).unit_vectors(np.zeros((2, N_FEATURES), np.float32))
    np.testing.assert_array_equal(vectors, np.eye(components, dtype=np.float32)[[0, 0]])


@pytest.mark.parametrize("components", [8, 64, 100])
def test_vectors_are_the_product_with_the_matrix(rng, components):
    features = rng.normal(size=(7, N_FEATURES)).astype(np.float32)
    projection = Projection(components=components)
    product = features.astype(np.float64) @ projection.matrix(N_FEATURES)
    expected = product / np.linalg.norm(product, axis=1, keepdims=True)
    np.testing.assert_allclose(projection.unit_vectors(features), expected, atol=1e-6)


@pytest.mark.parametrize("n_windows", [1, 2, 15, 16, 17, 100])
def test_a_window_does_not_depend_on_the_others(rng, n_windows):
    features = rng.normal(size=(100, N_FEATURES)).astype(np.float32)
    projection = Projection(components=256)
    expected = projection.unit_vectors(features)[:n_windows]
    promise.assert_features_agree(projection.unit_vectors(features[:n_windows]), expected)


def test_the_seed_makes_the_matrix():
    one, same, other = Projection(seed=1), Projection(seed=1), Projection(seed=2)
    np.testing.assert_array_equal(one.matrix(N_FEATURES), same.matrix(N_FEATURES))
    assert one.digest(N_FEATURES) == same.digest(N_FEATURES)
    assert one.digest(N_FEATURES) != other.digest(N_FEATURES)
    assert one.digest(N_FEATURES) != one.digest(N_FEATURES + 1)


def test_the_matrix_is_part_of_the_file_format():
    # If this changes, saved models are worthless: see GENERATOR in the model file.
    assert Projection(components=4, seed=0).digest(10) == (
        "5e7495ea33f89607860fbe8695ce4cd1c4d5c8c86e22fd5d27bf76c84201cf58"
    )


def test_entries_have_variance_one_over_components():
    matrix = Projection(components=64).matrix(2000)
    assert abs(matrix.mean()) < 0.001
    assert matrix.var() == pytest.approx(1 / 64, rel=0.02)
    assert not matrix.flags.writeable


def test_angles_are_kept(rng):
    near = rng.normal(size=N_FEATURES)
    pair = np.array([near, near + 0.1 * rng.normal(size=N_FEATURES)], np.float32)
    a, b = Projection(components=256).unit_vectors(pair)
    assert 1 - a @ b < 0.02


@pytest.mark.parametrize("components", [0, -1, 2.0, 100_000, "256"])
def test_components_that_make_no_sense(components):
    with pytest.raises(SettingError, match=r"components=.*1 to 16384"):
        Projection(components=components)
