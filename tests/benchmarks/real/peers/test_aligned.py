"""Aligned columns: what is carried forward, what is ignored, what stands before a test part."""

import numpy as np
import pytest
from tests.benchmarks.real.peers.made_up_rows import recording

from benchmarks.real.peers.aligned import AlignedRows, Columns, follows_on, sliding
from smkc.errors import InputError, SettingError

NAN = np.nan


def eight_levels(n_rows=32):
    """0 to 7 again and again: median 3.5, quartiles 1.75 and 5.25."""
    return recording(np.arange(n_rows)[:, None] % 8, ["a"])


def test_values_are_carried_forward_and_before_that_the_median():
    columns = Columns.of(eight_levels())
    spread = 3.5 / 1.349
    filled = columns.filled(recording([[NAN], [7.0], [NAN], [3.5], [NAN]], ["a"]))
    np.testing.assert_allclose(filled[:, 0], [0, 3.5 / spread, 3.5 / spread, 0, 0])


def test_new_variables_are_ignored_and_gaps_seen_where_not_filled():
    columns = Columns.of(eight_levels())
    table = columns.standardised(recording([[1.0, NAN], [1.0, 3.5]], ["new", "a"]))
    np.testing.assert_array_equal(table, [[NAN], [0.0]])


def test_wild_values_are_clipped():
    columns = Columns.of(eight_levels())
    np.testing.assert_array_equal(columns.filled(recording([[1e6], [-1e6]], ["a"])), [[10], [-10]])


def test_a_constant_has_a_tenth_of_itself_as_spread():
    columns = Columns.of(recording(np.full((20, 2), [50.0, 0.0])))
    np.testing.assert_allclose(columns.spread, [5.0, 0.01])


def test_rare_variables_have_no_column():
    table = np.column_stack([np.arange(32.0), np.where(np.arange(32) < 15, 1.0, NAN)])
    assert Columns.of(recording(table)).names == ("v0",)
    with pytest.raises(InputError, match="give a longer reference"):
        Columns.of(recording(np.ones((5, 2))))


def test_the_references_last_rows_stand_before_what_follows_on():
    aligned = AlignedRows(eight_levels(), window=3)
    follows, apart = (recording([[3.5], [3.5]], ["a"], first=first) for first in (32, 500))
    last = aligned.rows[-2:, 0]
    np.testing.assert_allclose(aligned.windows(follows), [[*last, 0], [last[1], 0, 0]])
    np.testing.assert_array_equal(aligned.windows(apart), np.zeros((2, 3)))


def test_dates_do_not_follow_on_numbers():
    dates = np.arange(3).astype("datetime64[ns]")
    assert not follows_on(np.arange(3), dates + np.timedelta64(3, "ns"))
    assert follows_on(dates, dates + np.timedelta64(3, "ns"))
    assert not follows_on(np.arange(3), np.arange(3))


def test_windows_hold_each_column_in_order():
    rows = np.array([[1.0, 10.0], [2.0, 20.0], [3.0, 30.0]])
    np.testing.assert_array_equal(sliding(rows, 2), [[1, 2, 10, 20], [2, 3, 20, 30]])
    assert sliding(rows, 4).shape == (0, 8)


def test_windows_that_do_not_fit_are_refused():
    with pytest.raises(SettingError, match="window=0"):
        AlignedRows(eight_levels(), window=0)
    with pytest.raises(InputError, match="no window of 40"):
        AlignedRows(eight_levels(), window=40)
