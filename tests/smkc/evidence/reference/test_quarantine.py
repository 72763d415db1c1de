"""What joins the normal rows, and when: not a long fault, but a state that lasts."""

import numpy as np
import pytest

from smkc.evidence.reference import ReferenceEvidence
from smkc.evidence.variables.loudest import LASTING_ROWS
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
    # and one like it later is as anomalous as it was: waiting rows did not join
    again = noise(rng, 400)
    again[300:320, 1] += 4.0
    later = state.push_rows(again, NAMES)
    assert np.median(later.scores[304:320]) > 0.8 * np.median(found.scores[204:220])
    assert (later.p_values[304:320] < 0.02).all()


@pytest.mark.parametrize("shift", [4.0, 8.0])
def test_a_permanent_shift_stops_alarming_after_the_stated_time(model, shift):
    quarantine = model.choices.quarantine
    assert quarantine == 50 * W
    values = noise(np.random.default_rng(3), 200 + 6 * quarantine)
    values[200:, 1] += shift
    found = model.start(follows=True).push_rows(values, NAMES)
    assert (found.p_values[205 : 200 + quarantine] < 0.01).all()
    assert (found.p_values[200 + quarantine : 190 + LASTING_ROWS] < 0.01).mean() > 0.8
    assert (found.p_values[200 + LASTING_ROWS :] < 0.01).mean() < 0.02
    # What is joined has followed after quarantine; half of it is the frozen view.
    waiting, joined = slice(205, 195 + quarantine), slice(205 + 2 * quarantine, None)
    assert found.suspects[waiting].all()
    assert found.suspects[joined].mean() < 0.05
    assert np.median(found.scores[joined]) < 0.5 * np.median(found.scores[waiting])


def test_changed_noise_does_not_alarm_for_ever(model):
    rng = np.random.default_rng(4)
    values = noise(rng, 2000)
    values[200:, 1] += 2.0 * rng.normal(size=1800)
    found = model.start(follows=True).push_rows(values, NAMES)
    early, later = found.p_values[200:300], found.p_values[200 + 2 * LASTING_ROWS :]
    assert (early < 0.001).mean() > 0.25
    assert (later < 0.001).mean() < 0.01 * (early < 0.001).mean()
    # Loud in fewer rows than not, it is not muted; what is joined has followed.
    assert (later < 0.01).mean() < 0.3 * (early < 0.01).mean()


def test_accepted_rows_join_at_once(model):
    values = noise(np.random.default_rng(5), 300)
    values[200:, 1] += 4.0
    waiting, told = model.start(follows=True), model.start(follows=True)
    for state in (waiting, told):
        state.push_rows(values[:240], NAMES)
    told.accept(200, 240)
    left = waiting.push_rows(values[240:], NAMES)
    joined = told.push_rows(values[240:], NAMES)
    assert (left.p_values < 0.01).all()
    assert (joined.p_values > 0.01).all()
    assert np.median(joined.p_values) > 5 * np.median(left.p_values)
    assert (joined.scores < left.scores).mean() > 0.9
