"""Files: CSV and Parquet, one or many, whole or damaged."""

import gzip
import subprocess
import sys

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from tests.peak_memory import PEAK_BYTES

from smkc.errors import ReadError
from smkc.recording import Recording, read

EXPECTED = Recording.from_rows([1, 2], [{"a": 1.5, "b": 2}, {"b": 3}])
TEXT = "time,a,b\n1,1.5,2\n2,,3\n"
TABLE = pa.table({"time": [1, 2], "a": [1.5, None], "b": [2, 3]})


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("a.csv", TEXT.encode()),
        ("A.CSV", TEXT.encode()),
        ("a.csv", b"\xef\xbb\xbf" + TEXT.encode()),
        ("a.csv", TEXT.replace("\n", "\r\n").encode()),
        ("a.csv", TEXT.replace("\n", "\r").encode()),
        ("a.csv", ("\n\n" + TEXT + "\n\n").encode()),
        ("a.csv", TEXT.rstrip("\n").encode()),
        ("a.csv", TEXT.replace(",", ";").encode()),
        ("a.tsv", TEXT.replace(",", "\t").encode()),
        ("a.txt", TEXT.replace(",", "|").encode()),
        ("a.csv.gz", gzip.compress(TEXT.encode(), mtime=0)),
        ("a.csv", b'"time","a","b"\n"1","1.5","2"\n"2","NaN","3"\n'),
    ],
)
def test_csv_dialects(tmp_path, name, content):
    (tmp_path / name).write_bytes(content)
    assert read(tmp_path / name) == EXPECTED
    assert read(str(tmp_path / name)) == EXPECTED


@pytest.mark.parametrize("compression", ["none", "snappy", "gzip", "zstd"])
def test_parquet(tmp_path, compression):
    pq.write_table(TABLE, tmp_path / "a.parquet", compression=compression, row_group_size=1)
    assert read(tmp_path / "a.parquet") == EXPECTED


def test_what_pandas_writes(tmp_path):
    frame = TABLE.to_pandas()
    frame.to_csv(tmp_path / "with_index.csv")
    frame.set_index("time").to_csv(tmp_path / "time_index.csv")
    frame.to_parquet(tmp_path / "a.parquet")
    for path in tmp_path.iterdir():
        assert read(path) == EXPECTED
    assert read(tmp_path / "with_index.csv").notes.ignored == ("",)
    dates = pd.DataFrame({"a": [1]}, index=pd.to_datetime(["2026-01-01"]))
    dates.to_csv(tmp_path / "dates.csv")
    dates.to_parquet(tmp_path / "dates.parquet")
    assert read(tmp_path / "dates.csv") == read(tmp_path / "dates.parquet") == read(dates)


def test_folder_and_glob(tmp_path):
    pq.write_table(TABLE.slice(1), tmp_path / "b.parquet")
    (tmp_path / "a.csv").write_text("time,a,b,c\n1,1.5,2,\n2,,9,4\n")
    (tmp_path / "_SUCCESS").write_text("")
    (tmp_path / "notes.md").write_text("no data")
    whole = read(tmp_path)
    assert whole.row(1) == {"b": 3.0, "c": 4.0}  # the last file by name wins
    assert whole.notes.duplicates == 1
    assert read(tmp_path / "*") == whole
    assert read(tmp_path / "*.parquet").times.tolist() == [2]
    below = tmp_path / "sub" / "deeper"
    below.mkdir(parents=True)
    (below / "z.csv").write_text("time,b\n2,7\n")
    assert read(str(tmp_path / "**" / "*.csv")).row(1) == {"b": 7.0, "c": 4.0}


def test_a_path_that_looks_like_a_glob(tmp_path):
    (tmp_path / "a[1].csv").write_text(TEXT)
    assert read(tmp_path / "a[1].csv") == EXPECTED


def test_long_and_wide_files_join(tmp_path):
    (tmp_path / "a.csv").write_text("time,a\n1,1.5\n")
    (tmp_path / "b.csv").write_text("time,metric,value\n1,b,2\n2,b,3\n")
    assert read(tmp_path) == EXPECTED


def test_names_with_quotes_commas_and_newlines(tmp_path):
    (tmp_path / "a.csv").write_text('time,"m{b=""x"",a=""y""}","two\nlines"\n1,2,3\n')
    assert read(tmp_path / "a.csv").names == ('m{a="y",b="x"}', "two\nlines")


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("a.csv", b"", "is empty"),
        ("a.parquet", b"", "is empty"),
        ("a.csv", b"\n\n", "no header"),
        ("a.csv", b"time,a\n", "holds no observation: 0 rows below its header"),
        ("a.csv", b"time,a\n1,\n2,NaN\n", "holds no observation: 2 rows"),
        ("a.csv", b"time,a,a\n1,2,3\n", "more than one column called 'a'"),
        ("a.csv", b"time,a\n1,2,3\n", "Expected 2 columns, got 3"),
        ("a.csv", b"time,a\n1,\xff\n", "not UTF-8|invalid UTF8"),
        ("a.csv", "time,a\n1,2\n".encode("utf-16"), "not UTF-8"),
        ("a.csv", b"time,a\n1,x\n", "row 0 .*column 'a'.*'x' where a number belongs"),
        ("a.csv", b"PAR1....", "is Parquet inside"),
        ("a.parquet", TEXT.encode(), "is not Parquet inside"),
        ("a.parquet", b"PAR1PAR1", "cannot be read"),
        ("a.csv.gz", TEXT.encode(), "cannot be read"),
        ("a.xlsx", b"PK", "ends in .xlsx; smkc reads CSV"),
        ("a", b"time,a\n1,2\n", "ends in nothing"),
    ],
)
def test_files_that_cannot_be_read(tmp_path, name, content, message):
    path = tmp_path / name
    path.write_bytes(content)
    with pytest.raises(ReadError, match=message) as caught:
        read(path)
    assert str(path) in str(caught.value)


@pytest.mark.parametrize("share", [0.1, 0.5, 0.99])
def test_parquet_cut_short(tmp_path, share, rng):
    path = tmp_path / "a.parquet"
    pq.write_table(pa.table({"time": np.arange(999), "a": rng.normal(size=999)}), path)
    data = path.read_bytes()
    path.write_bytes(data[: int(len(data) * share)])
    with pytest.raises(ReadError, match=r"a.parquet cannot be read.*complete"):
        read(path)


def test_parquet_with_two_columns_of_one_name(tmp_path):
    pq.write_table(pa.table([pa.array([1])] * 3, names=["time", "a", "a"]), tmp_path / "a.parquet")
    with pytest.raises(ReadError, match="more than one column called 'a'"):
        read(tmp_path / "a.parquet")


def test_parquet_with_nested_columns(tmp_path):
    table = pa.table({"time": [1], "a": [2.0], "b": [{"x": 1}], "c": [[1]]})
    pq.write_table(table, tmp_path / "a.parquet")
    with pytest.raises(ReadError, match=r"column 'b'.*struct"):
        read(tmp_path / "a.parquet")
    assert read(tmp_path / "a.parquet", ignore=["b", "c"]).row(0) == {"a": 2.0}


def test_missing_paths(tmp_path):
    with pytest.raises(ReadError, match="no file or folder"):
        read(tmp_path / "nothing.csv")
    with pytest.raises(ReadError, match=r"holds no file that ends in \.csv"):
        read(tmp_path)
    with pytest.raises(ReadError, match="matches"):
        read(tmp_path / "*.csv")
    with pytest.raises(ReadError, match="no file or folder"):
        read("a\x00b")


def test_wide_file_of_many_columns(tmp_path):
    names = [f"v{at}" for at in range(20_000)]
    cells = [str(at) for at in range(20_000)]
    (tmp_path / "a.csv").write_text(f"time,{','.join(names)}\n1,{','.join(cells)}\n")
    rec = read(tmp_path / "a.csv")
    assert rec.trace("v12345").tolist() == [12345.0]
    assert rec.n_observations == 20_000


READ_AND_REPORT = f"""
{PEAK_BYTES}
from smkc import progress
from smkc.recording import read
progress.APPEARS_AFTER_SECONDS = 0.0
rec = read(sys.argv[1])
print(rec.n_observations, len(rec), peak_bytes())
"""


@pytest.mark.slow
def test_ten_million_observations_in_two_gibibytes(tmp_path, rng):
    path, n_variables, n_rows, n_parts = tmp_path / "big.parquet", 500, 20_000, 20
    names = pa.array([f'requests_total{{pod="web-{at:05d}"}}' for at in range(n_variables)])
    schema = pa.schema(
        [("time", pa.timestamp("ms")), ("metric", pa.string()), ("value", pa.float64())]
    )
    with pq.ParquetWriter(path, schema) as writer:
        for part in np.array_split(np.arange(n_rows), n_parts):
            order = rng.permutation(len(part) * n_variables)
            times = np.repeat(part * 15_000 + 1_700_000_000_000, n_variables)[order]
            codes = np.tile(np.arange(n_variables), len(part))[order]
            cells = [
                times.astype("M8[ms]"),
                names.take(pa.array(codes)),
                rng.normal(size=len(order)),
            ]
            writer.write_table(pa.table(cells, schema=schema))
    done = subprocess.run(
        [sys.executable, "-c", READ_AND_REPORT, str(path)],
        env={"SMKC_PROGRESS": "1", "FORCE_COLOR": "1"},
        capture_output=True,
        text=True,
        check=True,
    )
    n_observations, n_read, peak = map(int, done.stdout.split())
    assert (n_observations, n_read) == (n_variables * n_rows, n_rows)
    assert peak < 2 * 2**30
    assert "reading" in done.stderr
