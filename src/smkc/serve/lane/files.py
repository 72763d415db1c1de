"""Lane files: one lane's fitted detectors and the checkpoints of their streams.

In: a folder. Out: detectors and checkpoints by row number. Damaged files are renamed, logged and
listed. Files are written atomically: each is complete or absent.
"""

import contextlib
import json
import logging
import os
import re
from pathlib import Path
from typing import NamedTuple

from smkc.base import BaseDetector
from smkc.errors import ModelFileError
from smkc.loading import load
from smkc.serve.lane.follower import Follower
from smkc.serve.rows import Row

log = logging.getLogger("smkc.serve.lane.files")

# Number of models and of checkpoints kept: the latest, and one more in case it is damaged.
CHECKPOINTS_KEPT = 2

# Rows that could not be stored or judged are written to this file, up to this size.
ROWS_SET_ASIDE = "rows-set-aside.jsonl"
MAX_SET_ASIDE_BYTES = 16 * 1024 * 1024

MODEL = re.compile(r"model-(\d+)\.smkc")
STREAM = re.compile(r"stream-(\d+)-(\d+)\.smkc")
HALF_WRITTEN = re.compile(r"\.smkc-[0-9a-f]+\.tmp")


class Checkpoint(NamedTuple):
    """Position of a stream: before row ``row``, after the lane's first ``n_events`` events."""

    row: int
    n_events: int


class LaneFiles:
    """The files of one lane in its own folder, which is created when the first file is written.

    ``set_aside`` lists damaged files by their new names.
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.set_aside: list[Path] = []

    # ------------------------------------------------------------------ models

    def model_path(self, row: int) -> Path:
        """Return the path of the model that took over before row ``row``."""
        return self.folder / f"model-{row}.smkc"

    def save_model(self, row: int, detector: BaseDetector) -> None:
        """Write a model."""
        self._make_folder()
        detector.save(self.model_path(row))

    def adopt_model(self, row: int, path: Path) -> None:
        """Rename a model file, already written to the same folder, to its final name."""
        try:
            os.replace(path, self.model_path(row))
        except OSError as error:
            raise ModelFileError(
                f"{path} cannot be renamed ({error.strerror or error}); fit again"
            ) from error

    def load_model(self, row: int) -> BaseDetector | None:
        """Read a model; return None if it is missing or damaged. A damaged file is set aside."""
        path = self.model_path(row)
        if not path.exists():
            return None
        try:
            return load(path)
        except ModelFileError as error:
            self._put_aside(path, error)
            return None

    # ------------------------------------------------------------------ checkpoints

    def save_stream(self, at: Checkpoint, follower: Follower) -> None:
        """Write a checkpoint, and remove older files that are no longer needed."""
        self._make_folder()
        follower.save(self._stream_path(at))
        self._prune()

    def forget_streams(self, before: int) -> None:
        """Remove checkpoints before row ``before``, and older models."""
        for at in self.checkpoints():
            if at.row < before:
                _remove(self._stream_path(at))
        self._prune()

    def checkpoints(self) -> list[Checkpoint]:
        """Return all checkpoints, the latest first."""
        found = [Checkpoint(int(match[1]), int(match[2])) for match in self._named(STREAM)]
        return sorted(found, reverse=True)

    def resumed(self, at: Checkpoint, detector: BaseDetector, base: int) -> Follower | None:
        """Return a follower restored from a checkpoint; set a damaged one aside and return None."""
        path = self._stream_path(at)
        try:
            follower = Follower(detector, base, path)
            if follower.next_row != at.row:
                raise ModelFileError(f"{path} stands before row {follower.next_row}")
        except ModelFileError as error:
            self._put_aside(path, error)
            return None
        return follower

    @property
    def oldest_checkpoint(self) -> int | None:
        """Row number of the oldest checkpoint; None if there is no checkpoint."""
        return min((at.row for at in self.checkpoints()), default=None)

    # ------------------------------------------------------------------ rows

    def put_row_aside(self, row: Row, reason: str) -> None:
        """Append a row that could not be stored or judged to a file, for inspection.

        Nothing is written if the file is full or cannot be written.
        """
        content = {
            "time": row.time,
            "reason": reason,
            "names": list(row.names),
            "values": [repr(float(value)) for value in row.values],
        }
        path = self.folder / ROWS_SET_ASIDE
        with contextlib.suppress(OSError):
            self.folder.mkdir(parents=True, exist_ok=True)
            if not path.exists() or path.stat().st_size < MAX_SET_ASIDE_BYTES:
                with path.open("a", encoding="ascii") as file:
                    file.write(json.dumps(content) + "\n")

    # ------------------------------------------------------------------ the folder

    def tidy(self) -> None:
        """Remove partially written files that a killed process left behind."""
        for match in self._named(HALF_WRITTEN):
            _remove(self.folder / match[0])

    def _stream_path(self, at: Checkpoint) -> Path:
        return self.folder / f"stream-{at.row}-{at.n_events}.smkc"

    def _make_folder(self) -> None:
        try:
            self.folder.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise ModelFileError(
                f"{self.folder} cannot be made ({error.strerror or error}); give a data folder "
                "that may be written to and has room"
            ) from error

    def _named(self, pattern: re.Pattern[str]) -> list[re.Match[str]]:
        try:
            names = sorted(os.listdir(self.folder))
        except OSError:
            return []
        return [match for name in names if (match := pattern.fullmatch(name))]

    def _prune(self) -> None:
        """Remove all but the latest checkpoints and models."""
        for at in self.checkpoints()[CHECKPOINTS_KEPT:]:
            _remove(self._stream_path(at))
        models = sorted((int(match[1]) for match in self._named(MODEL)), reverse=True)
        for row in models[CHECKPOINTS_KEPT:]:
            _remove(self.model_path(row))

    def _put_aside(self, path: Path, error: Exception) -> None:
        """Rename a damaged file so that it is not read again."""
        aside = path.with_name(f"{path.name}.damaged")
        number = 1
        while aside.exists():
            number += 1
            aside = path.with_name(f"{path.name}.damaged-{number}")
        log.error("%s: set aside as %s", error, aside.name)
        with contextlib.suppress(OSError):
            os.replace(path, aside)
        self.set_aside.append(aside)


def _remove(path: Path) -> None:
    with contextlib.suppress(OSError):
        path.unlink()
