"""What is chosen, learned, learned later and saved."""

import numpy as np
import pytest
from threadpoolctl import threadpool_limits

from smkc.errors import InputError, ModelFileError, SettingError
from smkc.evidence.model import ReferenceEvidence
from smkc.recording import Recording


def recording(values, names=None, first=0):
    names = names or [f"v{j}" for j in range(values.shape[1])]
    rows, codes = np.nonzero(~np.isnan(values))
    times = np.arange(first, first + len(values))
    return Recording.from_observations(times, rows, codes, values[rows, codes], tuple(names))


def test_choices_come_from_the_reference_and_say_why(rng):
    t = np.arange(400)
    waves = np.column_stack([np.sin(2 * np.pi * t / 50), np.cos(2 * np.pi * t / 50)])
    choices = ReferenceEvidence.fit(recording(waves + 0.1 * rng.normal(size=(400, 2)))).choices
    assert choices.window == 8
    assert choices.step == 1.0
    assert choices.memory >= 100 * choices.window
    wide = ReferenceEvidence.fit(recording(rng.normal(size=(60, 20)))).choices
    assert wide.window == 1


def test_a_window_may_be_asked_for(rng):
    values = recording(rng.normal(size=(100, 2)))
    assert ReferenceEvidence.fit(values, window=3).choices.window == 3
    with pytest.raises(SettingError, match="window=0"):
        ReferenceEvidence.fit(values, window=0)


def test_false_alarms_on_normal_rows_are_as_rare_as_stated():
    below = []
    for seed in range(8):
        rng = np.random.default_rng(seed)
        rows = rng.normal(size=(4500, 1)) + 0.5 * rng.normal(size=(4500, 6))
        model = ReferenceEvidence.fit(recording(rows[:1500]))
        p_values = model.start().push_rows(recording(rows[1500:], first=1500)).p_values
        below.append([(p_values < rate).mean() for rate in (0.001, 0.01, 0.1)])
    rates = np.mean(below, axis=0)
    # They bound the rate: two ways to alarm share it, and the bulk of rows is no surprise at all.
    assert rates[0] <= 0.001
    assert 0.0005 < rates[1] <= 0.01
    assert 0.02 < rates[2] <= 0.12


def test_no_surprise_ranks_higher_than_the_reference_can_tell_of(rng):
    model = ReferenceEvidence.fit(recording(rng.normal(size=(400, 4))), window=1)
    largest = np.log(100 * 160)  # the forward null has 160 rows
    live = rng.normal(size=(40, 4))
    live[20], live[30] = 6.0, 100.0
    found = model.start(follows=True).push_rows(live, model.names)
    assert np.nanmax(found.nats) == pytest.approx(largest)
    assert np.nanmax(found.nats[:20]) < largest
    assert found.scores.max() < largest
    assert found.p_values[30] < 1e-3


def test_more_reference_data_can_be_learned(rng):
    values = rng.normal(size=(300, 3))
    model = ReferenceEvidence.fit(recording(values))
    more = np.column_stack([rng.normal(size=(200, 3)) + 6.0, rng.normal(size=200)])
    names = ["v0", "v1", "v2", "w"]
    wiser = model.learned(recording(more, names, 300))
    assert wiser.names == ("v0", "v1", "v2", "w")
    live = recording(more[:50] + 0.1, names, 500)
    before, after = model.start().push_rows(live), wiser.start().push_rows(live)
    assert (before.p_values < 0.001).all()
    assert (after.p_values > 0.01).all()
    assert np.median(after.p_values) > 0.5


def test_a_relation_that_changed_within_the_reference_is_no_surprise_later(rng):
    """Components of the whole reference leave more unexplained than those of its first part."""

    def rows(n):
        return np.column_stack([rng.normal(size=(n, 3)) + 6.0, rng.normal(size=n)])

    early = np.column_stack([rng.normal(size=(300, 3)), np.full(300, np.nan)])
    model = ReferenceEvidence.fit(recording(np.concatenate([early, rows(200)])))
    found = model.start().push_rows(recording(rows(300), first=500))
    assert (found.p_values < 0.01).mean() < 0.02


def test_constants_and_rare_variables_are_survived(rng):
    values = rng.normal(size=(200, 4))
    values[:, 0] = 5.0
    values[3:, 1] = np.nan
    model = ReferenceEvidence.fit(recording(values))
    assert model.names == ("v0", "v2", "v3")
    live = rng.normal(size=(40, 4))
    live[:, 0] = 5.0
    live[30:, 0] = 9.0
    state = model.start()
    found = state.push_rows(recording(live, None, 200))
    assert np.isfinite(found.scores).all()
    assert found.p_values[30:].max() < 0.05
    assert next(iter(state.blame(30, 40).variables)) == "v0"


def test_a_saved_model_scores_the_same(rng):
    model = ReferenceEvidence.fit(recording(rng.normal(size=(200, 3))))
    arrays, header = model.to_arrays()
    again = ReferenceEvidence.restored(arrays, header)
    live = recording(rng.normal(size=(60, 3)), None, 200)
    np.testing.assert_array_equal(
        model.start().push_rows(live).scores, again.start().push_rows(live).scores
    )
    more = recording(rng.normal(size=(60, 3)), None, 200)
    np.testing.assert_array_equal(model.learned(more).rows, again.learned(more).rows)
    assert again.choices.reasons == model.choices.reasons
    for key in ("rows", "evidence0.neighbours.stored", "normal.statistics"):
        with pytest.raises(ModelFileError, match="fit the model again"):
            ReferenceEvidence.restored({k: a for k, a in arrays.items() if k != key}, header)


def test_too_little_is_named(rng):
    with pytest.raises(InputError, match="10 rows"):
        ReferenceEvidence.fit(recording(rng.normal(size=(10, 2))))
    sparse = np.full((100, 2), np.nan)
    sparse[:3] = 1.0
    with pytest.raises(InputError, match="often"):
        ReferenceEvidence.fit(recording(sparse))


def test_threads_change_no_bit(rng):
    values = recording(rng.normal(size=(400, 12)) @ rng.normal(size=(12, 12)))
    fitted = []
    for n_threads in (1, 4):
        with threadpool_limits(n_threads):
            fitted.append(ReferenceEvidence.fit(values).to_arrays()[0])
    assert fitted[0].keys() == fitted[1].keys()
    for key, array in fitted[0].items():
        np.testing.assert_array_equal(array, fitted[1][key], err_msg=key)


@pytest.mark.parametrize("change", [lambda tails: tails.pop("level"), lambda tails: None])
def test_a_model_fitted_with_other_questions_is_refused(rng, change):
    arrays, header = ReferenceEvidence.fit(recording(rng.normal(size=(200, 3)))).to_arrays()
    tails = dict(header["variables"]["tails"])
    tails["bend"] = tails["level"]
    change(tails)
    header = {**header, "variables": {**header["variables"], "tails": tails}}
    with pytest.raises(ModelFileError, match=r"bend.*; fit the model again"):
        ReferenceEvidence.restored(arrays, header)
