import numpy as np
import pytest

from benchmarks.bootstrap import Group, PairedTest, estimate, interval, paired
from benchmarks.metrics import METRICS
from smkc.errors import InputError, SettingError

TOLERANCE = 1e-12
MASK = 2**64 - 1


def splitmix(state):
    """SplitMix64 in Python's own integers: the next state and the number drawn."""
    state = (state + 0x9E3779B97F4A7C15) & MASK
    return state, scattered(state)


def scattered(z):
    z = ((z ^ (z >> 30)) * 0xBF58476D1CE4E5B9) & MASK
    z = ((z ^ (z >> 27)) * 0x94D049BB133111EB) & MASK
    return z ^ (z >> 31)


def naive_replicates(groups, metric, n, seed):
    """Draw windows one by one, repeat them, measure anew: seed by seed, set by set."""
    values = []
    for r in range(n):
        by_seed = {}
        for group in groups:
            key = np.random.SeedSequence((seed, group.seed, group.cardinality))
            start = int(key.generate_state(1, np.uint64)[0])
            state = scattered((start + 0x9E3779B97F4A7C15 * (r + 1)) & MASK)
            chosen = []
            for kind in (True, False):
                windows = [b for b, truth in enumerate(group.is_anomalous) if bool(truth) is kind]
                for _ in windows:
                    state, number = splitmix(state)
                    chosen.append(windows[((number >> 32) * len(windows)) >> 32])
            value = METRICS[metric](group.is_anomalous[chosen], group.scores[chosen])
            by_seed.setdefault(group.seed, []).append(value)
        values.append(np.mean([np.mean(of_seed) for of_seed in by_seed.values()]))
    return np.array(values)


def group(rng, seed=0, cardinality=1, *, n=60, gain=1.0, ties=False):
    truth = np.arange(n) % 6 == 0
    scores = rng.standard_normal(n) + gain * truth
    return Group(seed, cardinality, truth, np.round(scores) if ties else scores)


def rescored(one, scores):
    return Group(one.seed, one.cardinality, one.is_anomalous, scores)


@pytest.fixture
def groups(rng):
    """Three test sets of one seed, one of another: seeds count alike all the same."""
    return [
        group(rng, 0, 1),
        group(rng, 0, 2, ties=True),
        group(rng, 0, 4, n=31),
        group(rng, 1, 2, gain=2.0, ties=True),
    ]


@pytest.mark.parametrize("metric", METRICS)
def test_interval_is_that_of_the_slow_twin(groups, metric):
    values = naive_replicates(groups, metric, 25, 7)
    expected = np.quantile(values, [0.05, 0.95])
    actual = interval(groups, metric, n=25, level=0.9, seed=7)
    np.testing.assert_allclose(actual, expected, atol=TOLERANCE)


@pytest.mark.parametrize("metric", METRICS)
def test_paired_test_is_that_of_the_slow_twin(rng, groups, metric):
    others = [
        rescored(one, one.scores + 0.5 * rng.standard_normal(len(one.scores))) for one in groups
    ]
    n = 25
    differences = naive_replicates(groups, metric, n, 3) - naive_replicates(others, metric, n, 3)
    differences[abs(differences) < TOLERANCE] = 0
    share = min((differences <= 0).sum() + 1, (differences >= 0).sum() + 1) / (n + 1)
    actual = paired(groups, others, metric, n=n, seed=3)
    expected = np.quantile(differences, [0.025, 0.975])
    np.testing.assert_allclose((actual.low, actual.high), expected, atol=TOLERANCE)
    assert actual.p_value == pytest.approx(min(1, 2 * share))
    assert actual.difference == estimate(groups, metric) - estimate(others, metric)


def test_seeds_count_alike_whatever_their_number_of_sets():
    truth = np.array([True, False])
    right, wrong = np.array([1.0, 0.0]), np.array([0.0, 1.0])
    groups = [Group(0, c, truth, right) for c in (1, 2, 3)] + [Group(1, 1, truth, wrong)]
    assert estimate(groups, "auroc") == pytest.approx(0.5)


def test_order_of_sets_and_number_of_threads_do_not_matter(groups, monkeypatch):
    there = interval(groups, "auprc", n=40)
    np.testing.assert_allclose(interval(groups[::-1], "auprc", n=40), there, atol=TOLERANCE)
    for threads in ("1", "3"):
        monkeypatch.setenv("SMKC_THREADS", threads)
        assert interval(groups, "auprc", n=40) == there
    assert interval(groups, "auprc", n=40, seed=1) != there


def test_interval_holds_the_estimate_and_narrows_with_more_windows(rng):
    few, many = ([group(rng, 0, c, n=n) for c in range(4)] for n in (60, 1500))
    for metric in ("auprc", "auroc"):
        widths = []
        for groups in (few, many):
            low, high = interval(groups, metric, n=200)
            assert low < estimate(groups, metric) < high
            widths.append(high - low)
        assert widths[1] < 0.5 * widths[0]


def test_a_method_against_itself_and_against_a_better_one(rng):
    groups = [group(rng, 0, c) for c in range(3)]
    same = paired(groups, groups, "auprc", n=99)
    assert same == PairedTest(0.0, 0.0, 0.0, 1.0)
    perfect = [rescored(one, one.is_anomalous.astype(float)) for one in groups]
    better, worse = paired(perfect, groups, "auprc", n=99), paired(groups, perfect, "auprc", n=99)
    assert better.difference > 0 > worse.difference
    assert better.low > 0 > worse.high
    assert better.p_value == worse.p_value == pytest.approx(2 / 100)


def test_pairing_sees_what_two_intervals_do_not(rng):
    """Two methods that err on the same windows: their intervals overlap, the test is sure."""
    groups = [group(rng, 0, c, n=300) for c in range(4)]
    lifted = [rescored(one, one.scores + 0.15 * one.is_anomalous) for one in groups]
    assert interval(groups, "auroc", n=200)[1] > interval(lifted, "auroc", n=200)[0]
    assert paired(lifted, groups, "auroc", n=200).p_value < 0.05


def test_equal_methods_are_seldom_told_apart(rng):
    """Noise against noise: p-values near 0 come about as often as they say."""
    p_values = []
    for _ in range(60):
        one = group(rng, n=150)
        other = rescored(one, rng.standard_normal(150) + one.is_anomalous)
        p_values.append(paired([one], [other], "auroc", n=199).p_value)
    assert np.mean(np.array(p_values) < 0.05) < 0.15
    assert np.mean(p_values) > 0.3


def test_what_is_refused(groups):
    with pytest.raises(InputError, match="no test set was given"):
        interval([], "auprc")
    with pytest.raises(SettingError, match="metric='f1' is not known; choose one of auprc, auroc"):
        interval(groups, "f1")
    with pytest.raises(SettingError, match="n=0 resamplings"):
        interval(groups, "auprc", n=0)
    with pytest.raises(SettingError, match=r"level=95.*0\.95"):
        paired(groups, groups, "auprc", level=95)
    with pytest.raises(InputError, match=r"different test sets.*same order"):
        paired(groups, groups[::-1], "auprc")
    flipped = [*groups[:-1], Group(1, 2, ~groups[-1].is_anomalous, groups[-1].scores)]
    with pytest.raises(InputError, match="seed 1, cardinality 2: the truth differs"):
        paired(groups, flipped, "auprc")
    with pytest.raises(InputError, match="1 of 60 scores are NaN"):
        interval([rescored(groups[0], np.append(groups[0].scores[1:], np.nan))], "auprc")
