"""The synthetic generator: what is said of it holds, and its bytes never change."""

import hashlib
from dataclasses import replace

import numpy as np
import pytest

from benchmarks.windows import KINDS, NORMAL
from benchmarks.world import WORLDS, DenseWorld, World, find_world, generate, make_pool
from smkc.errors import SettingError

PAPER = World()


def some(kind=None, *, world=PAPER, cardinality=6, n_windows=400, rate=1.0, **more):
    return generate(
        world,
        pool="eval",
        n_windows=n_windows,
        cardinality=cardinality,
        rate=rate,
        kind=kind,
        **{"seed": 3, **more},
    )


def groups_of(windows):
    return make_pool("eval", PAPER.pool_size).groups[windows.variables]


def loadings_of(windows):
    """(B, C) signed loading and (B, C) factor of each variable; factor -1 for noise alone."""
    pool = make_pool("eval", PAPER.pool_size)
    group = pool.groups[windows.variables]
    size = 0.8 + 0.4 * pool.sizes[windows.variables]
    return np.where(group == 1, -size, size), np.array([0, 0, 1, -1])[group]


def test_every_machine_makes_the_same_windows():
    digest = hashlib.sha256()
    for name in ("paper", "clean-copy", "noisy", "ar2", "structured-missingness", "drift"):
        world = WORLDS[name]
        windows = some(world=world, n_windows=60, rate=0.5, seed=(7, len(name)))
        for array in (windows.values, windows.observed, windows.variables, windows.kinds):
            digest.update(np.ascontiguousarray(array).tobytes())
        digest.update(windows.segments.tobytes())
    assert digest.hexdigest() == GOLDEN


# Changes only when the benchmark does; every recorded result must then be made again.
GOLDEN = "dd942154f1f53fde1d420096a5db3dd74df2753c7e6b6a8c7052484f929817bb"


def test_the_number_of_threads_changes_nothing(monkeypatch):
    monkeypatch.setenv("SMKC_THREADS", "1")
    alone = some(n_windows=5000, rate=0.3)
    monkeypatch.setenv("SMKC_THREADS", "3")
    together = some(n_windows=5000, rate=0.3)
    assert alone.values.tobytes() == together.values.tobytes()
    assert (alone.kinds == together.kinds).all()


def test_a_window_does_not_depend_on_how_many_there_are():
    few, many = some("lag copy", n_windows=10), some("lag copy", n_windows=3000)
    np.testing.assert_array_equal(few.values, many.values[:10])


@pytest.mark.parametrize(("rate", "n", "expected"), [(0.01, 600, 6), (0.29, 100, 29), (0.0, 9, 0)])
def test_as_many_anomalies_as_asked_for_spread_evenly(rate, n, expected):
    windows = some(n_windows=n, rate=rate)
    assert windows.is_anomalous.sum() == expected
    if expected:
        assert np.diff(np.flatnonzero(windows.is_anomalous)).max() <= -(-n // expected)


def test_kinds_are_drawn_alike():
    counts = np.bincount(some(n_windows=6000).kinds, minlength=len(KINDS))
    assert abs(counts - 1000).max() < 5 * np.sqrt(1000)


def test_one_variable_cannot_be_reassigned_so_it_is_copied():
    counts = np.bincount(some(n_windows=6000, cardinality=1).kinds, minlength=len(KINDS))
    assert counts[KINDS.index("channel reassignment")] == 0
    assert abs(counts[KINDS.index("lag copy")] - 2000) < 5 * np.sqrt(2000)


@pytest.mark.parametrize("kind", [None, *KINDS])
@pytest.mark.parametrize("cardinality", [2, 16])
def test_windows_hold_what_they_need(kind, cardinality):
    rate = 0.0 if kind is None else 1.0
    windows = some(kind, cardinality=cardinality, rate=rate)
    groups = groups_of(windows)
    assert (groups != 3).any(axis=1).all(), "a coupled variable in each"
    assert all(len(set(row)) == cardinality for row in windows.variables), "none twice"
    assert (np.diff(windows.variables) > 0).all(), "in the order of their names"
    if kind == "channel reassignment":
        assert (groups.min(axis=1) != groups.max(axis=1)).all()


def test_missing_entries_and_their_values():
    windows = some(rate=0.0, n_windows=3000)
    assert abs(windows.observed.mean() - 0.95) < 0.002
    assert windows.observed.any(axis=2).all()
    assert (windows.values[~windows.observed] == 0).all()
    assert some(rate=0.0, cardinality=1).observed.all(), "a lone variable is never missing"


def test_factors_have_unit_variance_and_the_regimes_correlations():
    quiet = replace(PAPER, noise=0.0, missing=0.0)
    for world in (quiet, replace(quiet, regimes=WORLDS["ar2"].regimes)):
        windows = some(world=world, rate=0.0, n_windows=4000, cardinality=1)
        loading, factor = loadings_of(windows)
        series = windows.values[:, :, 0] / loading
        assert abs(series.std() - 1) < 0.03
        # Each window draws one of two regimes: the correlation of neighbours is their mean.
        first = [world.regimes[r][0] for r in (0, 1)]
        expected = np.mean([a1 / (1 - a2) for a1, a2 in first])
        x = series[factor[:, 0] == 0]
        assert np.mean(x[:, 1:] * x[:, :-1]) == pytest.approx(expected, abs=0.04)


def test_noise_has_the_size_it_should():
    windows = some(rate=0.0, n_windows=2000)
    is_noise = groups_of(windows) == 3
    noise = np.moveaxis(windows.values, 2, 1)[is_noise]
    seen = np.moveaxis(windows.observed, 2, 1)[is_noise]
    assert noise[seen].std() == pytest.approx(0.8, abs=0.01)


SILENT = replace(PAPER, noise=0.0, noise_only=0.0, missing=0.0)


def inside(windows):
    steps = np.arange(windows.length)
    return (steps >= windows.segments[:, :1]) & (steps < windows.segments[:, 1:])


def test_a_factor_spike_moves_one_factor_for_a_few_steps():
    windows = some("factor spike", world=SILENT, cardinality=8)
    lengths = np.diff(windows.segments)[:, 0]
    assert set(lengths) == {1, 2, 3, 4}
    loading, factor = loadings_of(windows)
    for b in range(50):
        first, end = windows.segments[b]
        moved = set()
        for c in np.flatnonzero(factor[b] >= 0):
            series = windows.values[b, :, c] / loading[b, c]
            if abs(series[first] - series[first - 1]) > 2.5:
                moved.add(factor[b, c])
            if end < windows.length and factor[b, c] in moved:
                assert abs(series[end] - series[end - 1]) > 2.5
        assert len(moved) == 1


def test_a_coupling_change_flips_or_amplifies_some_variables():
    windows = some("coupling change", world=SILENT, cardinality=8)
    loading, factor = loadings_of(windows)
    assert {4, 5, 6, 7, 8} == set(np.diff(windows.segments)[:, 0])
    gains = []
    for b in range(len(windows)):
        first, end = windows.segments[b]
        kept = {}
        for c in np.flatnonzero(factor[b] >= 0):
            series = windows.values[b, first:end, c] / loading[b, c]
            kept.setdefault(factor[b, c], []).append(series)
        for members in kept.values():
            ratios = np.median(np.array(members) / members[0], axis=1)
            gains.extend(np.abs(ratios - 1) > 1e-3)
    assert np.mean(gains) > 0.1, "some differ from their fellows"


def test_sparse_spikes_are_observed_and_large():
    windows = some("sparse spikes", world=replace(PAPER, noise=0.0, noise_only=0.0, missing=0.9))
    is_noise = groups_of(windows) == 3
    spikes = np.moveaxis(windows.values, 2, 1)[is_noise]
    sizes = np.abs(spikes[spikes != 0])
    assert sizes.min() >= 5.5
    assert sizes.max() <= 8.0 + 8.0  # two spikes never share a time step
    assert len(sizes) > 100


def test_sparse_spikes_grow_with_cardinality():
    silent = replace(SILENT, loading=(0.0, 0.0))
    for cardinality, fewest, most in [(4, 2, 5), (16, 4, 5), (32, 8, 8)]:
        windows = some("sparse spikes", world=silent, cardinality=cardinality)
        counts = np.count_nonzero(windows.values, axis=(1, 2))
        assert (counts.min(), counts.max()) == (fewest, most)


def test_a_noisy_copy_repeats_every_bit_and_a_clean_one_does_not():
    whole = replace(PAPER, missing=0.0)
    for copy, expected in [("noisy", True), ("clean", False)]:
        windows = some("lag copy", world=replace(whole, copy=copy), n_windows=50)
        for values, (first, end) in zip(windows.values, windows.segments, strict=True):
            n = end - first
            earlier = [values[s : s + n] for s in range(first - n + 1)]
            assert any(np.array_equal(values[first:end], piece) for piece in earlier) == expected


def test_a_reassignment_permutes_the_values_of_a_segment():
    windows = some("channel reassignment", world=SILENT)
    is_noise = groups_of(windows) == 3
    with_noise_group = is_noise.any(axis=1)
    outside = ~inside(windows)
    for b in np.flatnonzero(with_noise_group):
        assert (windows.values[b][outside[b]][:, is_noise[b]] == 0).all()
    moved = [
        (windows.values[b][~outside[b]][:, is_noise[b]] != 0).any()
        for b in np.flatnonzero(with_noise_group)
    ]
    assert np.mean(moved) > 0.5


def test_a_regime_switch_comes_in_the_middle_and_lasts():
    windows = some("regime switch", n_windows=1000)
    assert (windows.segments[:, 1] == windows.length).all()
    assert windows.segments[:, 0].min() == int(0.3 * windows.length)
    assert windows.segments[:, 0].max() == int(0.7 * windows.length)


def test_longer_windows_have_longer_anomalies():
    windows = some("coupling change", length=64)
    assert set(np.diff(windows.segments)[:, 0]) == set(range(8, 17))
    assert set(np.diff(some("factor spike", length=64).segments)[:, 0]) == set(range(2, 9))


@pytest.mark.parametrize("kind", KINDS)
def test_segments_lie_inside_and_after_the_first_step(kind):
    first, end = some(kind).segments.T
    assert first.min() >= 1
    assert (first < end).all()
    assert end.max() <= 32
    assert (some(kind, rate=0.0).segments == 0).all()


def test_bursts_go_with_anomalies_alone():
    world = find_world("structured-missingness")
    windows = some("coupling change", world=world, n_windows=1000)
    assert windows.observed[inside(windows)].mean() < 0.6
    assert windows.observed[~inside(windows)].mean() > 0.94
    assert some(world=world, rate=0.0).observed.mean() > 0.94


def test_drift_moves_the_evaluation_pool_alone():
    world = find_world("drift")
    drifted = some(world=world, rate=0.0, n_windows=1000)
    usual = generate(world, pool="train", n_windows=1000, cardinality=6, seed=3)
    assert (
        np.abs(drifted.values.mean(axis=1)).mean() > 1.2 * np.abs(usual.values.mean(axis=1)).mean()
    )


def test_pools_share_no_variable():
    assert not set(make_pool("train", 256).names) & set(make_pool("eval", 256).names)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"cardinality": 0}, "cardinality=0"),
        ({"cardinality": 65}, "larger pool_size"),
        ({"length": 4}, "length=4"),
        ({"rate": 1.5}, "rate=1.5"),
        ({"kind": "ghost"}, "'ghost' is not known"),
        ({"n_windows": -1}, "n_windows=-1"),
        ({"kind": "channel reassignment", "cardinality": 1}, "at least 2"),
    ],
)
def test_what_makes_no_sense_is_said(change, message):
    with pytest.raises(SettingError, match=message):
        some(**change)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"copy": "exact"}, "'noisy' or 'clean'"),
        ({"missing": 1.2}, "missing=1.2"),
        ({"pool_size": 3}, "pool_size=3"),
        ({"regimes": (((1.1, 0.0), (0.5, 0.0)),) * 2}, "not stationary"),
    ],
)
def test_impossible_worlds_are_refused(change, message):
    with pytest.raises(SettingError, match=message):
        World(**change)


def test_unknown_names_are_said():
    with pytest.raises(SettingError, match="there are paper, clean-copy"):
        find_world("real")
    with pytest.raises(SettingError, match="there are train and eval"):
        make_pool("test", 256)


def test_nothing_asked_for_nothing_made():
    assert len(some(n_windows=0)) == 0
    assert (some(rate=0.0).kinds == NORMAL).all()


@pytest.mark.parametrize("kind", DenseWorld().kinds)
def test_the_dense_world_changes_a_segment_and_nothing_else(kind):
    world = DenseWorld(missing=0.0, noise=0.1)
    made = [
        generate(world, pool="eval", n_windows=20, cardinality=5, rate=rate, seed=3, kind=kind)
        for rate in (0.0, 1.0)
    ]
    assert not made[0].is_anomalous.any()
    assert made[1].is_anomalous.all()
    again = generate(world, pool="eval", n_windows=20, cardinality=5, rate=1.0, seed=3, kind=kind)
    assert np.array_equal(made[1].values, again.values)
    for b in range(20):
        first, end = made[1].segments[b]
        segment = made[1].values[b, first:end]
        assert 0 < first < end <= 32
        if kind == "stuck values":
            is_stuck = (segment == made[1].values[b, first - 1]).all(axis=0)
            assert is_stuck.any()


def test_the_dense_world_has_six_factors_and_no_groups():
    windows = generate(DenseWorld(), pool="train", n_windows=300, cardinality=16, seed=1)
    values = windows.values.reshape(-1, 16)
    assert 0.9 < values[windows.observed.reshape(-1, 16)].std() < 1.1
    rank = np.linalg.svd(np.where(windows.observed[0], windows.values[0], 0.0), compute_uv=False)
    assert rank[5] > 0.5, "a sixth direction that is more than noise"
    other = generate(DenseWorld(), pool="eval", n_windows=5, cardinality=3, rate=0.4, seed=1)
    assert other.kinds.max() < len(DenseWorld().kinds)


def test_only_normal_windows_of_any_composition_may_be_noise_alone():
    world = find_world("any-composition")
    windows = some(world=world, cardinality=1, rate=0.5, n_windows=400)
    is_noise = (groups_of(windows) == 3).all(axis=1)
    assert not is_noise[windows.is_anomalous].any()
    assert 0.15 < is_noise[~windows.is_anomalous].mean() < 0.35
    assert not (groups_of(some(cardinality=1, rate=0.5)) == 3).all(axis=1).any()
