"""Files: a path, a folder or a glob -> tables that stream CSV or Parquet batch by batch.

In: where the files are. Out: one table per file, sorted by name; any problem with a file raises a
ReadError that names it.
"""

import csv
import glob
import io
import json
import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.csv as pa_csv
import pyarrow.parquet as pq

from smkc.errors import ReadError
from smkc.recording.columns import kind_of
from smkc.recording.prometheus_json import from_prometheus, is_prometheus
from smkc.recording.tables import Table, from_dicts, require_distinct

CSV_SUFFIXES = (".csv", ".tsv", ".txt")
PARQUET_SUFFIXES = (".parquet", ".pq", ".parq")
FORMATS = {"csv": CSV_SUFFIXES, "parquet": PARQUET_SUFFIXES, "json": (".json",)}
COMPRESSIONS = {".gz": "gzip", ".bz2": "bz2", ".zst": "zstd"}  # of CSV files
PARQUET_MAGIC = b"PAR1"
DELIMITERS = (",", ";", "\t", "|")
CSV_BLOCK_BYTES = 4 * 2**20
LONGEST_CELL_BYTES = 64  # a guess, so that one row of many columns fits into a block


def open_files(path: str | os.PathLike[str]) -> list[Table]:
    """Open a file, the files of a folder, or the matches of a glob."""
    text = os.fspath(path)
    try:
        found = _files(text)
        return [_opened(file) for file in found]
    except ValueError as error:
        if isinstance(error, ReadError):
            raise
        raise ReadError(f"{text!r} is no usable path: {error}") from None


def _files(text: str) -> list[Path]:
    known = ", ".join(CSV_SUFFIXES + PARQUET_SUFFIXES)
    path = Path(text)
    if path.is_file():
        return [path]
    if path.is_dir():
        readable = ("csv", "parquet")  # JSON files in a folder are seldom telemetry
        files = sorted(f for f in path.iterdir() if f.is_file() and _format(f) in readable)
        if not files:
            raise ReadError(
                f"folder {text} holds no file that ends in {known}; "
                f"for files further down give a glob such as {path / '**' / '*.parquet'}"
            )
        return files
    if glob.has_magic(text):
        matches = (Path(match) for match in glob.glob(text, recursive=True))
        files = sorted(match for match in matches if match.is_file() and _format(match))
        if not files:
            raise ReadError(f"no file that ends in {known} matches {text}; check the pattern")
        return files
    if text.startswith(("http://", "https://")):
        raise ReadError(
            f"{text!r} is an address; read a Prometheus with smkc.read({text!r}, query='...') and "
            "hand over the recording that it returns"
        )
    raise ReadError(f"no file or folder at {text!r}; check the path (now in {os.getcwd()})")


def _format(path: Path) -> str | None:
    suffixes = [suffix.lower() for suffix in path.suffixes]
    if len(suffixes) > 1 and suffixes[-1] in COMPRESSIONS:
        return "csv" if suffixes[-2] in CSV_SUFFIXES else None
    last = suffixes[-1] if suffixes else ""
    return next((form for form, known in FORMATS.items() if last in known), None)


def _opened(path: Path) -> Table:
    form = _format(path)
    if form is None:
        raise ReadError(
            f"{path} ends in {path.suffix or 'nothing'}; smkc reads CSV "
            f"({', '.join(CSV_SUFFIXES)}), Parquet ({', '.join(PARQUET_SUFFIXES)}) and "
            "responses of Prometheus (.json)"
        )
    with _naming(path):
        with path.open("rb") as file:
            magic = file.read(len(PARQUET_MAGIC))
        if not magic:
            raise ReadError(f"{path} is empty; give a file with a header and rows")
        if form == "json":
            return _json_table(path)
        if form == "parquet":
            if magic != PARQUET_MAGIC:
                raise ReadError(f"{path} is not Parquet inside; if it is CSV, rename it to .csv")
            return ParquetTable(path)
        if magic == PARQUET_MAGIC:
            raise ReadError(f"{path} is Parquet inside, not CSV; rename it to .parquet")
        return CsvTable(path)


def _json_table(path: Path) -> Table:
    """Read a Prometheus response, or a list with one object per row."""
    try:
        content = json.loads(path.read_bytes())
    except ValueError as error:
        raise ReadError(f"{path} is not JSON: {error}; save it again, complete") from None
    if is_prometheus(content):
        return from_prometheus(str(path), content)
    if isinstance(content, list):
        return from_dicts(content)
    raise ReadError(
        f"{path} is neither a response of Prometheus nor a list with one object per row; save the "
        "response of /api/v1/query_range, or give CSV or Parquet"
    )


class ParquetTable:
    """One Parquet file, read a batch at a time, so that memory does not grow with the file."""

    def __init__(self, path: Path) -> None:
        self.name = str(path)
        self.size = float(path.stat().st_size)
        self.path = path.absolute()  # workers may run in another folder
        with pq.ParquetFile(path) as file:
            self.schema = file.schema_arrow
            self._n_rows = file.metadata.num_rows
        require_distinct(self.name, self.schema.names)

    def batches(
        self,
        columns: Sequence[str],
        n_rows: int,
        encode: Sequence[str] = (),
        row_group: int | None = None,
        use_threads: bool = True,
    ) -> Iterator[tuple[pa.RecordBatch, float]]:
        """Yield batches of the columns; text columns in ``encode`` as dictionaries.

        ``row_group`` limits them to one row group.
        """
        as_codes = [name for name in encode if kind_of(self.schema.field(name).type) == "text"]
        part = "" if row_group is None else f", row group {row_group}"
        with (
            _naming(f"{self.name}{part}"),
            pq.ParquetFile(self.path, read_dictionary=as_codes, pre_buffer=False) as file,
        ):
            for batch in file.iter_batches(
                n_rows,
                row_groups=None if row_group is None else [row_group],
                columns=list(columns),
                use_threads=use_threads,
            ):
                batch.validate(full=True)
                yield batch.select(columns), self.size * batch.num_rows / max(self._n_rows, 1)


class CsvTable:
    """One CSV file, read a block at a time, every column as text."""

    def __init__(self, path: Path) -> None:
        self.name = str(path)
        self.size = float(path.stat().st_size)
        self._path = path
        header, self._delimiter = _header(path)
        require_distinct(self.name, header)
        self.schema = pa.schema([(name, pa.string()) for name in header])

    def batches(
        self, columns: Sequence[str], n_rows: int, encode: Sequence[str] = ()
    ) -> Iterator[tuple[pa.RecordBatch, float]]:
        """Yield one batch per block of bytes; ``n_rows`` is ignored."""
        # Columns are addressed by number, so that the reader ignores the text of the header.
        numbers = [f"f{at}" for at in range(len(self.schema))]
        wanted = [numbers[self.schema.get_field_index(name)] for name in columns]
        n_header = 1
        with _naming(self._path), self._path.open("rb") as raw:
            done = 0
            with pa_csv.open_csv(
                _decompressed(self._path, raw),
                pa_csv.ReadOptions(
                    column_names=numbers,
                    block_size=max(CSV_BLOCK_BYTES, LONGEST_CELL_BYTES * len(numbers)),
                ),
                pa_csv.ParseOptions(delimiter=self._delimiter, newlines_in_values=True),
                pa_csv.ConvertOptions(
                    include_columns=wanted, column_types=dict.fromkeys(numbers, pa.string())
                ),
            ) as reader:
                for batch in reader:
                    rows = batch.slice(n_header)
                    n_header = max(0, n_header - batch.num_rows)
                    at = raw.tell()
                    amount, done = at - done, at
                    yield pa.RecordBatch.from_arrays(rows.columns, list(columns)), float(amount)


def _header(path: Path) -> tuple[list[str], str]:
    """Read the names in the first line, and find the delimiter."""
    chosen: list[str] = []
    delimiter = ","
    for candidate in ("\t",) if ".tsv" in path.suffixes else DELIMITERS:
        with path.open("rb") as raw:
            text = io.TextIOWrapper(_decompressed(path, raw), "utf-8-sig", newline="")
            lines = (row for row in csv.reader(text, delimiter=candidate) if row)
            names = next(lines, [])
        if len(names) > len(chosen):
            chosen, delimiter = names, candidate
        if len(chosen) > 1:
            break
    if not chosen:
        raise ReadError(f"{path} has no header; give a file with a header and rows")
    return chosen, delimiter


def _decompressed(path: Path, raw: Any) -> Any:
    compression = COMPRESSIONS.get(path.suffix.lower())
    return pa.CompressedInputStream(raw, compression) if compression else raw


@contextmanager
def _naming(name: str | Path) -> Iterator[None]:
    """Convert errors in reading a file to a ReadError that names it."""
    try:
        yield
    except ReadError:
        raise
    except UnicodeError as error:
        raise ReadError(f"{name} is not UTF-8 text ({error}); save it as UTF-8") from error
    except (pa.ArrowException, OSError, csv.Error) as error:
        detail = str(error).strip().rstrip(".")
        raise ReadError(
            f"{name} cannot be read: {detail}. Check that the file is complete, has not changed "
            "and is what its suffix says"
        ) from error
