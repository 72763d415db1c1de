"""What alerts cost, against plain Python."""

import math

import numpy as np
import pytest

from smkc.evidence.decision.budget import Budget
from smkc.evidence.settings import SETTINGS

THRESHOLD, RELEASE = -math.log(SETTINGS.loud_rate), -math.log(SETTINGS.lasting_rate)


def charged(surprises):
    """Return surprises less log(1 + what earlier alerts count for), row by row."""
    out, over = [], []  # over: (last row, what it counts for) of alerts that have ended
    peak, last = None, None
    for row, surprise in enumerate(surprises):
        spent = sum(
            count * 0.5 ** ((row - end) / SETTINGS.budget_half_life_rows) for end, count in over
        )
        left = max(surprise - math.log1p(spent), 0.0)
        out.append(left)
        if left > THRESHOLD or (peak is not None and left > RELEASE):
            peak, last = max(peak or 0.0, left), row
        elif peak is not None and row - last > SETTINGS.calm_rows:
            over.append((last, math.exp(THRESHOLD - peak)))
            peak = None
    return out


def noisy(rng, n):
    surprises = rng.exponential(size=n)
    for first in rng.integers(n, size=n // 60):
        surprises[first : first + rng.integers(1, 12)] += rng.uniform(2, 9)
    return surprises


def test_the_cost_is_that_of_plain_python(rng):
    surprises = noisy(rng, 4000)
    actual = Budget().charge(surprises)
    np.testing.assert_allclose(actual, charged(surprises.tolist()), rtol=1e-9)
    assert (actual < surprises - 1.0).any()


@pytest.mark.parametrize("cuts", [[1], [300, 300, 301], list(range(1, 600))])
def test_cuts_and_saving_change_no_bit(rng, cuts):
    surprises = noisy(rng, 600)
    expected = Budget().charge(surprises)
    budget, parts = Budget(), []
    for part in np.split(surprises, cuts):
        parts.append(budget.charge(part))
        again = Budget()
        again.restore({key: array.copy() for key, array in budget.to_arrays().items()})
        budget = again
    np.testing.assert_array_equal(np.concatenate(parts), expected)


def test_alerts_that_barely_pass_come_ever_less_often(rng):
    """Normal data that pass again and again stop alerting; faults do not."""
    surprises = np.zeros(20_000)
    surprises[::50] = THRESHOLD + rng.exponential(size=400)
    left = Budget().charge(surprises)
    alerts = np.flatnonzero(left > THRESHOLD)
    assert (alerts < 2_000).sum() > 2 * (alerts >= 18_000).sum()
    assert Budget().charge(np.append(surprises, 30.0))[-1] > 2 * THRESHOLD


def test_certain_alerts_cost_nothing():
    surprises = np.zeros(1000)
    surprises[::100] = 40.0
    np.testing.assert_allclose(Budget().charge(surprises)[::100], 40.0, atol=1e-9)
