import os
from dataclasses import replace

import numpy as np
import pytest
from tests.benchmarks.real.made_up import dense, fingerprint, made_up_series

from benchmarks.real.churn import LEVELS, Churn, _bursts, add_churn
from benchmarks.real.datasets import public_sources
from benchmarks.real.draws import Draws
from benchmarks.real.load import load_series
from smkc.errors import SettingError
from smkc.recording import Recording

needs_data = pytest.mark.skipif(
    not os.environ.get("SMKC_DATA"),
    reason="SMKC_DATA is not set; public sources: " + public_sources("smd", "asd", "skab"),
)


@pytest.fixture(scope="module")
def series():
    return made_up_series()


def traced_back(series, original):
    """(T, V) values of the test part under the original names; two never meet in one cell."""
    names = original.test.names
    table = np.full((len(series.test), len(names)), np.nan)
    for variable in series.test.names:
        trace = series.test.trace(variable)
        column = table[:, names.index(series.origin(variable))]
        assert not (~np.isnan(trace) & ~np.isnan(column)).any()
        column[~np.isnan(trace)] = trace[~np.isnan(trace)]
    return table


def test_the_levels_are_those_of_the_protocol_and_mild_is_half_of_full():
    full, mild = LEVELS["full"], LEVELS["mild"]
    assert full == Churn(renamed=0.3, vanished=0.2, withheld=0.2, missing=0.1, burst=10)
    for share in ("renamed", "vanished", "withheld", "missing"):
        assert getattr(mild, share) == getattr(full, share) / 2


@pytest.mark.parametrize("level", ["none", Churn()])
def test_no_churn_is_the_series_itself(series, level):
    assert add_churn(series, level, seed=3) is series


@pytest.mark.parametrize("level", ["mild", "full"])
def test_a_seed_gives_the_same_churn_and_another_seed_another(series, level):
    same = [fingerprint(add_churn(series, level, seed=4)) for _ in range(2)]
    assert same[0] == same[1]
    assert fingerprint(add_churn(series, level, seed=5)) != same[0]
    assert fingerprint(add_churn(replace(series, name="other"), level, seed=4)) != same[0]


def test_churn_is_the_same_on_every_machine(series):
    assert fingerprint(series) == "5d9b183f17eb4e98"
    assert fingerprint(add_churn(series, "mild", seed=1)) == "1b0ea239acc3010f"
    assert fingerprint(add_churn(series, "full", seed=1)) == "19e2a7bc8a1256bc"


@pytest.mark.parametrize("seed", range(5))
def test_full_churn_renames_hides_and_takes_away_as_many_as_it_says(series, seed):
    # Bursts are left out: a long one at the end looks like a variable that vanished.
    churned = add_churn(series, replace(LEVELS["full"], missing=0.0), seed=seed)
    original = set(series.test.names)
    assert len(churned.origins) == 6  # 30% of 20
    assert set(churned.origins.values()) < original
    assert set(churned.origins).isdisjoint(original)
    withheld = original - set(churned.reference.names)
    assert len(withheld) == 4
    kept = ~np.isnan(traced_back(churned, series))
    last = np.where(kept, np.arange(400)[:, None], -1).max(axis=0)
    gone = {name for name, row in zip(series.test.names, last, strict=True) if row < 365}
    assert len(gone) == 4
    assert gone.isdisjoint(withheld)
    assert gone.isdisjoint(churned.origins.values())
    assert withheld.isdisjoint(churned.origins.values())


def test_missing_entries_come_on_top_and_change_no_other_choice(series):
    full = add_churn(series, "full", seed=4)
    without = add_churn(series, replace(LEVELS["full"], missing=0.0), seed=4)
    assert full.origins == without.origins
    assert full.reference == without.reference
    more, fewer = (~np.isnan(traced_back(one, series)) for one in (without, full))
    assert (more | ~fewer).all()
    assert fewer.sum() < more.sum()


def test_burst_lengths_follow_the_geometric_law():
    churn = LEVELS["full"]
    is_missing = _bursts(Draws("law", seed=0), 400_000, churn).astype(np.int8)
    edges = np.flatnonzero(np.diff(is_missing, prepend=0, append=0))
    lengths = edges[1::2] - edges[::2]
    for rows in (2, 5, 10, 20, 30):
        expected = 0.9 ** (rows - 1)
        error = np.sqrt(expected * (1 - expected) / len(lengths))
        assert abs((lengths >= rows).mean() - expected) < 4 * error


@pytest.mark.parametrize("seed", range(3))
def test_a_renamed_variable_ends_where_its_new_name_begins(series, seed):
    churned = add_churn(series, Churn(renamed=0.3), seed=seed)
    np.testing.assert_array_equal(
        traced_back(churned, series), dense(series.test, series.test.names)
    )
    for new, old in churned.origins.items():
        assert new.startswith(old + "~")
        before = np.flatnonzero(~np.isnan(churned.test.trace(old)))
        after = np.flatnonzero(~np.isnan(churned.test.trace(new)))
        assert before.max() < after.min()
        assert 40 <= after.min() <= 370  # between .1 and .9 of 400 rows, a few of them missing


def test_a_vanished_variable_is_there_before_and_not_after(series):
    churned = add_churn(series, Churn(vanished=0.2), seed=0)
    expected = dense(series.test, series.test.names)
    actual = dense(churned.test, series.test.names)
    changed = np.flatnonzero((np.isnan(actual) & ~np.isnan(expected)).any(axis=0))
    assert len(changed) == 4
    for j in changed:
        end = np.flatnonzero(~np.isnan(actual[:, j])).max() + 1
        assert 30 <= end <= 360
        np.testing.assert_array_equal(actual[:end, j], expected[:end, j])
        assert np.isnan(actual[end:, j]).all()
    assert churned.reference == series.reference


def test_a_withheld_variable_is_unknown_and_appears(series):
    churned = add_churn(series, Churn(withheld=0.2), seed=0)
    withheld = set(series.reference.names) - set(churned.reference.names)
    assert len(withheld) == 4
    for name in withheld:
        before, after = series.test.trace(name), churned.test.trace(name)
        start = np.flatnonzero(~np.isnan(after)).min()
        assert start <= 210
        np.testing.assert_array_equal(after[start:], before[start:])
    others = [name for name in series.test.names if name not in withheld]
    assert churned.test.select(others) == series.test.select(others)
    assert churned.reference == series.reference.select(others)


@pytest.mark.parametrize("missing", [0.05, 0.1, 0.4])
def test_missing_entries_have_the_share_and_the_bursts_asked_for(missing):
    n_rows, n_variables = 4000, 25
    rows, codes = np.divmod(np.arange(n_rows * n_variables), n_variables)
    names = [f"v{j:02d}" for j in range(n_variables)]
    full = Recording.from_observations(
        np.arange(n_rows), rows, codes, np.ones(len(rows), np.float32), names
    )
    whole = replace(
        made_up_series(), reference=full, test=full, labels=np.zeros(n_rows, bool), events=()
    )
    churned = add_churn(whole, Churn(missing=missing, burst=10), seed=2)
    is_missing = np.isnan(dense(churned.test, full.names))
    assert is_missing.mean() == pytest.approx(missing, rel=0.06)
    assert is_missing[:200].mean() == pytest.approx(missing, rel=0.35)  # from the first row on
    n_bursts = (np.diff(is_missing.astype(int), axis=0, prepend=0) == 1).sum()
    assert is_missing.sum() / n_bursts == pytest.approx(10, rel=0.06)
    assert not (is_missing[:, 0] == is_missing[:, 1]).all()
    assert churned.reference is not None
    assert churned.reference == full


@pytest.mark.parametrize("level", ["mild", "full"])
def test_rows_labels_events_and_values_stay(series, level):
    churned = add_churn(series, level, seed=7)
    assert churned.labels is series.labels
    assert churned.events == series.events
    np.testing.assert_array_equal(churned.test.times, series.test.times)
    expected = dense(series.test, series.test.names)
    actual = traced_back(churned, series)
    is_kept = ~np.isnan(actual)
    assert is_kept.sum() < (~np.isnan(expected)).sum()
    np.testing.assert_array_equal(actual[is_kept], expected[is_kept])
    assert churned.notes[-1] == f"churn {level}, seed 7"


def test_later_rows_never_change_earlier_ones(series):
    test = series.test
    values = test.values.copy()
    values[test.indptr[200] :] += 100
    later = replace(series, test=test.with_values(values))
    before, after = (add_churn(one, "full", seed=1) for one in (series, later))
    assert before.test.rows(0, 200) == after.test.rows(0, 200)
    assert before.test.rows(200) != after.test.rows(200)
    assert before.reference == after.reference


def test_churn_on_churn_leads_back_to_the_first_names(series):
    twice = add_churn(add_churn(series, "full", seed=0), Churn(renamed=1.0), seed=1)
    assert {twice.origin(name) for name in twice.test.names} <= set(series.test.names)
    assert any(name.count("~") == 2 for name in twice.test.names)


def test_few_variables_and_none_are_no_trouble():
    for n_variables in (1, 2, 3):
        few = made_up_series(n_variables=n_variables)
        assert len(add_churn(few, "full", seed=0).test) == len(few.test)
    empty = Recording.from_rows([0, 1], [{}, {}])
    bare = replace(few, test=empty, labels=np.zeros(2, bool), events=())
    assert add_churn(bare, "full", seed=0).test == empty


@pytest.mark.parametrize(
    ("setting", "message"),
    [
        ({"renamed": 1.2}, "renamed=1.2 is a share"),
        ({"missing": -0.1}, "missing=-0.1 is a share"),
        ({"withheld": float("nan")}, "withheld=nan is a share"),
        ({"renamed": 0.5, "vanished": 0.4, "withheld": 0.2}, "their sum must be at most 1"),
        ({"burst": 0.5}, "burst=0.5 is a mean number of rows"),
        ({"missing": 1.0}, "missing=1.0 cannot be had in bursts of 10.0 rows"),
    ],
)
def test_shares_that_make_no_sense_are_errors(setting, message):
    with pytest.raises(SettingError, match=message):
        Churn(**setting)


def test_an_unknown_level_or_seed_is_an_error(series):
    with pytest.raises(SettingError, match="churn 'heavy' is unknown; choose one of none, mild"):
        add_churn(series, "heavy")
    for seed in (-1, 1.5, True, "0"):
        with pytest.raises(SettingError, match="must be a whole number"):
            add_churn(series, "none", seed=seed)


@needs_data
def test_full_churn_of_a_machine_at_hand_has_the_protocols_shares():
    series = load_series("smd", "machine-2-1")
    churned = add_churn(series, "full", seed=0)
    assert len(churned.origins) == 11  # of 38
    assert len(series.reference.names) - len(churned.reference.names) == 8
    assert churned.labels is series.labels
    kept = ~np.isnan(traced_back(churned, series))
    # 10% in bursts, and on average half of 8 vanished and a quarter of 8 withheld of 38.
    assert 0.15 < 1 - kept.mean() < 0.35
