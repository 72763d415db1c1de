"""What lasts: a long fault is heard to its end, a new normal is muted, and what was accepted."""

import numpy as np
import pytest

from smkc.evidence.model import ReferenceEvidence
from smkc.evidence.settings import SETTINGS
from smkc.recording import Recording

W = 2
NAMES = ("a", "b", "c")


def noise(rng, n):
    common = rng.normal(size=(n, 1))
    return common + 0.3 * rng.normal(size=(n, len(NAMES)))


@pytest.fixture(scope="module")
def model():
    values = noise(np.random.default_rng(1), 600)
    rows = [dict(zip(NAMES, row, strict=True)) for row in values]
    return ReferenceEvidence.fit(Recording.from_rows(range(600), rows), window=W)


def test_a_fault_of_twenty_windows_stays_anomalous_to_its_end(model):
    rng = np.random.default_rng(2)
    values = noise(rng, 400)
    fault = slice(200, 200 + 20 * W)
    values[fault, 1] += 4.0
    state = model.start(follows=True)
    found = state.push_rows(values, NAMES)
    assert (found.p_values[fault] < 0.01).all()
    assert (found.p_values[:200] < 0.01).mean() < 0.03
    # and one like it later is as anomalous as it was
    again = noise(rng, 400)
    again[300:320, 1] += 4.0
    later = state.push_rows(again, NAMES)
    assert np.median(later.scores[304:320]) > 0.8 * np.median(found.scores[204:220])
    assert (later.p_values[304:320] < 0.02).all()


@pytest.mark.parametrize("shift", [4.0, 8.0])
def test_a_permanent_shift_stops_alarming_after_the_stated_time(model, shift):
    values = noise(np.random.default_rng(3), 800)
    values[200:, 1] += shift
    found = model.start(follows=True).push_rows(values, NAMES)
    assert (found.p_values[205 : 190 + SETTINGS.lasting_rows] < 0.01).all()
    assert (found.p_values[200 + SETTINGS.lasting_rows :] < 0.01).mean() < 0.02


def test_a_new_normal_is_announced_with_its_beginning_and_values(model):
    values = noise(np.random.default_rng(3), 800)
    values[200:, 1] += 6.0
    state = model.start(follows=True)
    state.push_rows(values[:350], NAMES)
    assert state.new_normals() == ()
    state.push_rows(values[350:], NAMES)
    (one,) = state.new_normals()
    assert (one.variable, one.row) == ("b", 200)
    assert (one.before, one.now) == pytest.approx((0.0, 6.0), abs=0.4)


def test_a_new_normal_that_is_refused_stays_unusual_until_it_ends(model):
    values = noise(np.random.default_rng(3), 1600)
    values[200:900, 1] += 6.0
    values[1400:, 1] += 6.0
    state = model.start(follows=True)
    state.push_rows(values[:500], NAMES)
    state.refuse(["b"])
    assert state.new_normals() == ()
    arrays, header = state.to_arrays()
    arrays = {name: array.copy() for name, array in arrays.items()}
    found = state.push_rows(values[500:], NAMES)
    assert (found.p_values[20:400] < 0.01).all()
    assert (found.p_values[420:880] < 0.01).mean() < 0.02
    assert (found.p_values[905:] < 0.01).all(), "the refusal is over: it is news again"
    again = model.start(follows=True).restored(arrays, header).push_rows(values[500:], NAMES)
    assert np.array_equal(again.p_values, found.p_values)


def test_what_was_muted_is_heard_again_once_it_has_been_quiet(model):
    values = noise(np.random.default_rng(6), 1500)
    values[200:600, 1] += 6.0
    values[1200:1220, 1] += 6.0
    found = model.start(follows=True).push_rows(values, NAMES)
    assert (found.p_values[450:600] > 0.01).mean() > 0.98
    assert (found.p_values[1204:1220] < 0.01).all()


def test_changed_noise_alarms_less_and_less(model):
    rng = np.random.default_rng(4)
    values = noise(rng, 2000)
    values[200:, 1] += 2.0 * rng.normal(size=1800)
    found = model.start(follows=True).push_rows(values, NAMES)
    early, later = found.p_values[200:300], found.p_values[200 + 2 * SETTINGS.lasting_rows :]
    assert (early < 0.001).mean() > 0.25
    assert (later < 0.001).mean() < 0.1 * (early < 0.001).mean()


def test_accepted_rows_are_heard_no_more(model):
    values = noise(np.random.default_rng(5), 300)
    values[200:, 1] += 4.0
    untold, told = model.start(follows=True), model.start(follows=True)
    for state in (untold, told):
        state.push_rows(values[:240], NAMES)
    told.accept(200, 240)
    assert (untold.push_rows(values[240:], NAMES).p_values < 0.01).all()
    assert (told.push_rows(values[240:], NAMES).p_values > 0.01).all()
