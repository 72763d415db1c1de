import numpy as np
import pytest

from smkc.paper.learn.fusion import FUSIONS, LogisticFusion, TailFusion, WeightedSum


def test_the_weighted_sum_is_one():
    assert WeightedSum(np.array([1.0, 2.0]))(np.array([[1.0, 1.0], [0.0, -1.0]])).tolist() == [
        3,
        -2,
    ]


class TestLogistic:
    @pytest.fixture
    def labelled(self):
        rng = np.random.default_rng(3)
        labels = rng.random(400) < 0.2
        useful = rng.normal(size=400) + 2.0 * labels
        useless = rng.normal(size=400)
        return np.column_stack([useful, useless]), labels

    def test_it_maximises_the_penalised_likelihood(self, labelled):
        components, labels = labelled
        found = LogisticFusion.fitted(components, labels, ridge=2.0)

        def loss(weights, offset):
            odds = (np.sign(components) * np.log1p(np.abs(components))) @ weights + offset
            share = np.where(labels, labels.mean(), 1 - labels.mean())
            each = np.log1p(np.exp(np.where(labels, -odds, odds)))
            return (0.5 / share * each).sum() + (weights**2).sum()

        best = loss(found.weights, found.offset)
        for at in range(2):
            for step in (-1e-3, 1e-3):
                moved = found.weights.copy()
                moved[at] += step
                assert loss(moved, found.offset) > best
        assert loss(found.weights, found.offset + 1e-3) > best
        assert loss(found.weights, found.offset - 1e-3) > best

    def test_it_finds_which_component_tells(self, labelled):
        found = LogisticFusion.fitted(*labelled)
        assert found.weights[0] > 1 > abs(found.weights[1])
        scores = found(labelled[0])
        assert scores[labelled[1]].mean() > scores[~labelled[1]].mean() + 1

    def test_the_penalty_is_the_one_that_tells_other_windows_best(self, labelled):
        components, labels = labelled
        useless = np.random.default_rng(9).normal(size=(400, 60))
        crowded = np.hstack([components, useless])
        clear = LogisticFusion.fitted(components, labels)
        careful = LogisticFusion.fitted(crowded, labels)
        loose = LogisticFusion.fitted(crowded, labels, ridge=0.3)
        assert np.abs(careful.weights[1:]).mean() < 0.5 * np.abs(loose.weights[1:]).mean()
        assert clear.weights[0] > careful.weights[0], "little is to be feared of two components"
        few = np.arange(400) < 3
        assert np.abs(LogisticFusion.fitted(crowded, few).weights).max() < 0.5

    def test_separable_classes_give_finite_weights(self):
        components = np.array([[-2.0], [-1.0], [1.0], [2.0]])
        found = LogisticFusion.fitted(components, np.array([False, False, True, True]), 1.0)
        assert 0 < found.weights[0] < 10
        extreme = LogisticFusion.fitted(1e6 * components, np.array([False, False, True, True]))
        assert np.isfinite(extreme(components)).all()


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
    components, labels = rng.normal(size=(50, 3)), np.arange(50) < 9
    for fusion in (
        WeightedSum(np.array([1.0, 0.5, 2.0])),
        LogisticFusion.fitted(components, labels),
        TailFusion.fitted(components),
    ):
        again = FUSIONS[type(fusion).__name__](**vars(fusion))
        assert np.array_equal(again(components), fusion(components))
        assert np.array_equal(fusion(components[7:9]), fusion(components)[7:9])
