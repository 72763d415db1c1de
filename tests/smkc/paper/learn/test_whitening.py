import numpy as np
import pytest
from tests import promise

from smkc.errors import InputError
from smkc.paper.learn.whitening import Whitening


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
    with pytest.raises(InputError, match="1 embeddings"):
        Whitening.of(same[:1])
