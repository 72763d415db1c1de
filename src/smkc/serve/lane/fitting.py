"""Fitting: a lane's rows -> a detector, here or in a process beside, while rows go on.

In: which rows, and the watch's settings. Out: a fitted detector; the same rows always give the same
one. Run as a program it fits what a file holds and writes the model: that is the process beside.
"""

import contextlib
import json
import os
import subprocess
import sys
import threading
import time
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from smkc import model_file
from smkc.base import BaseDetector
from smkc.errors import ModelFileError, SmkcError
from smkc.loading import load, make_detector
from smkc.recording import Identity, Recording
from smkc.serve.config import WatchConfig

__all__ = [
    "FitBeside",
    "clear",
    "detector_of",
    "end_with_parent",
    "noted",
    "read_reference",
    "reference_spans",
    "write_reference",
]

Span = tuple[int, int]

REFERENCE, MODEL = "refit-reference.smkc", "refit-model.smkc"
NOTE, ERRORS = "refit.json", "refit.errors"

# How often a process beside looks whether the one that started it is still there.
PARENT_CHECK_SECONDS = 0.5


def detector_of(watch: WatchConfig) -> BaseDetector:
    """Return the detector that a watch asks for, not fitted yet."""
    families = watch.families
    return make_detector(
        {
            **watch.detector,
            "identity": None if families == Identity() else families,
            "counters": "auto" if watch.counters == "auto" else None,
        }
    )


def reference_spans(first: int, last: int, left_out: Iterable[Span], least: int) -> list[Span]:
    """Return the rows to learn from: those of no alert, as spans with both ends.

    Where fewer than ``least`` would remain, what lasted so long is normal: all are taken.

    Examples
    --------
    >>> reference_spans(0, 99, [(10, 19), (95, 120)], least=50)
    [(0, 9), (20, 94)]
    >>> reference_spans(0, 99, [(10, 99)], least=50)
    [(0, 99)]
    """
    spans: list[Span] = []
    at = first
    for start, end in sorted(left_out):
        if start > at:
            spans.append((at, min(start - 1, last)))
        at = max(at, end + 1)
        if at > last:
            break
    if at <= last:
        spans.append((at, last))
    n_rows = sum(end - start + 1 for start, end in spans)
    return spans if n_rows >= min(least, last - first + 1) else [(first, last)]


class FitBeside:
    """A fit in a process of its own; it ends with the process that started it.

    A note of it stays in the folder until it is over, so that it is begun anew after a restart.

    Parameters
    ----------
    folder
        of the lane; the reference, the note and the model lie there meanwhile.
    watch
        whose settings hold.
    reference
        rows to learn from.
    spans
        which rows of the lane these are.
    reason
        why, in words.
    """

    def __init__(
        self,
        folder: Path,
        watch: WatchConfig,
        reference: Recording,
        spans: Sequence[Span],
        reason: str,
    ) -> None:
        self.spans, self.reason = list(spans), reason
        self._folder = folder
        try:
            folder.mkdir(parents=True, exist_ok=True)
            note = {"reason": reason, "reference": [list(span) for span in spans]}
            (folder / f"{NOTE}.new").write_text(json.dumps(note))
            os.replace(folder / f"{NOTE}.new", folder / NOTE)
            (folder / MODEL).unlink(missing_ok=True)
        except OSError as error:
            raise ModelFileError(
                f"{folder} cannot be written to ({error.strerror or error}); make room"
            ) from error
        write_reference(self.reference_path, reference, watch)
        self._errors = (folder / ERRORS).open("w+b")
        self._process = subprocess.Popen(
            [sys.executable, "-m", "smkc.serve.lane.fitting", str(folder)],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=self._errors,
        )

    @property
    def reference_path(self) -> Path:
        """Where the rows lie that it learns from."""
        return self._folder / REFERENCE

    @property
    def model_path(self) -> Path:
        """Where the process writes the model."""
        return self._folder / MODEL

    @property
    def is_done(self) -> bool:
        """Whether the process has ended, well or not."""
        return self._process.poll() is not None

    def result(self) -> BaseDetector:
        """Return the fitted detector, waiting for it; :meth:`cancel` clears up afterwards."""
        code = self._process.wait()
        if code != 0:
            self._errors.seek(0)
            said = self._errors.read().decode("utf-8", "replace").strip().splitlines()
            raise ModelFileError(
                f"the new model could not be fitted: {said[-1] if said else f'code {code}'}; "
                "the one before goes on"
            )
        return load(self.model_path)

    def cancel(self, *, keep_note: bool = False) -> None:
        """End the process and remove its files; ``keep_note`` begins it anew at the next start."""
        if self._process.poll() is None:
            self._process.kill()
            self._process.wait()
        self._errors.close()
        clear(self._folder, keep_note=keep_note)


def noted(folder: Path) -> tuple[str, list[Span]] | None:
    """Return why a fit was begun that is not over, and its rows; None if there is none."""
    try:
        note = json.loads((folder / NOTE).read_text())
        return str(note["reason"]), [(int(a), int(b)) for a, b in note["reference"]]
    except (OSError, ValueError, KeyError, TypeError):
        return None


def clear(folder: Path, *, keep_note: bool = False) -> None:
    """Remove the files of a fit beside."""
    for name in (REFERENCE, MODEL, ERRORS, f"{NOTE}.new", *(() if keep_note else (NOTE,))):
        with contextlib.suppress(OSError):
            (folder / name).unlink(missing_ok=True)


def write_reference(path: Path, reference: Recording, watch: WatchConfig) -> None:
    """Write rows to learn from, and what a watch says of how, for a process beside."""
    families = watch.families
    arrays: dict[str, NDArray[Any]] = {
        "times": reference.times.astype("M8[ns]").view(np.int64),
        "indptr": reference.indptr,
        "codes": reference.codes,
        "values": reference.values,
    }
    settings = {
        "drop": list(families.drop),
        "pattern": families.pattern,
        "counters": watch.counters,
        "detector": dict(watch.detector),
        "step": watch.step,
        "false_alarms_per_day": watch.false_alarms_per_day,
    }
    header = {"kind": "reference", "names": list(reference.names), "settings": settings}
    model_file.write(path, arrays, header)


def read_reference(path: Path) -> tuple[Recording, WatchConfig]:
    """Return what :func:`write_reference` was given, as far as a fit needs it."""
    arrays, header = model_file.read(path)
    reference = Recording(
        arrays["times"].view("M8[ns]"),
        arrays["indptr"],
        arrays["codes"],
        arrays["values"],
        tuple(header["names"]),
    )
    settings: dict[str, Any] = header["settings"]
    families = Identity(drop=tuple(settings.pop("drop")), pattern=settings.pop("pattern"))
    return reference, WatchConfig(name="beside", source="push", families=families, **settings)


def end_with_parent() -> None:
    """End this process when the one that started it has ended."""
    parent = os.getppid()

    def look() -> None:
        while os.getppid() == parent:
            time.sleep(PARENT_CHECK_SECONDS)
        os._exit(1)

    threading.Thread(target=look, daemon=True).start()


def main() -> None:
    """Run as the process beside."""
    end_with_parent()
    folder = Path(sys.argv[1])
    try:
        reference, watch = read_reference(folder / REFERENCE)
        detector_of(watch).fit(reference).save(folder / MODEL)
    except SmkcError as error:
        sys.exit(str(error))


if __name__ == "__main__":
    main()
