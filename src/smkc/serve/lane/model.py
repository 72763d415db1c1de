"""Lane model: the model that a lane is judged by, from its first fit through every later one.

In: a lane's journal and files. Out: a follower that stands before the next row; models are swapped
between two rows, and each swap is an event of the journal.
"""

import logging
from collections.abc import Sequence
from pathlib import Path

from smkc.base import BaseDetector
from smkc.errors import InputError, ModelFileError
from smkc.serve.config import WatchConfig
from smkc.serve.lane import fitting
from smkc.serve.lane.files import Checkpoint, LaneFiles
from smkc.serve.lane.fitting import FitBeside, Span, detector_of, reference_spans
from smkc.serve.lane.follower import Follower
from smkc.serve.lane.recovery import brought_up, recovered, reference_rows
from smkc.serve.lane.testing import SelfTesting
from smkc.serve.rows import AlertRecord
from smkc.serve.store import Event, LaneStore, Store, StoreError
from smkc.serve.view import IN_HEALTH, BusyError

__all__ = ["LaneModel"]

log = logging.getLogger("smkc.serve.lane.model")

# A model that knows less than half the history is fitted anew once there are so many times as many
# rows as it has seen.
GROWTH = 4

# A fit that fails for want of data is tried again with so many more times the rows; one whose model
# cannot be written, after so many rows.
MORE_ROWS, ROWS_LATER = 0.25, 8

MOST_ALERTS = 10_000  # that are looked at for rows to leave out of a reference


class LaneModel:
    """A lane's model and where it stands.

    Parameters
    ----------
    store, journal
        the history, and the part that is this lane's.
    watch
        the lane's settings.
    files
        models and checkpoints.

    Attributes
    ----------
    follower
        the model going along the rows; None before the first fit.
    is_fitting
        whether a model is being fitted here and now.
    saved_row
        number of the row from which rows would be judged again after a crash.
    problems
        sentences by what they are about.
    testing
        finds out, in a process beside, what the model would catch.
    """

    def __init__(
        self, store: Store, journal: LaneStore, watch: WatchConfig, files: LaneFiles
    ) -> None:
        self._store, self._journal, self._watch, self._files = store, journal, watch, files
        self._beside: FitBeside | None = None
        self.is_fitting = False
        found = recovered(journal, watch, files)
        self.follower, self._fit, self._n_events = found.follower, found.fit, found.n_events
        self.saved_row = found.saved_row
        self.problems: dict[str, str] = {
            f"recovery {number}": problem for number, problem in enumerate(found.problems)
        }
        self._fit_at_rows = watch.min_rows
        self.testing = SelfTesting(files.folder, watch, self.fitted_at)
        note = fitting.noted(files.folder)
        is_due = self.follower is not None and note is not None
        fitting.clear(files.folder, keep_note=is_due)
        if is_due and note is not None:
            self.begin_refit(*note)

    @property
    def fitted_at(self) -> int | None:
        """Number of the row before which the model took over."""
        return None if self._fit is None else self._fit.at_row

    @property
    def is_refitting(self) -> bool:
        """Whether a new model is being fitted beside."""
        return self._beside is not None

    @property
    def rows_needed(self) -> int:
        """How many rows the first model is fitted at; 0 once there is one."""
        return self._fit_at_rows if self.follower is None else 0

    @property
    def wants_fit(self) -> bool:
        """Whether there are rows enough for the first model."""
        return self.follower is None and self._journal.n_rows >= self._fit_at_rows

    # ------------------------------------------------------------------ fitting

    def fit(self, reason: str) -> bool:
        """Fit a model here and now; tell whether that went well."""
        self.is_fitting = True
        try:
            spans = self._reference()
            reference = reference_rows(self._journal, spans)
            self._swap(detector_of(self._watch).fit(reference), spans, reason)
            self.testing.begin(self._journal.n_rows, reference)
        except (InputError, ModelFileError) as error:
            n_rows = self._journal.n_rows
            is_full = isinstance(error, ModelFileError)
            self._fit_at_rows = n_rows + (ROWS_LATER if is_full else int(MORE_ROWS * n_rows) + 1)
            self._failed("fit", f"no model could be fitted: {error}")
            return False
        except (MemoryError, OSError, StoreError):
            raise
        except Exception as error:  # rows that nobody foresaw must not stop the watch
            self._fit_at_rows = self._journal.n_rows + int(MORE_ROWS * self._journal.n_rows) + 1
            log.exception("%s %s: the fit failed", self._watch.name, self._journal.entity)
            self._failed("fit", f"no model could be fitted: {type(error).__name__}: {error}")
            return False
        finally:
            self.is_fitting = False
        self.problems.pop("fit", None)
        return True

    def refit(self, reason: str, spans: Sequence[Span] | None = None) -> None:
        """Begin to fit a new model beside; :meth:`look_beside` takes it over.

        Parameters
        ----------
        reason
            why, in words.
        spans
            rows to learn from, both ends included; by default the latest of no alert.
        """
        if self.follower is None:
            raise BusyError(
                f"watch {self._watch.name!r}, entity {self._journal.entity!r}: there is no model "
                f"yet; it is fitted by itself once {self._watch.min_rows} rows are there"
            )
        if self._beside is not None:
            raise BusyError("a new model is being fitted already; wait until it has taken over")
        spans = spans or self._reference()
        reference = reference_rows(self._journal, spans)
        self._beside = FitBeside(self._files.folder, self._watch, reference, spans, reason)

    def begin_refit(self, reason: str, spans: Sequence[Span] | None = None) -> None:
        """Do the same unasked: what keeps it from being done is a problem, not an error."""
        try:
            self.refit(reason, spans)
        except (ModelFileError, StoreError) as error:
            self._failed("refit", f"a refit could not be begun: {error}")

    def look_beside(self) -> bool:
        """Take over a model that was fitted beside, if one is done; tell whether one was."""
        beside = self._beside
        # Two models that take over before the same row would have the same name.
        if beside is None or not beside.is_done or self.fitted_at == self._journal.n_rows:
            return False
        try:
            self._swap(beside.result(), beside.spans, beside.reason, beside.model_path)
            self.testing.begin(self._journal.n_rows, beside.reference_path)
            self.problems.pop("refit", None)
        except (InputError, ModelFileError) as error:
            self._failed("refit", f"a refit failed: {error}")
        self._beside = None
        beside.cancel()
        return True

    def refit_reason(self) -> str | None:
        """Say why a new model should be fitted by now; None if there is no reason."""
        if self._fit is None or self._beside is not None:
            return None
        last, fitted = self._journal.last_time or 0, int(self._fit.content["time"])
        if 0 < self._watch.refit_every <= last - fitted:
            return "it was time to"
        known = sum(int(b) - int(a) + 1 for a, b in self._fit.content["reference"])
        if 2 * known < self._history_rows and self._journal.n_rows >= GROWTH * known:
            return f"there are {GROWTH} times as many rows by now"
        return None

    def accept(self, alert: AlertRecord) -> None:
        """Count the rows of an alert as normal from now on."""
        content = {"first_row": alert.first_row, "last_row": alert.last_row, "alert": alert.id}
        event = Event(at_row=self._journal.n_rows, kind="accept", content=content)
        self._journal.commit([], [], [], [], [event])
        if self.follower is not None:
            self.follower.accept(alert.first_row, alert.last_row)
            self._n_events = self._journal.events(event.at_row)[-1].number + 1

    # ------------------------------------------------------------------ saving

    def checkpoint(self) -> None:
        """Write where the stream stands; a failure is a problem, but loses nothing."""
        if self.follower is None:
            return
        self.saved_row = self._journal.n_rows  # a failure is not repeated with each row
        try:
            at = Checkpoint(self._journal.n_rows, self._n_events)
            self._files.save_stream(at, self.follower)
            oldest = self._files.oldest_checkpoint
            if oldest is not None:
                self._journal.need_rows_from(oldest)
            self.problems.pop("checkpoint", None)
        except (ModelFileError, StoreError) as error:
            self._failed("checkpoint", f"no checkpoint could be written: {error}")

    def stop(self) -> None:
        """Leave a fit beside, and a test, for the next start."""
        self.testing.stop()
        if self._beside is not None:
            self._beside.cancel(keep_note=True)
            self._beside = None

    # ------------------------------------------------------------------ inside

    @property
    def _history_rows(self) -> int:
        return max(self._watch.history // self._watch.step, self._watch.min_rows)

    def _reference(self) -> list[Span]:
        """Return the rows to learn from: the last of the history, without those of alerts."""
        end = self._journal.n_rows
        first = max(self._journal.first_kept_row, end - self._history_rows)
        alerts = self._store.alerts(
            watch=self._watch.name, entity=self._journal.entity, limit=MOST_ALERTS
        )
        left_out = [
            (stored.record.first_row, stored.record.last_row)
            for stored in alerts
            if stored.feedback is None and stored.record.last_row >= first
        ]
        return reference_spans(first, end - 1, left_out, self._watch.min_rows)

    def _swap(
        self, detector: BaseDetector, spans: Sequence[Span], reason: str, path: Path | None = None
    ) -> None:
        """Let a model take over before the next row.

        No checkpoint is written: a restart judges the rows since the reference again, of which
        there are few. ``path`` is where the model is written already.
        """
        row, base = self._journal.n_rows, spans[-1][1] + 1
        if path is None:
            self._files.save_model(row, detector)
        else:
            self._files.adopt_model(row, path)
        follower = Follower(self._files.load_model(row) or detector, base)
        self._journal.need_rows_from(min(base, self._files.oldest_checkpoint or base))
        brought_up(follower, self._journal, self._journal.events(0), 0, row)
        content = {
            "reference": [list(span) for span in spans],
            "reason": reason,
            "time": self._journal.last_time,
        }
        self._journal.commit([], [], [], [], [Event(at_row=row, kind="fit", content=content)])
        self._fit = self._journal.events(row)[-1]
        self.follower, self._n_events = follower, self._fit.number + 1
        log.info("%s %s: model of row %d: %s", self._watch.name, self._journal.entity, row, reason)
        self.saved_row = base
        self._files.forget_streams(row)

    def _failed(self, what: str, problem: str) -> None:
        self.problems[what] = problem
        who = self._watch.name, self._journal.entity
        log.warning("%s %s: %s", *who, problem, extra=IN_HEALTH)
