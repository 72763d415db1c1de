import numpy as np
import pytest

from smkc.errors import InputError
from smkc.paper.learn.standard import Standard


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


def test_one_window_is_too_few():
    with pytest.raises(InputError, match="1 held-out normal windows"):
        Standard.of(np.ones((1, 2)))
