import json
import math
import platform
from dataclasses import replace
from pathlib import Path

import pytest

from benchmarks.provenance import circumstances, provenance
from benchmarks.report import markdown, read_table, write_table
from benchmarks.table import Cell, Row, Table
from smkc.errors import InputError, ReadError

MADE = {"command": "python -m benchmarks paper", "seeds": [0, 1], "versions": {"numpy": "2.0"}}


@pytest.fixture
def table():
    rows = (
        Row("kNN", (Cell(0.533, 0.012, 0.51, 0.556, 0.555), Cell(0.734)), 0.01, "holdout_C"),
        Row("forest", (Cell(0.28, 0.0211, 0.26, 0.31), Cell(0.64)), 0.4, "holdout_C"),
        Row("a|b", (Cell(math.nan, paper=0.3), Cell(1.0)), None, "holdout_C"),
        Row("kNN", (Cell(0.5391), Cell(0.7)), None, "in_dist_C"),
    )
    return Table("average", "Averages", ("auprc", "auroc"), rows, ("Three seeds.",))


def entries(line):
    return [entry.strip() for entry in line.replace("\\|", "/").strip("|").split("|")]


def test_page_reads_at_a_glance(table):
    lines = markdown(table, MADE).splitlines()
    assert lines[0] == "# Averages"
    at = lines.index("## holdout_C")
    assert entries(lines[at + 2]) == ["", "auprc", "paper (ours - paper)", "auroc", "p"]
    assert entries(lines[at + 4]) == ["kNN", "0.533 +- 0.012", "0.555 (-0.022)", "0.734", "0.010 *"]
    assert entries(lines[at + 5]) == ["forest", "0.280 +- 0.021", "", "0.640", "0.400"]
    assert entries(lines[at + 6]) == ["a/b", "", "0.300", "1.000", ""]
    assert entries(lines[at + 12]) == ["kNN", "0.510 to 0.556"]
    assert "- Three seeds." in lines
    assert lines[-3:] == [
        "- command: python -m benchmarks paper",
        "- seeds: 0, 1",
        "- versions: numpy 2.0",
    ]
    grid = [line for line in lines if line.startswith("|")]
    assert len({len(line) for line in grid[:5]}) == 1  # aligned in plain text too
    second = lines[lines.index("## in_dist_C") + 2]
    assert entries(second) == ["", "auprc", "auroc"]  # no empty columns


def test_another_source_is_named(table, tmp_path):
    other = replace(table, beside="vendor", drawn="recordings")
    text = markdown(other, {})
    assert "vendor (ours - vendor)" in text
    assert "(95%, recordings drawn anew)" in text
    assert "paper" not in text
    _, data = write_table(other, MADE, tmp_path)
    assert (read_table(data).beside, read_table(data).drawn) == ("vendor", "recordings")
    assert "beside" not in table.as_json(), "files of tables beside the paper stay as they were"


def test_wide_tables_give_the_papers_figures_apart():
    columns = tuple("123456")
    rows = (
        Row("kNN", tuple(Cell(0.5, paper=0.4) for _ in columns)),
        Row("ours alone", tuple(Cell(0.2) for _ in columns)),
    )
    text = markdown(Table("cardinality", "By C", columns, rows), {})
    first, second = text.split("in brackets ours minus the paper's:")
    assert "0.400" not in first
    assert second.count("0.400 (+0.100)") == 6
    assert "ours alone" not in second


@pytest.mark.parametrize(
    ("values", "expected"),
    [
        ((1536.0, 24576.0), ["1536", "24576"]),
        ((0.0026, 1.0), ["0.0026", "1.0000"]),
        ((1.2e-7, 0.5), ["1.2e-07", "0.5"]),
        ((114.2, 31.83), ["114.2", "31.8"]),
        ((1.0, 1.0), ["1.000", "1.000"]),
        ((0.0, math.nan), ["0.000", ""]),
    ],
)
def test_figures_are_written_by_their_size(values, expected):
    rows = tuple(Row(str(at), (Cell(value), Cell(0.5))) for at, value in enumerate(values))
    lines = markdown(Table("t", "T", ("x", "y"), rows), {}).splitlines()
    assert [entries(line)[1] for line in lines[4:6]] == expected


def test_files_give_the_table_back(table, tmp_path: Path):
    page, data = write_table(table, MADE, tmp_path / "new")
    assert page.read_text() == markdown(table, MADE)
    back = read_table(data)
    assert math.isnan(back.rows[2].cells[0].value)
    assert repr(back) == repr(table)
    content = json.loads(data.read_text(), parse_constant=pytest.fail)
    assert list(content) == ["table", "title", "columns", "rows", "notes", "provenance"]
    assert list(content["rows"][0]) == ["name", "group", "cells", "p_value_vs_next"]
    cell = content["rows"][0]["cells"][0]
    assert list(cell) == ["column", "value", "sd", "low", "high", "paper", "difference"]
    assert cell["difference"] == pytest.approx(-0.022)
    assert content["rows"][2]["cells"][0]["value"] is None
    assert content["provenance"] == MADE
    first = data.read_bytes()
    write_table(table, MADE, tmp_path / "new")
    assert data.read_bytes() == first
    assert sorted(path.name for path in page.parent.iterdir()) == ["average.json", "average.md"]


def test_what_cannot_be_written_leaves_the_old_file(table, tmp_path: Path):
    page, data = write_table(table, MADE, tmp_path)
    before = page.read_bytes(), data.read_bytes()
    with pytest.raises(TypeError):
        write_table(table, {"odd": object()}, tmp_path)
    assert (page.read_bytes(), data.read_bytes()) == before
    (tmp_path / "file").write_text("")
    with pytest.raises(InputError, match=r"cannot write .*choose another place"):
        write_table(table, MADE, tmp_path / "file")


@pytest.mark.parametrize("content", ["", "[]", '{"table": "t"}', "{"])
def test_a_file_that_is_no_table(content, tmp_path: Path):
    path = tmp_path / "t.json"
    path.write_text(content)
    with pytest.raises(ReadError, match=r"holds no table .*write it anew"):
        read_table(path)


def test_provenance_says_how_and_not_where(tmp_path: Path):
    command = "python -m benchmarks paper "
    command += f"--out {tmp_path}/deep/results --scores={tmp_path}/s --table all"
    made = provenance(command, "smoke", range(2), "cpu")
    assert made["command"] == "python -m benchmarks paper --out results --scores=s --table all"
    assert made["seeds"] == [0, 1]
    assert made["budget"] == "smoke"
    assert made["device"] == "cpu"
    assert made["versions"]["python"] == platform.python_version()
    assert {"numpy", "numba", "smkc"} <= made["versions"].keys()
    assert made["commit"]
    assert made["date"].endswith("+00:00")
    text = json.dumps(made, allow_nan=False)
    assert str(Path.home()) not in text
    assert str(Path(__file__).parents[3]) not in text
    assert len(platform.node()) < 4 or platform.node() not in text
    assert provenance("x", "smoke", [0], "cpu", commit="abc")["commit"] == "abc"
    assert circumstances(f"x --out {tmp_path}/page.md")["command"] == "x --out page.md"
