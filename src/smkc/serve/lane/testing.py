"""Self-tests: which anomalies a lane's model would catch, measured in a background process.

In: the rows that the model learned from. Out: a :class:`smkc.serve.view.SelfTest`, kept in a file
of the lane. The whole service runs one test at a time, on one core and at low priority. Run as a
program, this module is the background process: it reads the rows from a file and tests them.
"""

import contextlib
import json
import logging
import os
import subprocess
import sys
import threading
import time
import warnings
from dataclasses import asdict
from pathlib import Path

from smkc import progress
from smkc.doctor import Diagnosis, diagnose
from smkc.errors import ModelFileError, SmkcError
from smkc.recording import Recording
from smkc.serve.config import WatchConfig
from smkc.serve.lane.alerting import alarms_per_day, alert_rate
from smkc.serve.lane.fitting import (
    detector_of,
    end_with_parent,
    read_reference,
    write_reference,
)
from smkc.serve.view import SelfTest

log = logging.getLogger("smkc.serve.lane.testing")

REFERENCE, RESULT, ERRORS = "self-test-reference.smkc", "self-test.json", "self-test.errors"

# A test uses at most MAX_ROWS of the latest rows that the model learned from. A detector is fitted
# to the first half (SHARE); PLACES anomalies of each kind are planted in the second half, for which
# 240 rows are enough.
MAX_ROWS, SHARE, PLACES = 2_880, 0.5, 3

# A test that takes longer is killed.
MAX_SECONDS = 900.0

# Added to the niceness of a test process; see os.nice.
NICENESS = 15

_turn = threading.Lock()


def tried(reference: Recording, watch: WatchConfig) -> Diagnosis:
    """Plant large anomalies in the later rows of a reference; return which of them are caught."""
    detector = detector_of(watch)
    detector.set_params(false_alarm_rate=alert_rate(watch.false_alarms_per_day, watch.step))
    latest = reference.rows(max(len(reference) - MAX_ROWS, 0), len(reference))
    with progress.quiet(), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return diagnose(latest, detector, share=SHARE, places=PLACES, sizes=("large",))


def told(diagnosis: Diagnosis, watch: WatchConfig) -> SelfTest:
    """Return the summary of a diagnosis that is stored and shown."""
    large = diagnosis.large
    caught, planted = sum(one.caught for one in large), sum(one.planted for one in large)
    grave = [one for one in diagnosis.findings if one.weight != "note"]
    remedy = ""
    for at, rate in enumerate(diagnosis.rates):
        more = sum(one.caught_at[at] for one in large)
        if rate > diagnosis.false_alarm_rate and more > caught:
            per_day = alarms_per_day(rate, watch.step)
            remedy = f"false_alarms_per_day = {per_day:.2g} would catch {more} of {planted}"
            break
    return SelfTest(
        verdict=diagnosis.verdict,
        planted=planted,
        caught=caught,
        kinds={one.kind: {"planted": one.planted, "caught": one.caught} for one in large},
        rows=min(diagnosis.n_rows, MAX_ROWS),
        reason="; ".join(f"{one.problem}: {one.evidence}" for one in grave),
        remedy=remedy,
    )


class SelfTesting:
    """Self-tests of one lane's models, one after another.

    ``row`` is the number of the row before which the current model took over; None if there is no
    model. ``result`` is the test result of that model; None until it is known.
    """

    def __init__(self, folder: Path, watch: WatchConfig, row: int | None) -> None:
        self._folder, self._watch, self._row = folder, watch, row
        self._process: subprocess.Popen[bytes] | None = None
        self._begun = 0.0
        self.result = self._read()
        reference = folder / REFERENCE
        self._is_due = watch.self_test and self.result is None and reference.exists()

    def begin(self, row: int, reference: Recording | Path) -> None:
        """Schedule the test of the model that took over before row ``row``.

        ``reference`` is the rows that the model learned from, or a file of them, which is moved.
        """
        self.stop()
        self.result, self._row, self._is_due = None, row, False
        if not self._watch.self_test:
            return
        try:
            (self._folder / RESULT).unlink(missing_ok=True)
            if isinstance(reference, Path):
                os.replace(reference, self._folder / REFERENCE)
            else:
                write_reference(self._folder / REFERENCE, reference, self._watch)
        except (OSError, ModelFileError) as error:
            self.result = SelfTest(verdict="unknown", reason=f"it could not be begun ({error})")
            return
        self._is_due = True

    def look(self) -> bool:
        """Start a test that is due, or check a running one; return whether ``result`` is new."""
        if self._process is None:
            if self._is_due and _turn.acquire(blocking=False):
                self._start()
            return False
        code = self._process.poll()
        if code is None and time.monotonic() - self._begun < MAX_SECONDS:
            return False
        said = self._ended()
        self.result = self._read() if code == 0 else None
        if self.result is None:
            reason = said if code else f"it took longer than {MAX_SECONDS / 60:.0f} minutes"
            self.result = SelfTest(verdict="unknown", reason=reason or "the test ended early")
            log.warning("%s: a self-test failed: %s", self._watch.name, self.result.reason)
            with contextlib.suppress(OSError):
                _write(self._folder, self._row, self.result)
                (self._folder / REFERENCE).unlink(missing_ok=True)
        return True

    def stop(self) -> None:
        """Kill a running test; it starts again later, or after a restart."""
        if self._process is not None:
            self._ended()
            self._is_due = True

    def _start(self) -> None:
        environment = {**os.environ, "SMKC_THREADS": "1", "OMP_NUM_THREADS": "1"}
        command = [sys.executable, "-m", "smkc.serve.lane.testing", str(self._folder)]
        try:
            with (self._folder / ERRORS).open("wb") as errors:
                self._process = subprocess.Popen(
                    [*command, str(self._row)],
                    stdin=subprocess.DEVNULL,
                    stdout=subprocess.DEVNULL,
                    stderr=errors,
                    env=environment,
                )
        except OSError as error:
            _turn.release()
            self.result = SelfTest(verdict="unknown", reason=f"it could not be begun ({error})")
        self._begun, self._is_due = time.monotonic(), False

    def _ended(self) -> str:
        """Kill the process if it runs, let another test start; return its last line of errors."""
        assert self._process is not None
        is_over = self._process.poll() is not None
        self._process.kill()
        self._process.wait()
        self._process = None
        _turn.release()
        said = ""
        with contextlib.suppress(OSError):
            lines = (self._folder / ERRORS).read_text("utf-8", "replace").strip().splitlines()
            said = lines[-1] if lines else ""
            (self._folder / ERRORS).unlink()
            if is_over:
                (self._folder / REFERENCE).unlink()
        return said

    def _read(self) -> SelfTest | None:
        """Return the stored result of the current model; None if there is none."""
        try:
            content = json.loads((self._folder / RESULT).read_text("utf-8"))
            return SelfTest(**content["result"]) if content["row"] == self._row else None
        except (OSError, ValueError, KeyError, TypeError):
            return None


def _write(folder: Path, row: int | None, result: SelfTest) -> None:
    beside = folder / f"{RESULT}.new"
    beside.write_text(json.dumps({"row": row, "result": asdict(result)}), "utf-8")
    os.replace(beside, folder / RESULT)


def main() -> None:
    """Run a self-test as the background process."""
    end_with_parent()
    if hasattr(os, "nice"):
        os.nice(NICENESS)
    folder, row = Path(sys.argv[1]), int(sys.argv[2])
    try:
        reference, watch = read_reference(folder / REFERENCE)
        _write(folder, row, told(tried(reference, watch), watch))
    except SmkcError as error:
        sys.exit(str(error))


if __name__ == "__main__":
    main()
