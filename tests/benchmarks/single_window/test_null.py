"""Tails, what is usual at a cardinality, and the mixtures of speeds and of couplings."""

import numpy as np

from benchmarks.single_window.by_cardinality import ByCardinality
from benchmarks.single_window.couplings import Couplings
from benchmarks.single_window.null import Null, Nulls, joined
from benchmarks.single_window.questions import EVIDENCES
from benchmarks.single_window.speeds import SPEED_GRID, Speeds
from benchmarks.single_window.tail import Tail


def test_ranks_and_then_an_exponential(rng):
    normal = rng.exponential(size=20_000)
    tail = Tail.of(normal)
    points = np.array([0.1, 1.0, 3.0, 6.0, 12.0])
    np.testing.assert_allclose(-tail.log_p(points), points, rtol=0.06)
    assert tail.log_p(np.array([1e9]))[0] == -600.0
    assert np.isnan(tail.log_p(np.array([np.nan]))[0])
    assert np.isnan(Tail.of(np.array([np.nan])).log_p(np.array([1.0]))[0])
    many = np.sort(rng.uniform(-1, 20, 500))
    assert (np.diff(tail.log_p(many)) <= 1e-12).all()


def test_constant_numbers_have_no_tail():
    tail = Tail.of(np.ones(50))
    np.testing.assert_allclose(np.exp(tail.log_p(np.array([0.0, 1.0, 2.0]))), [1.0, 1.0, 1 / 51])


def test_between_cardinalities_by_the_logarithm():
    rng = np.random.default_rng(0)
    cardinality = np.repeat([2, 8], 20_000)
    numbers = np.where(cardinality == 2, 1.0, 3.0) + rng.exponential(size=40_000)
    usual = ByCardinality.of(numbers, cardinality, grows=False)
    at = np.array([1, 2, 4, 8, 32])
    median = np.log(2)
    expected = np.array([1.0, 1.0, 2.0, 3.0, 3.0]) + median
    zero = usual.standardised(expected, at)
    np.testing.assert_allclose(zero, 0.0, atol=0.05)
    grows = ByCardinality.of(numbers, cardinality, grows=True)
    beyond = np.array([-1.0, 0.0, 0.0, 0.0, 2.0])
    np.testing.assert_allclose(grows.standardised(expected + beyond, at), 0.0, atol=0.1)
    one = usual.standardised(expected + np.log(5), at)  # from the median to the 90% quantile
    np.testing.assert_allclose(one, 1.0, atol=0.05)


def test_rare_cardinalities_join_their_neighbours():
    cardinality = np.repeat([1, 2, 3, 9], [30, 5, 30, 5])
    usual = ByCardinality.of(np.arange(70.0), cardinality, grows=False)
    assert len(usual.usual) == 2
    alone = ByCardinality.of(np.arange(5.0), np.arange(1, 6), grows=False)
    assert np.isfinite(alone.standardised(np.arange(5.0), np.arange(1, 6))).all()
    nothing = ByCardinality.of(np.full(5, np.nan), np.ones(5, int), grows=False)
    assert np.isnan(nothing.standardised(np.arange(5.0), np.ones(5, int))).all()


def test_joining():
    log_p = np.array([[-6.0, 0.0, -4.0], [-6.0, 0.0, np.nan], [np.nan, np.nan, np.nan]])
    np.testing.assert_allclose(joined(log_p), [5.0, np.sqrt(10.0), np.nan])


def test_what_the_factor_model_asks_again_counts_half():
    for i, evidence in enumerate(EVIDENCES):
        log_p = np.zeros((1, len(EVIDENCES)))
        log_p[0, i] = -8.0
        is_asked_again = evidence.name in ("largest_value", "largest_step", "step_sizes")
        np.testing.assert_allclose(joined(log_p), 4.0 if is_asked_again else 8.0)


def test_p_values_of_fresh_numbers_are_uniform(rng):
    cardinality = np.repeat([1, 2, 4, 8], 400)
    null = Null.of(rng.gumbel(size=1600) + cardinality, cardinality)
    fresh = null.log_p(rng.gumbel(size=4000) + 4, np.full(4000, 4))
    for share in (0.5, 0.1, 0.01):
        assert abs((fresh <= np.log(share)).mean() / share - 1) < 0.5


def test_the_joined_score_is_calibrated_on_windows_left_out(rng):
    """Two windows a part and noise for statistics: in sample, p-values would be far too even."""
    statistics = rng.normal(size=(40, 11))
    nulls = Nulls(statistics, np.full(40, 3), None)
    fresh = rng.normal(size=(4000, 11))
    many = np.full(4000, 3)
    score = joined(nulls.log_p(fresh, many))
    p_value = np.exp(nulls.score_log_p(score, many))
    assert 0.03 < (p_value <= 0.1).mean() < 0.25


def test_the_mixture_finds_the_speeds_that_made_the_windows(rng):
    truth = np.array([30, 75])  # places in the grid
    centres = np.log2(SPEED_GRID)
    likelihoods = []
    for i in rng.choice(truth, 300):
        away = centres - centres[:, i : i + 1] + 0.3 * rng.normal(size=(2, 1))
        likelihoods.append(-4.0 * (away**2).sum(axis=0))
    speeds = Speeds.of(1.0, np.array(likelihoods))
    assert np.isclose(speeds.weights.sum(), 1.0)
    heavy = speeds.variances[:, speeds.weights > 0.1].T
    expected = np.concatenate([SPEED_GRID.T[truth], SPEED_GRID.T[truth][:, ::-1]])
    for pair in heavy:
        assert (np.abs(np.log2(pair / expected)).sum(axis=1) < 0.5).any()
    prior = speeds.prior(Couplings.of(np.full((3, 7), np.nan)))
    counted = np.exp(prior.log_pairs)
    assert np.isclose(counted.sum(), 1.0)
    assert (np.diag(counted) == 0).all()
    octaves = np.log2(prior.speeds[:, :, None] / prior.speeds[:, None, :])
    opposed = (octaves > 0.5).any(axis=0) & (octaves < -0.5).any(axis=0)
    assert (counted[opposed] == 0).all()
    nothing = Speeds.of(1.0, np.full((3, SPEED_GRID.shape[1]), np.nan))
    assert np.isfinite(nothing.weights).all()


def coupled(rng, loadings, noise, n_steps=60):
    """Moments of one variable that follows two factors, which are known exactly."""
    factors = rng.normal(size=(n_steps, 2))
    read = factors @ loadings + np.sqrt(noise) * rng.normal(size=n_steps)
    squares = factors.T @ factors
    products = factors.T @ read
    return [squares[0, 0], squares[0, 1], squares[1, 1], *products, read @ read, n_steps]


def test_the_mixture_finds_the_couplings_that_made_the_variables(rng):
    kinds = (((1.0, 0.0), 0.25), ((0.0, 1.0), 0.25), ((0.0, 0.0), 1.0))
    moments = [[*coupled(rng, *kinds[i]), *(7 * [np.nan])] for i in rng.integers(3, size=300)]
    found = Couplings.of(np.array(moments))
    assert np.isclose(found.weights.sum(), 1.0)
    assert found.is_sound()
    idle = (found.loadings == 0).all(axis=0) & (found.noise == 1.0)
    assert 0.25 < found.weights[idle].sum() < 0.4
    sizes = np.sort(np.abs(found.loadings), axis=0)
    follows = (sizes == [[0.0], [1.0]]).all(axis=0) & (found.noise == 0.25)
    assert 0.5 < found.weights[follows].sum() < 0.75
    # All signs, and both orders of the factors, are as frequent.
    np.testing.assert_allclose(found.weights[follows], found.weights[follows].mean())
    assert follows.sum() == 4
    assert found.table().shape == (16, 4)


def test_without_variables_all_couplings_are_alike():
    nothing = Couplings.of(np.full((3, 14), np.nan))
    np.testing.assert_allclose(nothing.weights, 1 / 16)
    assert nothing.is_sound()
