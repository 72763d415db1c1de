import numpy as np
import pytest
from tests.smkc.doctor.conftest import made, table

from smkc.doctor import KINDS, HeldOut, hold_out, plant
from smkc.recording import Recording

PLACES, LENGTH = [50, 150, 250, 350], 20


def planted(held: HeldOut, kind: str, size: int = 2, seed: int = 3):
    return plant(held, kind, size, PLACES, LENGTH, np.random.default_rng(seed))


def change(held: HeldOut, copy: Recording, name: str) -> np.ndarray:
    return copy.trace(name).astype(float) - held.recording.trace(name)


@pytest.mark.parametrize("kind", [kind for kind in KINDS if kind != "wrong hour"])
def test_only_the_planted_rows_and_variables_are_changed(held, kind: str) -> None:
    copy, plants = planted(held, kind)
    assert [one.first_row for one in plants] == PLACES
    assert np.array_equal(copy.times, held.recording.times)
    may = {name: np.zeros(len(held), bool) for name in held.recording.names}
    for one in plants:
        assert one.variables
        for name in one.variables:
            may[name][one.first_row : one.last_row + 1] = True
    for name, rows in may.items():
        before, after = held.recording.trace(name), copy.trace(name)
        is_same = (before == after) | (np.isnan(before) & np.isnan(after))
        assert is_same[~rows].all()
        if kind != "frozen":  # whose first row stays
            assert not is_same[rows].any()


def test_sizes_are_in_the_variables_own_spreads(held) -> None:
    for size, spreads in enumerate(KINDS["level shift"].sizes):
        copy, plants = planted(held, "level shift", size)
        for one in plants:
            for name in one.variables:
                spread = held.spread[held.recording.names.index(name)]
                moved = change(held, copy, name)[one.first_row : one.last_row + 1]
                np.testing.assert_allclose(np.abs(moved), spreads * spread, rtol=1e-3)
                assert np.all(np.sign(moved) == np.sign(moved[0]))


def test_a_spike_is_short_and_a_ramp_rises(held) -> None:
    _, spikes = planted(held, "spike")
    assert {one.last_row - one.first_row + 1 for one in spikes} == {3}
    copy, ramps = planted(held, "ramp")
    moved = np.abs(change(held, copy, ramps[0].variables[0]))[PLACES[0] : PLACES[0] + LENGTH]
    assert np.all(np.diff(moved) > 0)


def test_noise_widens_the_scatter_by_its_size(held) -> None:
    copy, plants = planted(held, "noise")
    scatter = [
        np.std(change(held, copy, name)[one.first_row : one.last_row + 1])
        / held.spread[held.recording.names.index(name)]
        for one in plants
        for name in one.variables
    ]
    assert np.mean(scatter) == pytest.approx(KINDS["noise"].sizes[2], rel=0.2)


def test_frozen_values_repeat_and_vanished_ones_are_gone(held) -> None:
    copy, plants = planted(held, "frozen")
    for one in plants:
        for name in one.variables:
            assert len(set(copy.trace(name)[one.first_row : one.last_row + 1])) == 1
    copy, plants = planted(held, "vanished")
    assert {len(one.variables) for one in plants} == {3}  # half of six
    for one in plants:
        for name in one.variables:
            assert np.isnan(copy.trace(name)[one.first_row : one.last_row + 1]).all()


def test_a_broken_relation_keeps_the_level_and_loses_the_partner(held) -> None:
    copy, plants = planted(held, "relation", size=0)
    for one in plants:
        (name,) = one.variables
        rows = slice(one.first_row, one.last_row + 1)
        at = held.recording.names.index(name)
        partner = held.recording.names[at ^ 1]
        before, after = held.recording.trace(name)[rows], copy.trace(name)[rows]
        assert np.median(after) == pytest.approx(np.median(before), abs=1e-3)
        other = copy.trace(partner)[rows]
        assert np.corrcoef(before, other)[0, 1] > 0.7
        assert abs(np.corrcoef(after, other)[0, 1]) < 0.7


@pytest.fixture
def daily(rng: np.random.Generator) -> HeldOut:
    """Two variables that follow the hour, and one that does not; hourly rows."""
    hours = np.arange(24 * 40)
    load = 10 * np.sin(2 * np.pi * hours / 24)
    noise = rng.normal(size=(len(hours), 3))
    whole = table(np.column_stack([load, load, 0 * load]) + noise, step=3600)
    seasons = {"v0": 86_400.0, "v1": 86_400.0}
    return hold_out(whole.rows(0, 24 * 25), whole.rows(24 * 25), 6, seasons)


@pytest.mark.parametrize("size", range(3))
def test_a_wrong_hour_has_the_values_of_another(daily: HeldOut, size: int) -> None:
    places = list(range(30, 300, 29))  # at many hours
    copy, plants = plant(daily, "wrong hour", size, places, 6, np.random.default_rng(0))
    assert len(plants) >= 3
    apart = round(24 * KINDS["wrong hour"].sizes[size])
    for one in plants:
        (name,) = one.variables
        assert name in ("v0", "v1")
        now, usual = copy.trace(name), daily.recording.trace(name)
        rows = np.arange(one.first_row, one.last_row + 1)
        taken = [np.array_equal(now[rows], usual[rows + way * apart]) for way in (-1, 1)]
        assert any(taken)
        away = abs(np.median(now[rows]) - np.median(usual[rows]))
        assert away >= 0.5 * daily.spread[daily.recording.names.index(name)]


def test_without_a_season_there_is_no_wrong_hour(held) -> None:
    assert planted(held, "wrong hour") == (held.recording, [])


def test_variables_that_move_together_over_hours_only_are_partners(
    rng: np.random.Generator,
) -> None:
    slow = np.repeat(rng.normal(size=(60, 2)), 20, axis=0)  # levels of twenty rows each
    values = np.column_stack([slow[:, 0], slow[:, 0], slow[:, 1]])
    whole = table(values + 0.2 * rng.normal(size=values.shape))
    held = hold_out(whole, whole, 20, {})
    assert not held.has_partner.any()
    assert held.has_slow_partner.tolist() == [True, True, False]
    copy, plants = plant(held, "relation", 0, [400, 800], 20, rng)
    for one in plants:
        (name,) = one.variables
        rows = slice(one.first_row, one.last_row + 1)
        other = "v1" if name == "v0" else "v0"
        apart = np.median(copy.trace(name)[rows]) - np.median(copy.trace(other)[rows])
        assert abs(apart) > 0.5


def test_independent_drifts_are_not_related() -> None:
    found = []
    for seed in range(10):
        steps = np.random.default_rng(seed).normal(size=(1000, 2))
        whole = table(np.cumsum(steps, axis=0))
        found += hold_out(whole, whole, 20, {}).has_slow_partner.tolist()
    assert np.mean(found) <= 0.2


def test_larger_size_changes_the_same_variables(held) -> None:
    small, large = (planted(held, "spike", size)[1] for size in (0, 2))
    assert [one.variables for one in small] == [one.variables for one in large]
    few, many = (planted(held, "frozen", size)[1] for size in (0, 2))
    for one, other in zip(few, many, strict=True):
        assert set(one.variables) < set(other.variables)


def test_seed_determines_the_anomalies(held) -> None:
    assert planted(held, "noise")[0] == planted(held, "noise")[0]
    assert planted(held, "noise")[0] != planted(held, "noise", seed=4)[0]


def test_unsuitable_variables_are_not_changed(rng: np.random.Generator) -> None:
    values = np.column_stack([rng.normal(size=500), np.full(500, 3.0)])
    alone = hold_out(table(values).rows(0, 300), table(values).rows(300), 16, {})
    assert not alone.has_partner.any()
    assert plant(alone, "relation", 2, [50], 16, rng) == (alone.recording, [])
    _, plants = plant(alone, "level shift", 2, [50], 16, rng)
    assert plants[0].variables == ("v0",)


def test_counter_changes_in_its_rate_and_keeps_counting(rng: np.random.Generator) -> None:
    steps = rng.integers(20, 40, size=600)
    counts = np.cumsum(steps).astype(float)
    counts[500:] -= counts[500] - 5  # starts anew
    whole = table(counts[:, None], ["requests_total"])
    held = hold_out(whole.rows(0, 300), whole.rows(300), 16, {})
    assert held.is_counter.all()
    copy, plants = plant(held, "level shift", 2, [100], 20, np.random.default_rng(0))
    before, after = (one.trace("requests_total").astype(float) for one in (held.recording, copy))
    (one,) = plants
    rows = slice(one.first_row, one.last_row)
    added = np.diff(after)[rows] - np.diff(before)[rows]
    assert np.abs(np.median(added)) > 20
    np.testing.assert_allclose(np.diff(after)[120:198], np.diff(before)[120:198], atol=1)
    np.testing.assert_array_equal(after[200:], before[200:])
    assert np.all(np.diff(after)[:198] >= 0)
    copy, _ = plant(held, "frozen", 2, [100], 20, np.random.default_rng(0))
    assert len(set(copy.trace("requests_total")[100:120])) == 1


def test_whole_numbers_stay_whole(rng: np.random.Generator) -> None:
    whole = table(rng.integers(0, 50, size=(500, 2)).astype(float))
    held = hold_out(whole.rows(0, 300), whole.rows(300), 16, {})
    copy, _ = plant(held, "noise", 0, [50], 16, rng)
    assert np.array_equal(copy.values, np.round(copy.values))


def test_variables_that_are_there_and_that_move_together(rng: np.random.Generator) -> None:
    whole = made(rng, 400)
    late = whole.trace("v0").astype(float)
    values = np.column_stack([whole.trace(name) for name in whole.names]).astype(float)
    values[:200, 0] = np.nan
    held = hold_out(whole, table(values, first=400), 16, {})
    assert held.observed(0, 50).tolist() == [1, 2, 3, 4, 5]
    assert held.observed(250, 300).tolist() == [0, 1, 2, 3, 4, 5]
    assert held.between(0, 190, 209) == (0, 10)
    assert held.recording.values[held.all_of(0)][0] == np.float32(late[200])
    assert held.has_partner.all()
