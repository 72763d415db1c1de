"""Work: the folder beside the output that holds what is done so far, part by part.

In: scores of time steps as they become final, and the state to go on from. Out: parts and states
on disk, of which the last complete ones are found again after any interruption.
"""

import json
import os
import shutil
import socket
from collections.abc import Iterator, Mapping
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

__all__ = ["BlockFolder", "Part", "Progress", "score_table", "write_json"]


@dataclass(frozen=True, kw_only=True)
class Progress:
    """How far a block has come.

    Parameters
    ----------
    part
        number of the last complete part; 0 before the first.
    batch
        number of the batch of the source to go on with.
    read
        how much of the source has been read.
    rows, observations, unscored, short
        rows and observations that were scored, windows without a score, and entities with fewer
        rows than a window.
    done
        whether nothing is left to do.
    worker
        the process that wrote this.
    """

    part: int = 0
    batch: int = 0
    read: float = 0.0
    rows: int = 0
    observations: int = 0
    unscored: int = 0
    short: int = 0
    done: bool = False
    worker: str = ""


@dataclass(kw_only=True)
class Part:
    """What became final since the part before, by entity in the order they were met."""

    tables: dict[str | None, list[pa.Table]] = field(default_factory=dict)
    alerts: list[tuple[str | None, Alert]] = field(default_factory=list)
    n_rows: int = 0

    def add(self, entity: str | None, table: pa.Table) -> None:
        """Take scores of one entity, after those that came before."""
        if table.num_rows:
            self.tables.setdefault(entity, []).append(table)
            self.n_rows += table.num_rows


class BlockFolder:
    """The folder of one block: its parts, its latest state, its progress."""

    def __init__(self, path: Path) -> None:
        self._path = path

    def progress(self) -> Progress:
        """Return how far the block has come; the beginning if there is nothing yet."""
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
        """Write a part and the state after it; it counts once the progress file names it."""
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
        now = replace(progress, part=number, worker=f"{socket.gethostname()}:{os.getpid()}")
        write_json(self._path / "progress.json", asdict(now))
        for old in self._path.glob("state-*"):
            if old != folder:
                shutil.rmtree(old, ignore_errors=True)
        return now

    def states(self, number: int) -> Iterator[tuple[str | None, Any, Mapping[str, Any]]]:
        """Yield the entity, arrays and header of each state that belongs to a part."""
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
        """Yield all alerts, in the order they were found."""
        for number in range(1, self.progress().part + 1):
            yield from self._told(number)["alerts"]

    def _told(self, number: int) -> dict[str, Any]:
        told: dict[str, Any] = json.loads(self._part(number, "json").read_text("utf-8"))
        return told

    def _part(self, number: int, suffix: str) -> Path:
        return self._path / f"part-{number:06d}.{suffix}"

    def _write_part(self, number: int, part: Part) -> None:
        """Write a row group an entity, and beside it whose they are."""
        if part.tables:
            first = next(iter(part.tables.values()))[0]
            with pq.ParquetWriter(self._part(number, "parquet"), first.schema) as writer:
                for tables in part.tables.values():
                    whole = pa.concat_tables(tables)
                    writer.write_table(whole, row_group_size=whole.num_rows)
            with open(self._part(number, "parquet"), "rb") as file:
                os.fsync(file.fileno())
        alerts = [
            {
                "entity": entity,
                "start": _number(alert.start),
                "end": _number(alert.end),
                "peak": _number(alert.peak),
                "score": alert.score,
                "p_value": alert.p_value,
                "first_row": alert.first_row,
                "last_row": alert.last_row,
            }
            for entity, alert in part.alerts
        ]
        told = {"entities": list(part.tables), "rows": part.n_rows, "alerts": alerts}
        write_json(self._part(number, "json"), told)


def score_table(times: NDArray[Any], scores: NDArray[np.float64], threshold: float) -> pa.Table:
    """Return (T,) time, score and whether it is past the threshold; null where there is none."""
    with np.errstate(invalid="ignore"):
        anomalous = (scores > threshold).astype(np.int8)
    stamps = pa.array(times)
    if times.dtype.kind == "M":
        stamps = stamps.cast(pa.timestamp("ns", tz="UTC"))
    numbers = pa.array(scores, mask=np.isnan(scores))
    return pa.table({"time": stamps, "score": numbers, "anomalous": pa.array(anomalous)})


def write_json(path: Path, content: Any) -> None:
    """Write a file whole or not at all."""
    beside = path.with_name(f".{path.name}.{os.getpid()}.tmp")
    with open(beside, "w", encoding="utf-8") as file:
        json.dump(content, file)
        file.flush()
        os.fsync(file.fileno())
    os.replace(beside, path)


def _number(time: Any) -> int | float:
    """Return a time as a number that JSON can hold: nanoseconds since 1970 for dates."""
    plain: int | float = (
        np.array(time).astype("datetime64[ns]").astype(np.int64).item()
        if isinstance(time, np.datetime64)
        else np.asarray(time).item()
    )
    return plain
