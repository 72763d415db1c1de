import numpy as np
import pytest

from smkc.paper.learn.fusion import FUSIONS, TailFusion, WeightedSum


def test_the_weighted_sum_is_one():
    assert WeightedSum(np.array([1.0, 2.0]))(np.array([[1.0, 1.0], [0.0, -1.0]])).tolist() == [
        3,
        -2,
    ]


class TestTails:
    @pytest.fixture
    def fusion(self):
        return TailFusion.fitted(np.random.default_rng(0).exponential(size=(4000, 2)))

    def test_it_is_minus_log_p(self, fusion):
        # Of an exponential component, -log p of x is x itself.
        middle = np.array([[0.5, 1.0], [1.5, 0.2], [6.0, 9.0]])
        np.testing.assert_allclose(fusion(middle), middle.sum(axis=1), rtol=0.1)

    def test_scores_rise_everywhere_and_never_jump(self, fusion):
        x = np.linspace(0, 30, 3000)
        scores = fusion(np.column_stack([x, np.full_like(x, 0.3)]))
        steps = np.diff(scores)
        assert (steps > 0).all()
        assert steps.max() < 0.2

    def test_one_clear_component_outweighs_weak_ones(self, fusion):
        clear, faint = fusion(np.array([[9.0, 0.1], [2.0, 2.0]]))
        assert clear > faint

    def test_few_windows(self):
        fusion = TailFusion.fitted(np.array([[1.0], [1.0], [1.0]]))
        assert np.isfinite(fusion(np.array([[0.0], [1.0], [5.0]]))).all()


def test_what_was_learned_is_restored():
    rng = np.random.default_rng(1)
    components = rng.normal(size=(50, 3))
    for fusion in (WeightedSum(np.array([1.0, 0.5, 2.0])), TailFusion.fitted(components)):
        again = FUSIONS[type(fusion).__name__](**vars(fusion))
        assert np.array_equal(again(components), fusion(components))
        assert np.array_equal(fusion(components[7:9]), fusion(components)[7:9])
