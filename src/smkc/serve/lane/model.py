"""Lane model: the model that judges a lane's rows, from the first fit through all refits.

In: a lane's journal and files. Out: a follower that is ready for the next row. Models are swapped
between 2 rows, and each swap is recorded as an event in the journal.
"""

import logging
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from smkc.base import BaseDetector
from smkc.decide import NewNormal
from smkc.errors import InputError, ModelFileError
from smkc.serve.config import WatchConfig
from smkc.serve.lane import fitting
from smkc.serve.lane.files import Checkpoint, LaneFiles
from smkc.serve.lane.fitting import FitBeside, Span, detector_of, reference_spans
from smkc.serve.lane.follower import Follower
from smkc.serve.lane.recovery import brought_up, recovered, reference_rows
from smkc.serve.lane.testing import SelfTesting
from smkc.serve.rows import LEFT_OUT, AlertRecord
from smkc.serve.spans import spans_between
from smkc.serve.store import Event, LaneStore, Store, StoreError
from smkc.serve.view import IN_HEALTH, BusyError, UnknownError

log = logging.getLogger("smkc.serve.lane.model")

# A model that learned from less than half the history is refitted once the lane keeps this many
# times as many rows as the model learned from.
GROWTH = 4

# A fit that fails on its data is tried again after this share of additional rows; one whose model
# file cannot be written, after this number of rows.
MORE_ROWS, ROWS_LATER = 0.25, 8

# In the first milliseconds after the first fit only certain trouble opens an alert, and what else
# is unusual is normal from then on: smkc has just started, perhaps on a machine that it watches.
# The last HISTORY_ROWS rows of the history are not learned from but judged, so that there are
# scores right after the first fit.
SETTLING, HISTORY_ROWS = 15_000, 4

MOST_ALERTS = 10_000  # latest alerts whose rows are left out of a reference


def settling_rows(step: int) -> int:
    """Return the number of rows after the first fit in which smkc settles, for a step in ms.

    Examples
    --------
    >>> settling_rows(2_000), settling_rows(15_000), settling_rows(60_000)
    (11, 5, 0)
    """
    return SETTLING // step + HISTORY_ROWS if step <= SETTLING else 0


class LaneModel:
    """A lane's model and its position in the lane.

    ``follower`` judges the rows; it is None before the first fit. ``settling`` are the first rows
    after that, in which only certain trouble opens an alert; none once they are over.
    ``is_fitting`` says whether a model is being fitted in this process right now, ``saved_row``
    from which row rows would be judged again after a crash. ``problems`` are sentences by subject.
    """

    def __init__(
        self, store: Store, journal: LaneStore, watch: WatchConfig, files: LaneFiles
    ) -> None:
        self._store, self._journal, self._watch, self._files = store, journal, watch, files
        self._beside: FitBeside | None = None
        self.is_fitting = False
        found = recovered(journal, watch, files)
        self.follower, self._fit, self._n_events = found.follower, found.fit, found.n_events
        self._confirmed = {
            (str(event.content["variable"]), int(event.content["row"]))
            for event in journal.events(0)
            if event.kind == "confirm"
        }
        self.settling = self._settling_rows()
        self.saved_row = found.saved_row
        self.problems: dict[str, str] = {
            f"recovery {number}": problem for number, problem in enumerate(found.problems)
        }
        self._fit_at_rows, self._refit_at_rows = watch.min_rows, 0
        self.testing = SelfTesting(files.folder, watch, self.fitted_at)
        note = fitting.noted(files.folder)
        is_due = self.follower is not None and note is not None
        fitting.clear(files.folder, keep_note=is_due)
        if is_due and note is not None:
            self.begin_refit(*note)

    @property
    def fitted_at(self) -> int | None:
        """Number of the first row after the model took over; None before the first fit."""
        return None if self._fit is None else self._fit.at_row

    @property
    def is_refitting(self) -> bool:
        """Whether a new model is being fitted in a background process."""
        return self._beside is not None

    @property
    def rows_needed(self) -> int:
        """Number of rows at which the first model is fitted; 0 once there is a model."""
        return self._fit_at_rows if self.follower is None else 0

    @property
    def wants_fit(self) -> bool:
        """Whether there are enough rows for the first model."""
        return self.follower is None and self._journal.n_rows >= self._fit_at_rows

    # ------------------------------------------------------------------ fitting

    def fit(self, reason: str) -> None:
        """Fit a model in this process; record a failure in ``problems``."""
        self.is_fitting = True
        try:
            spans = self._reference()
            reference = reference_rows(self._journal, spans)
            self._swap(detector_of(self._watch).fit(reference), spans, reason)
            self.testing.begin(self._journal.n_rows, reference)
            self.problems.pop("fit", None)
        except (InputError, ModelFileError) as error:
            n_rows = self._journal.n_rows
            is_full = isinstance(error, ModelFileError)
            self._fit_at_rows = n_rows + (ROWS_LATER if is_full else int(MORE_ROWS * n_rows) + 1)
            self._failed("fit", f"no model could be fitted: {error}")
        except (MemoryError, OSError, StoreError):
            raise
        except Exception as error:  # unforeseen rows must not stop the watch
            self._fit_at_rows = self._journal.n_rows + int(MORE_ROWS * self._journal.n_rows) + 1
            log.exception("%s %s: the fit failed", self._watch.name, self._journal.entity)
            self._failed("fit", f"no model could be fitted: {type(error).__name__}: {error}")
        finally:
            self.is_fitting = False

    def refit(self, reason: str, spans: Sequence[Span] | None = None) -> None:
        """Start fitting a new model in a background process; :meth:`look_beside` installs it.

        It learns from the rows of ``spans``, both ends included, by default the latest rows outside
        alerts, maintenance and missed faults. Raises BusyError if there is no model yet, or if a
        refit is running, and InputError if too few rows are outside.
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
        """Start a refit as :meth:`refit` does, but record a failure in ``problems``."""
        try:
            self.refit(reason, spans)
        except (InputError, ModelFileError, StoreError) as error:
            if isinstance(error, InputError):  # more rows are needed
                self._refit_at_rows = self._journal.n_rows + self._watch.min_rows
            self._failed("refit", f"a refit could not be begun: {error}")

    def look_beside(self) -> bool:
        """Install the model of a finished refit; return whether a refit has finished."""
        beside = self._beside
        # Models that take over before the same row would have the same file name.
        if beside is None or not beside.is_done or self.fitted_at == self._journal.n_rows:
            return False
        if self._is_marked(beside.spans):  # since it began
            beside.cancel()
            self._beside = None
            self.begin_refit(beside.reason)
            return True
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
        """Return why a refit is due, in words; None if it is not."""
        if self._fit is None or self._beside is not None:
            return None
        if self._journal.n_rows < self._refit_at_rows:
            return None
        last, fitted = self._journal.last_time or 0, int(self._fit.content["time"])
        if 0 < self._watch.refit_every <= last - fitted:
            return "it was time to"
        known = sum(int(b) - int(a) + 1 for a, b in self._fit.content["reference"])
        if self._journal.n_rows < GROWTH * known or 2 * known >= self._history_rows:
            return None
        n_kept = self._journal.n_rows - self._journal.first_kept_row
        return f"there are {GROWTH} times as many rows by now" if n_kept >= GROWTH * known else None

    def settle(self, *, has_alert: bool) -> None:
        """Treat the ``settling`` rows as normal once all are there, if most are past the threshold.

        With an open alert, whose trouble is certain, nothing is treated as normal.
        """
        rows = self.settling
        if not rows or self._journal.n_rows < rows.stop:
            return
        latest = self._journal.latest_verdicts(len(rows))
        is_odd = not has_alert and 2 * sum(one.anomaly > 1.0 for one in latest) > len(rows)
        first = rows.start if is_odd else rows.stop
        self._accept("settle", {"first_row": first, "last_row": rows.stop - 1})
        self.settling = range(0)

    def accept(self, alert: AlertRecord) -> None:
        """Treat the rows of an alert as normal from now on."""
        content = {"first_row": alert.first_row, "last_row": alert.last_row, "alert": alert.id}
        self._accept("accept", content)

    def _accept(self, kind: str, content: Mapping[str, Any]) -> None:
        event = Event(at_row=self._journal.n_rows, kind=kind, content=content)
        self._journal.commit([], [], [], [], [event])
        if self.follower is not None:
            self.follower.accept(content["first_row"], content["last_row"])
            self._n_events = self._journal.events(event.at_row)[-1].number + 1

    def new_normals(self) -> tuple[NewNormal, ...]:
        """Return the variables whose new normal nobody has confirmed, the latest first."""
        followed = () if self.follower is None else self.follower.new_normals()
        return tuple(
            replace(one, since=self._journal.time_of(one.row))
            for one in reversed(followed)
            if (one.variable, one.row) not in self._confirmed
        )

    def answer(self, variable: str, who: str, *, is_normal: bool) -> None:
        """Confirm the new normal of a variable, or judge it by the reference alone from now on."""
        known = {one.variable: one for one in self.new_normals()}
        if self.follower is None or variable not in known:
            raise UnknownError(f"{variable!r} has no new normal that waits for an answer")
        kind = "confirm" if is_normal else "refuse"
        content = {"variable": variable, "row": known[variable].row, "who": who}
        event = Event(at_row=self._journal.n_rows, kind=kind, content=content)
        self._journal.commit([], [], [], [], [event])
        if is_normal:
            self._confirmed.add((variable, known[variable].row))
        else:
            self.follower.refuse(variable)
        self._n_events = self._journal.events(event.at_row)[-1].number + 1

    # ------------------------------------------------------------------ saving

    def checkpoint(self) -> None:
        """Write a checkpoint; a failure is recorded in ``problems`` and loses no data."""
        if self.follower is None:
            return
        self.saved_row = self._journal.n_rows  # after a failure, do not try again at each row
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
        """Stop a running refit and self-test; both start again at the next start."""
        self.testing.stop()
        if self._beside is not None:
            self._beside.cancel(keep_note=True)
            self._beside = None

    # ------------------------------------------------------------------ inside

    @property
    def _history_rows(self) -> int:
        """Number of rows to learn from at most.

        A history that is not configured may be longer than what was fetched of it: what comes in
        later is learned, too.
        """
        watch, history = self._watch, self._watch.history
        if self.follower is not None and not watch.has_own_history:
            found = watch.with_found(watch.step, self.follower.n_variables)
            history = max(history, found.history)
        return max(history // watch.step, watch.min_rows)

    def _reference(self) -> list[Span]:
        """Return the rows to learn from: the latest of the history, without those of alerts.

        Rows of alerts that were marked as normal are included, those of maintenance and of missed
        faults are not.
        """
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
        marked = self._marked_rows(first, end - 1)
        return reference_spans(first, end - 1, left_out, self._watch.min_rows, marked)

    def _marked_rows(self, first: int, last: int) -> list[Span]:
        """Return the rows of maintenance and of missed faults among rows first to last."""
        since, until = self._journal.time_of(first), self._journal.time_of(last)
        if since is None or until is None:
            return []
        entity, step = self._journal.entity, self._watch.step
        spans = spans_between(
            self._store, self._watch, since - step + 1, until, entity=entity, kinds=LEFT_OUT
        )
        # A row covers the step before its time.
        ends = [until if span.end is None else min(span.end + step - 1, until) for span in spans]
        found = [
            self._journal.numbers_between(span.start, end)
            for span, end in zip(spans, ends, strict=True)
        ]
        return [rows for rows in found if rows is not None]

    def _is_marked(self, spans: Sequence[Span]) -> bool:
        """Return whether some of these rows lie in maintenance or a missed fault."""
        marked = self._marked_rows(spans[0][0], spans[-1][1])
        return any(a <= last and first <= b for first, last in spans for a, b in marked)

    def _swap(
        self, detector: BaseDetector, spans: Sequence[Span], reason: str, path: Path | None = None
    ) -> None:
        """Make a model take over before the next row.

        No checkpoint is written: a restart judges the few rows since the reference again. ``path``
        is the model's file if it is written already.
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
            "settling_rows": 0 if self._fit else settling_rows(self._watch.step),
        }
        self._journal.commit([], [], [], [], [Event(at_row=row, kind="fit", content=content)])
        self._fit = self._journal.events(row)[-1]
        self.settling = self._settling_rows()
        self.follower, self._n_events = follower, self._fit.number + 1
        log.info("%s %s: model of row %d: %s", self._watch.name, self._journal.entity, row, reason)
        self.saved_row = base
        self._files.forget_streams(row)

    def _settling_rows(self) -> range:
        """Return the first rows after the first fit; none before it, and once they were judged."""
        events = self._journal.events(0)
        if self._fit is None or any(one.kind == "settle" for one in events):
            return range(0)
        first = self._fit.at_row
        return range(first, first + int(self._fit.content.get("settling_rows", 0)))

    def _failed(self, what: str, problem: str) -> None:
        self.problems[what] = problem
        who = self._watch.name, self._journal.entity
        log.warning("%s %s: %s", *who, problem, extra=IN_HEALTH)
