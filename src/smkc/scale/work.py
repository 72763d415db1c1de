"""Work folder beside the output: the parts written so far, and the state to resume from.

In: scores of time steps as they become final, and states. Out: parts and states on disk; after any
interruption the last complete ones are found again. At the end, the parts are joined into one file.
"""

import json
import os
import shutil
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from numpy.typing import NDArray

from smkc import model_file
from smkc.decide import Alert
from smkc.errors import ModelFileError

# Rows per row group of the output.
ROW_GROUP = 2**20


@dataclass(frozen=True, kw_only=True)
class Progress:
    """Progress of a block."""

    part: int = 0  # number of the last complete part; 0 before the first
    batch: int = 0  # number of the batch of the source to continue with
    read: float = 0.0  # bytes of the source that have been read
    rows: int = 0
    observations: int = 0
    unscored: int = 0  # windows without a score
    short: int = 0  # entities with fewer rows than a window
    done: bool = False


@dataclass(kw_only=True)
class Part:
    """Scores and alerts that became final since the previous part, by entity."""

    tables: dict[str | None, list[pa.Table]] = field(default_factory=dict)
    alerts: list[tuple[str | None, Alert]] = field(default_factory=list)
    n_rows: int = 0

    def add(self, entity: str | None, table: pa.Table) -> None:
        """Add the next scores of one entity."""
        if table.num_rows:
            self.tables.setdefault(entity, []).append(table)
            self.n_rows += table.num_rows


class BlockFolder:
    """The folder of one block: its parts, its latest state, its progress."""

    def __init__(self, path: Path) -> None:
        self._path = path

    def progress(self) -> Progress:
        """Return the saved progress; that of a new block if there is none."""
        try:
            told = json.loads((self._path / "progress.json").read_text("utf-8"))
            return Progress(**told)
        except FileNotFoundError:
            return Progress()
        except (ValueError, TypeError) as error:
            raise ModelFileError(
                f"{self._path / 'progress.json'} is damaged: {error}; remove the folder "
                f"{self._path} to do its part of the work again"
            ) from None

    def write(
        self,
        part: Part,
        states: Iterator[tuple[str | None, dict[str, NDArray[Any]], dict[str, Any]]],
        progress: Progress,
    ) -> Progress:
        """Write a part and the state after it; they become valid with the new progress file."""
        self._path.mkdir(parents=True, exist_ok=True)
        number = progress.part + 1
        self._write_part(number, part)
        folder = self._path / f"state-{number:06d}"
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir()
        if not progress.done:
            for at, (entity, arrays, header) in enumerate(states):
                model_file.write(
                    folder / f"{at:06d}.smkc",
                    arrays,
                    {"kind": "scale state", "entity": entity} | {"state": header},
                )
        now = replace(progress, part=number)
        write_json(self._path / "progress.json", asdict(now))
        for old in self._path.glob("state-*"):
            if old != folder:
                shutil.rmtree(old, ignore_errors=True)
        return now

    def states(self, number: int) -> Iterator[tuple[str | None, Any, Mapping[str, Any]]]:
        """Yield the entity, arrays and header of each state saved with a part."""
        for path in sorted((self._path / f"state-{number:06d}").glob("*.smkc")):
            try:
                arrays, header = model_file.read(path)
            except ModelFileError as error:
                raise ModelFileError(
                    f"the run cannot be resumed: {error} Or remove {self._path} to do its part of "
                    "the work again"
                ) from None
            yield header["entity"], arrays, header["state"]

    def places(self) -> dict[str | None, list[tuple[Path, int]]]:
        """Return, by entity, the file and row group of each of its parts, in order of time."""
        found: dict[str | None, list[tuple[Path, int]]] = {}
        for number in range(1, self.progress().part + 1):
            for at, entity in enumerate(self._told(number)["entities"]):
                found.setdefault(entity, []).append((self._part(number, "parquet"), at))
        return found

    def alerts(self) -> Iterator[dict[str, Any]]:
        """Yield all alerts, in the order in which they were found."""
        for number in range(1, self.progress().part + 1):
            yield from self._told(number)["alerts"]

    def _told(self, number: int) -> dict[str, Any]:
        told: dict[str, Any] = json.loads(self._part(number, "json").read_text("utf-8"))
        return told

    def _part(self, number: int, suffix: str) -> Path:
        return self._path / f"part-{number:06d}.{suffix}"

    def _write_part(self, number: int, part: Part) -> None:
        """Write one row group per entity, and a JSON file with the entities and alerts."""
        if part.tables:
            first = next(iter(part.tables.values()))[0]
            with pq.ParquetWriter(self._part(number, "parquet"), first.schema) as writer:
                for tables in part.tables.values():
                    whole = pa.concat_tables(tables)
                    writer.write_table(whole, row_group_size=whole.num_rows)
            with open(self._part(number, "parquet"), "rb") as file:
                os.fsync(file.fileno())
        alerts = []
        for entity, alert in part.alerts:
            times = {key: _number(getattr(alert, key)) for key in ("start", "end", "peak")}
            alerts.append(asdict(alert) | times | {"entity": entity, "causes": ()})
        told = {"entities": list(part.tables), "alerts": alerts}
        write_json(self._part(number, "json"), told)


def score_table(times: NDArray[Any], scores: NDArray[np.float64], threshold: float) -> pa.Table:
    """Return a table of T rows: time, score (null if NaN), and 1 if past the threshold, else 0."""
    with np.errstate(invalid="ignore"):
        anomalous = (scores > threshold).astype(np.int8)
    stamps = pa.array(times)
    if times.dtype.kind == "M":
        stamps = stamps.cast(pa.timestamp("ns", tz="UTC"))
    numbers = pa.array(scores, mask=np.isnan(scores))
    return pa.table({"time": stamps, "score": numbers, "anomalous": pa.array(anomalous)})


def join_parts(
    places: Sequence[tuple[str | None, list[tuple[Path, int]]]], target: Path, has_entities: bool
) -> bool:
    """Write all parts into one file, the same bytes however the parts were cut.

    ``places`` has, for each entity, the file and row group of each of its parts. Returns whether
    times are dates.
    """
    writer: pq.ParquetWriter | None = None
    waiting: list[pa.Table] = []
    n_waiting = 0
    schema: pa.Schema | None = None
    try:
        for name, parts in places:
            for path, at in parts:
                with pq.ParquetFile(path) as file:
                    table = file.read_row_group(at)
                if has_entities:
                    names = pa.array(np.repeat([str(name)], table.num_rows))
                    table = table.add_column(0, "entity", names)
                waiting.append(table)
                n_waiting += table.num_rows
                if writer is None:
                    schema = table.schema
                    writer = pq.ParquetWriter(target, schema)
                while n_waiting >= ROW_GROUP:
                    table = pa.concat_tables(waiting)
                    writer.write_table(table.slice(0, ROW_GROUP), row_group_size=ROW_GROUP)
                    waiting, n_waiting = [table.slice(ROW_GROUP)], n_waiting - ROW_GROUP
        if writer is not None and n_waiting:
            writer.write_table(pa.concat_tables(waiting), row_group_size=ROW_GROUP)
    finally:
        if writer is not None:
            writer.close()
    return schema is not None and pa.types.is_timestamp(schema.field("time").type)


@contextmanager
def whole_file(target: Path) -> Iterator[Path]:
    """Yield the path of a draft beside the target; rename it to the target on success."""
    target.parent.mkdir(parents=True, exist_ok=True)
    draft = target.with_name(f".{target.name}.draft")
    try:
        yield draft
        draft.replace(target)
    finally:
        draft.unlink(missing_ok=True)


def write_json(path: Path, content: Any) -> None:
    """Write a JSON file, whole or not at all."""
    beside = path.with_name(f".{path.name}.{os.getpid()}.tmp")
    with open(beside, "w", encoding="utf-8") as file:
        json.dump(content, file)
        file.flush()
        os.fsync(file.fileno())
    os.replace(beside, path)


def _number(time: Any) -> int | float:
    """Return a time as a number for JSON: nanoseconds since 1970 for dates."""
    plain: int | float = (
        np.array(time).astype("datetime64[ns]").astype(np.int64).item()
        if isinstance(time, np.datetime64)
        else np.asarray(time).item()
    )
    return plain
