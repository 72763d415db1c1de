"""Columns that stay loud: when they have a new normal, and what is usual in it."""

import numpy as np
import pytest
from tests.smkc.evidence.made_blocks import block_of

from smkc.evidence.settings import SETTINGS
from smkc.evidence.variables import VariableQuestions
from smkc.evidence.variables.lasting import Lasting

ROWS = SETTINGS.lasting_rows
LOUD = 20.0

# Nats of a row, corrected for the number of columns, that noise hardly reaches: 1 row in 90.
UNUSUAL = 4.5


def pushed(values, is_loud, cuts=()):
    """Push (n,) values of one column; return centre and deviation before each row, and the end."""
    nats = np.where(is_loud, LOUD, 0.0).astype(np.float32)[None, :, None]
    lasting, parts = Lasting([True], 1), []
    for rows in np.split(np.arange(len(values)), list(cuts)):
        part = values[rows, None].astype(np.float32)
        parts.append(lasting.push(nats[:, rows], np.zeros(1), part))
        again = Lasting([True], 1)
        again.restore(lasting.to_arrays())
        lasting = again
    return [np.concatenate([getattr(one, key)[:, 0] for one in parts]) for key in NAMES], lasting


NAMES = ("centre", "deviation")


def test_a_new_normal_is_the_mean_since_the_column_became_loud(rng):
    values = rng.normal(size=150)
    values[120] = np.nan
    is_loud = np.arange(150) >= 50
    (centre, deviation), _ = pushed(values, is_loud)
    for row in (60, 119, 121, 149):
        seen = values[50:row][~np.isnan(values[50:row])]
        assert centre[row] == pytest.approx(seen.mean(), abs=1e-5)
        assert deviation[row] == pytest.approx(np.abs(seen - seen.mean()).mean(), abs=0.15)
    (other, _), _ = pushed(np.where(np.arange(150) == 100, 1e6, values), is_loud)
    assert other[100] == centre[100], "the row itself has no part in it"


def test_a_new_normal_begins_after_the_stated_number_of_rows():
    loud = np.full((1, ROWS + 50, 1), LOUD, np.float32)
    new = Lasting([True], 1).push(loud, np.zeros(1), np.full((ROWS + 50, 1), 7.0, np.float32))
    assert new.is_new[0, :, 0].argmax() == ROWS - 1
    assert new.centre[-1, 0] == 7.0


@pytest.mark.parametrize("cuts", [[1, 300], range(1, 500)], ids=["three", "by row"])
def test_cuts_and_saving_change_no_bit(rng, cuts):
    values = rng.normal(size=500)
    is_loud = rng.random(500) < 0.7
    expected, _ = pushed(values, is_loud)
    actual, _ = pushed(values, is_loud, cuts)
    for one, other in zip(actual, expected, strict=True):
        np.testing.assert_array_equal(one, other)


def shifted(rng, n, by):
    values = rng.normal(size=(n, 3)).astype(np.float32)
    values[:, 1] += by
    return values


def surprises(values, rng):
    reference = shifted(rng, 1500, 0.0)
    fitted = VariableQuestions.fit(
        reference, reference[900:], reference[900:], ["a", "b", "c"], [False] * 3
    )
    state = fitted.start(block_of(reference[:0]), 1)
    return state.push(block_of(values), np.zeros_like(values)).surprises


def test_a_further_departure_from_a_new_normal_is_a_surprise_again(rng):
    values = shifted(rng, 1000, 6.0)
    values[600:620, 1] += 6.0
    values[800:820, 1] -= 12.0
    found = surprises(values, rng)
    assert found[5 : ROWS - 1].min() > UNUSUAL
    assert (found[ROWS + 20 : 600] > UNUSUAL).mean() < 0.01
    assert np.median(found[602:620]) > UNUSUAL
    assert np.median(found[802:820]) > UNUSUAL
    assert (found[640:800] > UNUSUAL).mean() < 0.01


def test_the_reference_stays_normal_beside_a_new_normal(rng):
    values = shifted(rng, 700, 6.0)
    values[500:, 1] -= 6.0
    assert surprises(values, rng)[520:].max() < 6.0


def test_a_wider_noise_becomes_normal_too(rng):
    values = shifted(rng, 1200, 0.0)
    values[:, 1] *= 8.0
    found = surprises(values, rng)
    assert (found[:ROWS] > UNUSUAL).mean() > 0.2
    assert (found[3 * ROWS :] > UNUSUAL).mean() < 0.02


def test_a_slow_leak_is_alerted_before_it_is_normal(rng):
    values = shifted(rng, 3000, 0.0)
    values[:, 1] += np.arange(3000) / 150.0
    found = surprises(values, rng)
    assert (found > UNUSUAL).sum() > ROWS / 2
