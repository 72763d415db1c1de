"""Models: the files of one lane, its fitted detectors and where their streams stood.

In: a folder. Out: detectors and checkpoints by the number of the row they belong to; what is
damaged is set aside under another name, and said so. A file is there whole or not at all.
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

__all__ = ["Checkpoint", "LaneFiles"]

log = logging.getLogger("smkc.serve.lane.files")

# So many models and checkpoints stay: the latest, and one in case it is damaged.
CHECKPOINTS_KEPT = 2

# Rows that could not be taken are written here, as long as the file is no longer than this.
ROWS_SET_ASIDE = "rows-set-aside.jsonl"
MAX_SET_ASIDE_BYTES = 16 * 1024 * 1024

MODEL = re.compile(r"model-(\d+)\.smkc")
STREAM = re.compile(r"stream-(\d+)-(\d+)\.smkc")
HALF_WRITTEN = re.compile(r"\.smkc-[0-9a-f]+\.tmp")


class Checkpoint(NamedTuple):
    """Where a stream stood: before row ``row``, after the lane's first ``n_events`` events."""

    row: int
    n_events: int


class LaneFiles:
    """The files of one lane.

    Parameters
    ----------
    folder
        of this lane alone; made when there is something to write.

    Attributes
    ----------
    set_aside
        files that were found damaged, under their new names.
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.set_aside: list[Path] = []

    # ------------------------------------------------------------------ models

    def model_path(self, row: int) -> Path:
        """Return where the model lies that took over before a row."""
        return self.folder / f"model-{row}.smkc"

    def save_model(self, row: int, detector: BaseDetector) -> None:
        """Write a model."""
        self._make_folder()
        detector.save(self.model_path(row))

    def adopt_model(self, row: int, path: Path) -> None:
        """Give a model that was written already, in the same folder, its name."""
        try:
            os.replace(path, self.model_path(row))
        except OSError as error:
            raise ModelFileError(
                f"{path} cannot be renamed ({error.strerror or error}); fit again"
            ) from error

    def load_model(self, row: int) -> BaseDetector | None:
        """Read a model; None if it is not there or damaged, which is then set aside."""
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
        """Write where a stream stands; older files that are needed no more are removed."""
        self._make_folder()
        follower.save(self._stream_path(at))
        self._prune()

    def forget_streams(self, before: int) -> None:
        """Remove checkpoints of a model that is used no more, and older models."""
        for at in self.checkpoints():
            if at.row < before:
                with contextlib.suppress(OSError):
                    self._stream_path(at).unlink()
        self._prune()

    def checkpoints(self) -> list[Checkpoint]:
        """Return the checkpoints there are, the latest first."""
        found = [Checkpoint(int(match[1]), int(match[2])) for match in self._named(STREAM)]
        return sorted(found, reverse=True)

    def resumed(self, at: Checkpoint, detector: BaseDetector, base: int) -> Follower | None:
        """Go on from a checkpoint; None if it is damaged, and then it is set aside."""
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
        """The row of the oldest checkpoint that is kept."""
        return min((at.row for at in self.checkpoints()), default=None)

    # ------------------------------------------------------------------ rows

    def put_row_aside(self, row: Row, reason: str) -> None:
        """Write a row that could not be taken where people can look at it, if there is room."""
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
        """Remove what a process left behind that was ended while it wrote."""
        for match in self._named(HALF_WRITTEN):
            with contextlib.suppress(OSError):
                (self.folder / match[0]).unlink()

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
        """Keep the latest checkpoints, and the latest models."""
        streams = [self._stream_path(at) for at in self.checkpoints()]
        models = sorted((int(match[1]) for match in self._named(MODEL)), reverse=True)
        for path in [
            *streams[CHECKPOINTS_KEPT:],
            *(self.model_path(row) for row in models[CHECKPOINTS_KEPT:]),
        ]:
            with contextlib.suppress(OSError):
                path.unlink()

    def _put_aside(self, path: Path, error: Exception) -> None:
        """Give a damaged file a name under which nobody looks for it."""
        aside = path.with_name(f"{path.name}.damaged")
        number = 1
        while aside.exists():
            number += 1
            aside = path.with_name(f"{path.name}.damaged-{number}")
        log.error("%s: set aside as %s", error, aside.name)
        with contextlib.suppress(OSError):
            os.replace(path, aside)
        self.set_aside.append(aside)
