"""Layout: which column plays which part."""

import pytest

from smkc.errors import InputWarning, ReadError
from smkc.recording import read


@pytest.mark.parametrize("time", ["time", "Timestamp", "ts", "date", "DateTime", "ds", "_time"])
def test_time_is_known_by_name(time):
    assert read({"a": [1, 2], time: [5, 6]}).times.tolist() == [5, 6]


def test_time_is_known_by_its_dates(tmp_path):
    assert read({"when": ["2026-01-01"], "a": [1]}).names == ("a",)
    (tmp_path / "a.csv").write_text("when,a\n2026-01-01 00:00,1\n")
    assert read(tmp_path / "a.csv").times.dtype.kind == "M"


def test_no_time_names_the_columns_and_the_remedy():
    with pytest.raises(ReadError, match=r"'a', 'b'.*time='\.\.\.'"):
        read({"a": [1], "b": ["x"]})
    with pytest.raises(ReadError, match="'v11' and 88 more"):
        read({f"v{at}": ["x"] for at in range(100)})


def test_time_can_be_said():
    assert read({"a": [1], "b": [2]}, time="b").names == ("a",)
    assert read({"time": [1], "b": [2]}, time="b").names == ("time",)
    with pytest.raises(ReadError, match="no column 'c'; its columns are 'a'"):
        read({"a": [1]}, time="c")


@pytest.mark.parametrize("variable", ["variable", "metric", "Name", "__name__", "series", "sensor"])
@pytest.mark.parametrize("value", ["value", "Val", "reading"])
def test_long_is_known_by_names(variable, value):
    assert read({"time": [1], variable: ["a"], value: [2]}).row(0) == {"a": 2.0}


def test_a_variable_called_like_a_part_leaves_a_table_wide(tmp_path):
    assert read({"time": [1], "value": [2]}).names == ("value",)
    assert read({"time": [1], "series": [3], "value": [2]}).names == ("series", "value")
    (tmp_path / "a.csv").write_text("time,series,value\n1,3,2\n")
    assert read(tmp_path / "a.csv").names == ("series", "value")


def test_parts_can_be_said():
    table = {"when": [1], "what": [7], "how_much": [2]}
    rec = read(table, time="when", variable="what", value="how_much")
    assert rec.row(0) == {"7": 2.0}
    with pytest.raises(ReadError, match=r"value of a long table.*value='\.\.\.'"):
        read(table, time="when", variable="what")
    with pytest.raises(ReadError, match="variable of a long table"):
        read({"time": [1], "value": [2]}, layout="long")


def test_layout_can_be_said():
    table = {"time": [1], "metric": ["7"], "value": [2]}
    assert read(table).names == ("metric", "value")
    assert read(table, layout="long").names == ("7",)
    with pytest.warns(InputWarning, match="columns of text are left out .*'metric'"):
        wide = read({"time": [1], "metric": ["a"], "value": [2]}, layout="wide")
    assert wide.names == ("value",)


def test_a_label_called_label_counts_when_said():
    table = {"time": [1], "metric": ["m"], "value": [2], "label": ["x"]}
    assert read(table).names == ("m",)
    assert read(table, labels=["label"]).names == ('m{label="x"}',)


def test_only_a_time_column():
    with pytest.raises(ReadError, match="could be a variable"):
        read({"time": [1, 2]})
    with pytest.raises(ReadError, match="could be a variable"):
        read({"time": [1, 2], "label": [0, 1]})


def test_columns_that_cannot_name_anything():
    with pytest.raises(ReadError, match=r"'metric'.*names nothing"):
        read({"time": [1], "metric": [["a"]], "value": [2]}, variable="metric")
