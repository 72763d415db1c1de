import os
from dataclasses import replace

import numpy as np
import pytest
from tests.benchmarks.real.made_up import dense, fingerprint, made_up_series

from benchmarks.real.churn import add_churn
from benchmarks.real.datasets import dataset, dataset_names, public_sources
from benchmarks.real.drift import FORMS, PLANNED_FORMS, add_drift, plan_drift
from benchmarks.real.load import each_series
from smkc.errors import InputError, SettingError
from smkc.recording import Recording

needs_data = pytest.mark.skipif(
    not os.environ.get("SMKC_DATA"),
    reason="SMKC_DATA is not set; public sources: " + public_sources(*dataset_names()),
)

# The spread of the made-up values, which are even over 64 in steps of 1/64: half of that is the
# interquartile range.
UNIT = 32 / 1.349


@pytest.fixture(scope="module")
def series():
    return made_up_series()


def change(series, drifted):
    """(T, V) what was added, NaN where nothing is observed."""
    names = series.test.names
    assert drifted.test.names == names
    return dense(drifted.test, names) - dense(series.test, names)


def drifting(difference):
    return np.flatnonzero(np.nanmax(np.abs(difference), axis=0) > 0)


@pytest.mark.parametrize("form", FORMS)
def test_a_seed_gives_the_same_drift_and_another_seed_another(series, form):
    same = [fingerprint(add_drift(series, form, seed=4)) for _ in range(2)]
    assert same[0] == same[1]
    assert fingerprint(add_drift(series, form, seed=5)) != same[0]
    assert fingerprint(add_drift(replace(series, name="other"), form, seed=4)) != same[0]


def test_drift_is_the_same_on_every_machine(series):
    found = {form: fingerprint(add_drift(series, form, seed=1)) for form in FORMS}
    assert found == {
        "shift": "5d07235608c34a45",
        "ramp": "c8ec012fc760cb64",
        "noise": "cfb6c82258a03be4",
        "offset": "db728e83530bf090",
        "gain": "0123f6a51eb8024f",
    }


@pytest.mark.parametrize("form", FORMS)
def test_labels_rows_names_presence_and_reference_stay(series, form):
    drifted = add_drift(series, form, seed=0)
    assert drifted.labels is series.labels
    assert drifted.events == series.events
    assert drifted.reference is series.reference
    np.testing.assert_array_equal(drifted.test.times, series.test.times)
    np.testing.assert_array_equal(drifted.test.indptr, series.test.indptr)
    np.testing.assert_array_equal(drifted.test.codes, series.test.codes)
    assert drifted.notes[-1].startswith(f"drift {form} in ")


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("seed", range(3))
def test_the_share_that_drifts_is_the_forms_own_and_constants_never_do(series, form, seed):
    which = drifting(change(series, add_drift(series, form, seed=seed)))
    assert len(which) == int(FORMS[form].share * 19)  # of 20 variables one is constant
    assert 0 not in which


@pytest.mark.parametrize("seed", range(5))
def test_a_shift_rises_to_its_size_and_stays(series, seed):
    difference = change(series, add_drift(series, "shift", seed=seed))
    for j in drifting(difference):
        trace = difference[:, j] / UNIT
        size = abs(np.nanmedian(trace[250:]))
        assert 1.5 * 0.9 < size < 4 * 1.1
        changed = np.flatnonzero(~np.isnan(trace) & (np.abs(trace) > 1e-6))
        assert 40 <= changed.min() <= 165
        settled = trace[changed.min() + 40 :]
        np.testing.assert_allclose(settled[~np.isnan(settled)], np.nanmedian(settled), rtol=1e-3)


def test_a_long_shift_rises_within_two_hundred_rows():
    long = made_up_series(n_rows=4000, n_variables=4)
    difference = change(long, add_drift(long, "shift", seed=0))
    (j,) = drifting(difference)
    size = np.abs(difference[:, j]) / np.nanmax(np.abs(difference[:, j]))
    rising = np.flatnonzero((size > 0.001) & (size < 0.999))
    assert 150 < rising.max() - rising.min() <= 200


def test_a_ramp_grows_from_the_first_row_to_the_last(series):
    difference = change(series, add_drift(series, "ramp", seed=0))
    for j in drifting(difference):
        rows = np.flatnonzero(~np.isnan(difference[:, j]))
        slope = difference[rows, j] @ rows / (rows @ rows)
        np.testing.assert_allclose(difference[rows, j], slope * rows, atol=1e-4)
        assert 0.9 < abs(slope) * 400 / UNIT < 4.4
    signs = np.sign(difference[399][drifting(difference)])
    assert {-1.0, 1.0} <= set(signs[~np.isnan(signs)])


def test_noise_begins_somewhere_and_has_no_level(series):
    difference = change(series, add_drift(series, "noise", seed=0))
    which = drifting(difference)
    starts = {int(np.flatnonzero(np.nan_to_num(difference[:, j])).min()) for j in which}
    assert max(starts) <= 210
    assert max(starts) - min(starts) < 10  # one start for all, a few entries missing
    for j in which:
        added = difference[max(starts) :, j] / UNIT
        added = added[~np.isnan(added)]
        assert 0.3 < added.std() < 1.9
        assert abs(added.mean()) < 4 * added.std() / np.sqrt(len(added))
    together = np.corrcoef(np.nan_to_num(difference[max(starts) :, which]).T)
    assert np.abs(together - np.eye(len(which))).max() < 0.35


def test_an_offset_is_there_from_the_first_row(series):
    difference = change(series, add_drift(series, "offset", seed=0))
    for j in drifting(difference):
        added = difference[~np.isnan(difference[:, j]), j]
        np.testing.assert_allclose(added, added[0], rtol=1e-4)
        assert 0.9 < abs(added[0]) / UNIT < 4.4


def test_a_gain_widens_a_variable_about_its_centre(series):
    drifted = add_drift(series, "gain", seed=0)
    for j in drifting(change(series, drifted)):
        name = series.test.names[j]
        before, after = series.test.trace(name)[200:], drifted.test.trace(name)[200:]
        centre = np.nanmedian(series.reference.trace(name))
        seen = ~np.isnan(before) & (np.abs(before - centre) > 1)
        gain = (after[seen] - centre) / (before[seen] - centre)
        np.testing.assert_allclose(gain, gain[0], rtol=1e-3)
        assert 1.3 < gain[0] < 2.2


@pytest.mark.parametrize("form", FORMS)
def test_later_rows_never_change_earlier_ones(series, form):
    test = series.test
    values = test.values.copy()
    values[test.indptr[300] :] += 100
    later = replace(series, test=test.with_values(values))
    before, after = (add_drift(one, form, seed=1) for one in (series, later))
    assert before.test.rows(0, 300) == after.test.rows(0, 300)
    assert before.test.rows(300) != after.test.rows(300)


def test_an_entry_that_is_missing_does_not_change_the_others(series):
    test = series.test
    is_kept = np.arange(test.n_observations) % 7 != 0
    sparse = Recording.from_observations(
        test.times,
        test.row_numbers[is_kept],
        test.codes[is_kept],
        test.values[is_kept],
        test.names,
    )
    whole = add_drift(series, "noise", seed=0).test.values[is_kept]
    np.testing.assert_array_equal(
        add_drift(replace(series, test=sparse), "noise", seed=0).test.values, whole
    )


def test_variables_that_the_reference_does_not_know_stay(series):
    known = replace(series, reference=series.reference.select(["v00", "v05", "v06"]))
    which = drifting(change(known, add_drift(known, "ramp", seed=0)))
    assert len(which) == 1
    assert which[0] in (5, 6)


def test_a_series_in_which_nothing_varies_is_an_error(series):
    constant = replace(series, reference=series.reference.select(["v00"]))
    with pytest.raises(InputError, match="no variable of the test part of made-up/box varies"):
        add_drift(constant, "shift")
    short = replace(series, reference=series.reference.rows(0, 15))
    with pytest.raises(InputError, match="no variable of the test part"):
        add_drift(short, "shift")


def test_drift_comes_before_churn(series):
    assert add_churn(add_drift(series, "shift"), "full").origins
    with pytest.raises(InputError, match="add drift first and churn after it"):
        add_drift(add_churn(series, "full"), "shift")


def test_an_unknown_form_or_seed_is_an_error(series):
    with pytest.raises(SettingError, match="drift 'jump' is unknown; choose one of shift, ramp"):
        add_drift(series, "jump")
    with pytest.raises(SettingError, match="seed=-1 must be a whole number"):
        add_drift(series, "shift", seed=-1)


@pytest.mark.parametrize("n", [1, 2, 3, 4, 8, 12, 16])
def test_half_of_the_recordings_drift_and_the_forms_take_turns(n):
    names = [f"r{i}" for i in range(n)]
    plan = plan_drift("made-up", names, seed=2)
    assert len(plan) == (n + 1) // 2
    assert set(plan) <= set(names)
    counts = [list(plan.values()).count(form) for form in PLANNED_FORMS]
    assert sum(counts) == len(plan)
    assert max(counts) - min(counts) <= 1
    assert plan == plan_drift("made-up", names[::-1], seed=2)


def test_a_plan_depends_on_dataset_and_seed():
    names = [f"r{i}" for i in range(12)]
    plans = [plan_drift(d, names, seed=s) for d in ("a", "b") for s in (0, 1)]
    assert all(plans[i] != plans[j] for i in range(4) for j in range(i))
    with pytest.raises(InputError, match="have one name"):
        plan_drift("a", ["x", "x"])


@needs_data
@pytest.mark.parametrize("name", ["asd", "nezha", "lro", "petshop", "nasa", "cloudmon"])
def test_the_recordings_at_hand_can_drift_in_every_planned_form(name):
    assert plan_drift(name, [parts.name for parts in dataset(name).series])
    series = next(each_series(name))
    for form in PLANNED_FORMS:
        drifted = add_drift(series, form, seed=0)
        assert drifted.test.n_observations == series.test.n_observations
        assert (drifted.test.values != series.test.values).any()
