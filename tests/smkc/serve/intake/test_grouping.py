"""Sorting by table and sorting by comparison give the same rows."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from smkc.serve.intake import grouping
from smkc.serve.intake.grouping import Readings, ends_of, group, keep_last


def readings_of(triples, step: int) -> Readings:
    codes, times, values = (list(column) for column in zip(*triples, strict=True))
    stamps = np.array(times, np.int64)
    return Readings(
        ends_of(stamps, step), np.array(codes, np.int64), stamps, np.array(values, np.float64)
    )


triples = st.lists(
    st.tuples(st.integers(0, 3), st.integers(-3, 9), st.integers(0, 99)), min_size=1, max_size=30
)


@given(triples=triples)
def test_a_table_gives_what_sorting_gives(triples):
    readings = readings_of(triples, 1)  # every time is on the grid
    by_table, n_by_table = keep_last(readings)
    sparse = grouping.MOST_SPARSE
    grouping.MOST_SPARSE = 0
    try:
        by_sorting, n_by_sorting = keep_last(readings)
    finally:
        grouping.MOST_SPARSE = sparse
    assert n_by_table == n_by_sorting == len(triples) - len(by_sorting.ends)
    for one, other in zip(by_table, by_sorting, strict=True):
        np.testing.assert_array_equal(one, other)


@given(time=st.integers(-(10**14), 10**14), step=st.integers(1, 10**9))
def test_a_row_ends_at_or_after_its_readings(time, step):
    (end,) = ends_of(np.array([time]), step).tolist()
    assert end % step == 0
    assert end - step < time <= end


def test_variables_are_in_the_order_of_their_names():
    readings = readings_of([(0, 1, 10), (1, 1, 11), (2, 1, 12), (1, 2, 13)], 1)
    rows = group(readings, ["c", "a", "b", "unused"], 10, ()).rows
    assert [(row.names, row.values.tolist()) for row in rows] == [
        (("a", "b", "c"), [11, 12, 10]),
        (("a",), [13]),
    ]
