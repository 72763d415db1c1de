"""What lasts becomes usual, against plain Python; and what two surprises say together."""

import math
import statistics

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from smkc.evidence.decision.recent_median import RecentMedian
from smkc.evidence.decision.scorer import joint_surprise

values_of_rows = st.lists(st.floats(0.0, 50.0) | st.sampled_from([0.0, 3.0]), max_size=60)


def risen(values, n_rows):
    """Return each value less the median of the rows before it; 0 before the first."""
    before, out = [0.0] * n_rows, []
    for value in values:
        out.append(max(value - statistics.median(before), 0.0))
        before = [*before[1:], value]
    return out


@given(values_of_rows, st.integers(1, 9))
def test_the_rise_is_that_of_plain_python(values, n_rows):
    actual = RecentMedian(n_rows).rise_above(np.array(values, float))
    assert actual.tolist() == risen(values, n_rows)


@given(values_of_rows, st.lists(st.integers(0, 60), max_size=5), st.integers(1, 9))
def test_cuts_and_saving_change_no_bit(values, cuts, n_rows):
    rows = np.array(values, float)
    expected = RecentMedian(n_rows).rise_above(rows)
    recent, parts = RecentMedian(n_rows), []
    for part in np.split(rows, sorted(cut for cut in cuts if cut <= len(rows))):
        parts.append(recent.rise_above(part))
        again = RecentMedian(n_rows)
        again.restore({key: array.copy() for key, array in recent.to_arrays().items()})
        recent = again
    assert np.concatenate(parts).tolist() == expected.tolist()


def test_what_lasts_is_usual_after_half_of_the_rows_and_more_is_still_seen():
    found = RecentMedian(20).rise_above(np.array([6.0] * 30 + [9.0] + [6.0] * 3))
    assert (found[:10] == 6.0).all()
    assert (found[12:30] == 0.0).all()
    assert found[30] == 3.0


def test_what_was_accepted_is_usual_at_once():
    recent = RecentMedian(20)
    recent.rise_above(np.array([0.0, 0.0, 5.0, 7.0, 6.0]))
    recent.accept(3)
    assert recent.rise_above(np.array([6.0, 8.0])).tolist() == [0.0, 2.0]


def test_two_independent_surprises_alarm_about_as_often_as_they_say():
    rng = np.random.default_rng(0)
    alarms = joint_surprise(*rng.exponential(size=(2, 400_000)), n_columns=1000)
    for rate in (0.1, 0.01, 0.001):
        assert rate < (alarms > -math.log(rate)).mean() < 4 / 3 * rate


def test_one_variable_is_not_counted_twice():
    rng = np.random.default_rng(0)
    surprise = rng.exponential(size=400_000)
    alarms = joint_surprise(surprise, surprise, n_columns=1)
    for rate in (0.1, 0.01, 0.001):
        assert (alarms > -math.log(rate)).mean() <= rate


def test_weak_signs_support_each_other_and_one_strong_sign_is_enough():
    loudest, system = np.array([5.0, 5.0, 8.0]), np.array([0.0, 5.0, 0.0])
    alarm = joint_surprise(loudest, system, n_columns=1000)
    assert alarm[0] < -math.log(0.002) < min(alarm[1:])
