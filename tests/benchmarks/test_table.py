import math

import pytest

from benchmarks.table import Cell, Row, Table
from smkc.errors import InputError


def row(name, value, group="", p_value=None):
    return Row(name, (Cell(1.0), Cell(value)), p_value, group)


def test_difference_is_ours_minus_the_papers():
    assert Cell(0.5, paper=0.75).difference == -0.25
    assert Cell(0.5).difference is None
    assert Cell(math.nan, paper=0.75).difference is None


def test_sorting_keeps_groups_and_forgets_p_values():
    rows = (
        row("a", 0.1, "x", 0.5),
        row("b", 0.3, "x"),
        row("c", 0.2, "y"),
        row("none", math.nan, "y"),
        row("d", 0.9, "y"),
    )
    table = Table("t", "title", ("first", "auprc"), rows, ("note",))
    assert [one.name for one in table.sorted_by("auprc").rows] == ["b", "a", "d", "c", "none"]
    upward = table.sorted_by("auprc", descending=False)
    assert [one.name for one in upward.rows] == ["a", "b", "c", "d", "none"]
    assert all(one.p_value is None for one in upward.rows)
    assert upward.notes == table.notes
    assert table.groups == ("x", "y")
    assert [one.name for one in table.rows_of("x")] == ["a", "b"]


def test_equal_rows_stay_in_order():
    table = Table("t", "", ("first", "auprc"), tuple(row(name, 0.5) for name in "cab"))
    assert [one.name for one in table.sorted_by("auprc").rows] == ["c", "a", "b"]


def test_what_is_no_table():
    with pytest.raises(InputError, match=r"table t, row 'a': 2 cells under 1 columns.*NaN"):
        Table("t", "", ("auprc",), (row("a", 1.0),))
    with pytest.raises(InputError, match="put all rows of a group together"):
        Table("t", "", ("a", "b"), (row("a", 1, "x"), row("b", 1, "y"), row("c", 1, "x")))
    with pytest.raises(InputError, match="no column 'f1'; choose one of first, auprc"):
        Table("t", "", ("first", "auprc"), ()).sorted_by("f1")
