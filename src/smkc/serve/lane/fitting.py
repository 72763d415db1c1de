"""Fitting: a lane's rows -> a detector, in this process or in a background process.

In: row numbers, and the watch's settings. Out: a fitted detector; the same rows always give the
same one; before that, the time left until the first fit. Run as a program, this module is the
background process: it reads rows from a file, fits a detector and writes the model.
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
from smkc.errors import InputError, ModelFileError, SmkcError
from smkc.loading import load, make_detector
from smkc.recording import Identity, Recording
from smkc.serve.config import WatchConfig, show_duration

Span = tuple[int, int]

REFERENCE, MODEL = "refit-reference.smkc", "refit-model.smkc"
NOTE, ERRORS = "refit.json", "refit.errors"

# How often a background process checks that its parent still runs.
PARENT_CHECK_SECONDS = 0.5

# Steps, in milliseconds, that are proposed instead of a longer one.
STEPS = (1_000, 2_000, 5_000, 10_000, 15_000, 30_000, 60_000, 300_000)

# A min_rows below this is not proposed.
MIN_ROWS_PROPOSED = 60


def detector_of(watch: WatchConfig) -> BaseDetector:
    """Return an unfitted detector with a watch's settings."""
    families = watch.families
    return make_detector(
        {
            **watch.detector,
            "identity": None if families == Identity() else families,
            "counters": "auto" if watch.counters == "auto" else None,
        }
    )


def reference_spans(
    first: int, last: int, alerts: Iterable[Span], least: int, marked: Iterable[Span] = ()
) -> list[Span]:
    """Return the rows to learn from, as (first, last) spans without those of ``alerts``.

    The ``marked`` rows, of maintenance and missed faults, are always left out. If fewer than
    ``least`` rows would remain, the rows of alerts are included: alerts that cover nearly all rows
    show normal behaviour. If there are still too few, raise InputError.

    Examples
    --------
    >>> reference_spans(0, 99, [(10, 19), (95, 120)], least=50)
    [(0, 9), (20, 94)]
    >>> reference_spans(0, 99, [(10, 99)], least=50)
    [(0, 99)]
    >>> reference_spans(0, 99, [(10, 99)], least=50, marked=[(40, 49)])
    [(0, 39), (50, 99)]
    """
    marked = list(marked)
    least = min(least, last - first + 1)
    spans = _outside(first, last, [*alerts, *marked])
    if _length(spans) < least:
        spans = _outside(first, last, marked)
    if _length(spans) < least:
        raise InputError(
            f"of the latest {last - first + 1} rows, {_length(spans)} lie outside maintenance and "
            f"missed faults, and {least} are needed; wait for more, or delete such spans"
        )
    return spans


def _length(spans: Iterable[Span]) -> int:
    return sum(end - start + 1 for start, end in spans)


def _outside(first: int, last: int, left_out: Iterable[Span]) -> list[Span]:
    """Return the rows from first to last that lie in none of the spans."""
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
    return spans


class FitBeside:
    """A fit in a background process, which ends when its parent ends.

    The lane's folder holds the reference, a note and the model during the fit. The note stays until
    the fit is over, so that a restart can start the fit again. ``spans`` are the numbers of the
    reference's rows, and ``reason`` says why a new model is fitted.
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
        self.reference_path, self.model_path = folder / REFERENCE, folder / MODEL
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
    def is_done(self) -> bool:
        """Whether the process has ended, successfully or not."""
        return self._process.poll() is not None

    def result(self) -> BaseDetector:
        """Wait for the fitted detector and return it; call :meth:`cancel` afterwards to clean up.

        Raises ModelFileError if the fit failed.
        """
        code = self._process.wait()
        if code != 0:
            self._errors.seek(0)
            said = self._errors.read().decode("utf-8", "replace").strip().splitlines()
            raise ModelFileError(
                f"the new model could not be fitted: {said[-1] if said else f'code {code}'}; "
                "the previous one stays in use"
            )
        return load(self.model_path)

    def cancel(self, *, keep_note: bool = False) -> None:
        """Kill the process and remove its files.

        With ``keep_note`` the note stays, so that the fit is started again at the next start.
        """
        if self._process.poll() is None:
            self._process.kill()
            self._process.wait()
        self._errors.close()
        clear(self._folder, keep_note=keep_note)


def noted(folder: Path) -> tuple[str, list[Span]] | None:
    """Return the reason and the rows of an unfinished fit; None if there is none."""
    try:
        note = json.loads((folder / NOTE).read_text())
        return str(note["reason"]), [(int(a), int(b)) for a, b in note["reference"]]
    except (OSError, ValueError, KeyError, TypeError):
        return None


def clear(folder: Path, *, keep_note: bool = False) -> None:
    """Remove the files of a background fit."""
    for name in (REFERENCE, MODEL, ERRORS, f"{NOTE}.new", *(() if keep_note else (NOTE,))):
        with contextlib.suppress(OSError):
            (folder / name).unlink(missing_ok=True)


def write_reference(path: Path, reference: Recording, watch: WatchConfig) -> None:
    """Write the rows to learn from, and the watch's settings, for a background process."""
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
    """Read the rows, and the settings that a fit needs, from :func:`write_reference`'s file."""
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


def time_left(watch: WatchConfig, rows: int, needed: int) -> str:
    """Describe the time left until the fit at ``needed`` rows, and what would shorten it.

    Examples
    --------
    >>> watch = WatchConfig(name="shop", query="up", step=15_000)
    >>> time_left(watch, 60, 240)
    'about 45 min more, as Prometheus holds only 15 min; min_rows = 120: 15 min, step = "5s": 5 min'
    >>> time_left(watch, 240, 240)
    ''
    """
    held, left = rows * watch.step, (needed - rows) * watch.step
    if left <= 0:
        return ""
    is_pulled = watch.source == "prometheus"
    why = f", as Prometheus holds only {about(held)}" if is_pulled and rows else ""
    sooner = []
    fewer = needed // 2
    if needed == watch.min_rows and fewer >= MIN_ROWS_PROPOSED:
        sooner.append(f"min_rows = {fewer}: {_when((fewer - rows) * watch.step)}")
    finer = max((step for step in STEPS if 2 * step <= watch.step), default=0)
    if finer and is_pulled and watch.has_own_step:  # otherwise it is the scrape interval already
        sooner.append(f'step = "{show_duration(finer)}": {_when(needed * finer - held)}')
    hints = f"; {', '.join(sooner)}" if sooner else ""
    return f"about {about(left)} more{why}{hints}"


def about(milliseconds: int) -> str:
    """Format a duration in seconds, minutes or hours.

    Examples
    --------
    >>> about(15_000), about(180_000), about(36_000_000)
    ('15 s', '3 min', '10 h')
    """
    for unit, size in (("h", 3_600_000), ("min", 60_000)):
        if milliseconds >= 2 * size:
            return f"{round(milliseconds / size)} {unit}"
    return f"{max(1, round(milliseconds / 1000))} s"


def _when(milliseconds: int) -> str:
    return about(milliseconds) if milliseconds > 0 else "at once"


def end_with_parent() -> None:
    """Make this process exit when its parent has ended."""
    parent = os.getppid()

    def look() -> None:
        while os.getppid() == parent:
            time.sleep(PARENT_CHECK_SECONDS)
        os._exit(1)

    threading.Thread(target=look, daemon=True).start()


def main() -> None:
    """Fit a model as the background process."""
    end_with_parent()
    folder = Path(sys.argv[1])
    try:
        reference, watch = read_reference(folder / REFERENCE)
        detector_of(watch).fit(reference).save(folder / MODEL)
    except SmkcError as error:
        sys.exit(str(error))


if __name__ == "__main__":
    main()
