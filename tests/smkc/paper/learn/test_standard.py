import numpy as np
import pytest
from tests import promise

from smkc.paper.learn.standard import Standard, Whitening


def test_a_gaussian_component_has_spread_one():
    rng = np.random.default_rng(0)
    components = rng.normal([3.0, -1.0], [2.0, 0.1], (20_000, 2))
    standard = Standard.of(components)
    np.testing.assert_allclose(standard.centre, [3.0, -1.0], atol=0.05)
    np.testing.assert_allclose(standard.spread, [2.0, 0.1], rtol=0.03)
    np.testing.assert_allclose(standard(components).std(axis=0), 1.0, rtol=0.03)


def test_outliers_do_not_move_it():
    components = np.arange(100.0)[:, None]
    wild = components.copy()
    wild[-5:] = 1e9
    assert Standard.of(wild).centre == Standard.of(components).centre
    assert Standard.of(wild).spread == Standard.of(components).spread


def test_a_constant_component_stays_finite():
    standard = Standard.of(np.full((10, 1), 0.7))
    assert np.isfinite(standard(np.array([[0.7], [0.8]]))).all()
    assert standard(np.array([[0.7]])) == 0


@pytest.fixture
def embeddings():
    rng = np.random.default_rng(0)
    mixed = rng.normal(size=(2000, 4)) * [10.0, 1.0, 1.0, 0.5] @ rng.normal(size=(4, 4)) + 5.0
    return mixed.astype(np.float32)


def test_directions_become_alike(embeddings):
    whitening = Whitening.of(embeddings)
    vectors = whitening.unit_vectors(embeddings)
    assert vectors.shape == (2000, 5)
    assert vectors.dtype == np.float32
    np.testing.assert_allclose((vectors**2).sum(axis=1), 1.0, rtol=1e-5)
    whitened = vectors[:, :4] / vectors[:, 4:] * 2.0
    covariance = np.cov(whitened, rowvar=False)
    before = np.linalg.eigvalsh(np.cov(embeddings.astype(float), rowvar=False))
    expected = before / (before + 0.03 * before.mean())
    np.testing.assert_allclose(np.linalg.eigvalsh(covariance), np.sort(expected), rtol=1e-3)
    assert before.max() / before.min() > 50 > expected.max() / expected.min(), "far more alike"


def test_far_out_is_told_from_the_middle_in_the_same_direction(embeddings):
    whitening = Whitening.of(embeddings)
    step = embeddings[7] - whitening.centre
    along = (whitening.centre + np.array([[1.0], [2.0], [6.0]]) * step).astype(np.float32)
    near, further, far = whitening.unit_vectors(along)
    assert near @ far < near @ further < 0.999


def test_a_row_does_not_depend_on_its_company(embeddings):
    whitening = Whitening.of(embeddings)
    together = whitening.unit_vectors(embeddings)
    promise.assert_features_agree(whitening.unit_vectors(embeddings[5:6]), together[5:6])
    assert whitening.unit_vectors(embeddings[:0]).shape == (0, 5)


def test_what_does_not_vary_stays_finite():
    same = np.full((10, 3), 0.25, np.float32)
    assert np.isfinite(Whitening.of(same).unit_vectors(same)).all()
