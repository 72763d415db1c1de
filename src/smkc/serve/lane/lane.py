"""Lane: one recording that is followed; its rows are judged, stored and turned into alerts.

In: rows in order of time. Out: verdicts, alerts and messages, committed in one transaction with the
rows they come from. The rows and events in the journal determine everything else: a lane rebuilt
from them gives the same verdicts, and sends no message twice. A lane belongs to one thread.
"""

import logging
import time
from collections import Counter, deque
from collections.abc import Sequence
from dataclasses import replace
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from smkc.decide import Cause
from smkc.errors import SmkcError
from smkc.evidence.usual import Band
from smkc.recording.visible import visible
from smkc.serve.config import Config, WatchConfig
from smkc.serve.incidents.keeping import keep
from smkc.serve.lane.alerting import CERTAIN, Alerting, Change, Limits, anomaly_of, overlapping
from smkc.serve.lane.files import ROWS_SET_ASIDE, LaneFiles
from smkc.serve.lane.fitting import time_left
from smkc.serve.lane.follower import Follower, Recent
from smkc.serve.lane.model import LaneModel
from smkc.serve.messages import messages_for
from smkc.serve.rows import AlertRecord, Row, Verdict
from smkc.serve.spans import spans_between
from smkc.serve.store import LaneStore, Message, Store, StoreError
from smkc.serve.store.journal import refusal_of
from smkc.serve.view import IN_HEALTH, LaneStatus, UnknownError

log = logging.getLogger("smkc.serve.lane.lane")

# A checkpoint holds the whole state of a stream, 14 kB per variable. All it saves is judging rows
# again after a crash, which takes a third of the time that judging them took at first. So one is
# written every CHECKPOINT_ROWS rows; or after FEWEST_CHECKPOINT_ROWS rows, if judging the rows
# since the last one took JUDGING_SECONDS or more.
CHECKPOINT_ROWS = 2048
JUDGING_SECONDS = 60.0
FEWEST_CHECKPOINT_ROWS = 256

# A row that made a lane fail this many times is set aside: a lane that failed is rebuilt from its
# journal and given the same row again, so a row that cannot be judged would stop the watch forever.
MAX_ATTEMPTS = 3

# A row that was set aside is reported as a problem for the rows of this many milliseconds (a day).
SET_ASIDE_TOLD_FOR = 86_400_000


class _Batch(NamedTuple):
    """The content of one transaction."""

    rows: Sequence[Row]
    verdicts: Sequence[Verdict | None]
    changes: Sequence[Change]


class Lane:
    """One recording that is followed.

    ``config`` names the receivers of alerts; alerts that opened, got worse or closed are appended
    to ``changes`` once they are committed. ``failures`` is time of a row -> how often it made this
    lane fail, and is passed on when the lane is rebuilt.

    ``names`` are the variables of the latest row, ``problems`` are sentences by subject (the model
    has its own), ``refused`` counts variables beyond ``max_series``, and ``set_aside`` counts rows
    that could not be stored or judged.
    """

    def __init__(
        self,
        store: Store,
        journal: LaneStore,
        watch: WatchConfig,
        config: Config,
        files: LaneFiles,
        changes: deque[AlertRecord],
        checkpoint_rows: int = CHECKPOINT_ROWS,
        failures: Counter[int] | None = None,
    ) -> None:
        self._files, self._failures = files, Counter() if failures is None else failures
        self.set_aside = 0
        self._told_until_row = 0
        self.watch, self.journal, self.entity = watch, journal, journal.entity
        self._who = watch.name, self.entity
        self._store, self._config, self._changes = store, config, changes
        self._checkpoint_rows = checkpoint_rows
        self._pending: _Batch | None = None
        self._appeared = self._vanished = self.refused = 0
        self.problems: dict[str, str] = {}
        self.model = LaneModel(store, journal, watch, files)
        self._judging_seconds = 0.0
        self._recent = Recent.of(journal, self._window)
        self.names = self._recent.names
        self._limits = Limits.of(watch.false_alarms_per_day, watch.step)
        latest = journal.latest_verdicts(self._limits.confirming_rows)
        self._latest = latest[-1] if latest else None
        self._alerting = Alerting(*self._who, journal.open_alert(), latest)
        self._new_normals = self.model.new_normals()

    # ------------------------------------------------------------------ rows

    def take(self, rows: Sequence[Row]) -> None:
        """Judge the next rows and commit them; ignore rows that are not after the latest one.

        If the store fails, the rows wait in memory until :meth:`flush` succeeds. A row that the
        store cannot hold, or that made the lane fail :data:`MAX_ATTEMPTS` times, is set aside.
        """
        self.flush()
        last = self.journal.last_time
        fresh = [row for row in rows if last is None or row.time > last]
        fresh = [row for row in fresh if not self._is_set_aside(row)]
        if any(row.time in self._failures for row in fresh):
            for row in fresh:  # one by one, to find the row that fails
                self._take([row])
        else:
            n_settling = max(self.model.settling.stop - self.journal.n_rows, 0)
            for part in (fresh[:n_settling], fresh[n_settling:]):
                if part:
                    self._take(part)

    def _take(self, fresh: Sequence[Row]) -> None:
        """Judge rows and commit them; count a failure of each row if that fails unexpectedly."""
        try:
            self._judge(fresh)
        except (StoreError, OSError, MemoryError):  # not the fault of the rows
            raise
        except Exception:
            self._failures.update(row.time for row in fresh)
            raise
        for row in fresh:
            self._failures.pop(row.time, None)

    def _judge(self, fresh: Sequence[Row]) -> None:
        if self._recent.window != self._window:  # a model with other windows has taken over
            self._recent = Recent.of(self.journal, self._window)
        verdicts: list[Verdict | None] = []
        changes: list[Change] = []
        begun = time.perf_counter()
        for number, row in enumerate(fresh, self.journal.n_rows):
            verdict, of_row = self._judged(number, row)
            verdicts.append(verdict)
            changes += of_row
        if verdicts and verdicts[-1] is not None and self.model.follower is not None:
            self._recent.listen(self.model.follower, self.watch.loudest)
        self._judging_seconds += time.perf_counter() - begun
        self._pending = _Batch(fresh, verdicts, changes)
        self.flush()

    def flush(self) -> None:
        """Commit the waiting rows, if there are any."""
        batch = self._pending
        if batch is None:
            return
        alerts: dict[str, AlertRecord] = {change.alert.id: change.alert for change in batch.changes}
        messages: list[Message] = []
        for change in batch.changes:
            if change.kind != "go on" and not change.alert.is_muted:
                messages += messages_for(change.alert, change.kind, self._config)
        told = [change for change in batch.changes if not change.alert.is_muted]
        changes = overlapping(told, self._limits.calm_rows)
        self.journal.commit(
            batch.rows,
            batch.verdicts,
            list(alerts.values()),
            messages,
            regroup=lambda connection: keep(connection, changes, self._config),
        )
        self._pending = None
        self._tell(batch)
        self.model.settle(has_alert=self._alerting.alert is not None)
        self._announce()
        if self.journal.n_rows >= self._told_until_row:
            self.problems.pop("set aside", None)
        n_rows = self.journal.n_rows - self.model.saved_row
        takes_long = self._judging_seconds >= JUDGING_SECONDS
        if n_rows >= (FEWEST_CHECKPOINT_ROWS if takes_long else self._checkpoint_rows):
            self.checkpoint()

    def _is_set_aside(self, row: Row) -> bool:
        """Set a row aside if it cannot be stored or judged; return whether it was set aside."""
        reason = refusal_of(row)
        if not reason and self._failures[row.time] >= MAX_ATTEMPTS:
            reason = f"at {row.time} ms failed {MAX_ATTEMPTS} times; the log says how"
        if not reason:
            return False
        self._failures.pop(row.time, None)
        self._files.put_row_aside(row, reason)
        self.set_aside += 1
        self._told_until_row = self.journal.n_rows + SET_ASIDE_TOLD_FOR // self.watch.step
        self.problems["set aside"] = (
            f"{self.set_aside} rows could not be taken and were set aside in "
            f"{self._files.folder.name}/{ROWS_SET_ASIDE}: the latest {reason}"
        )
        log.error("%s %s: a row is set aside: it %s", *self._who, reason, extra=IN_HEALTH)
        return True

    def refuse(self, n: int) -> None:
        """Count n variables that the next rows left out because of ``max_series``."""
        self.refused += n
        if n:
            self.problems["series"] = (
                f"rows offer more variables than max_series={self.watch.max_series}; the others "
                "are left out: raise it, or narrow what is watched"
            )
        else:
            self.problems.pop("series", None)

    @property
    def is_waiting(self) -> bool:
        """Whether rows are waiting that could not be committed."""
        return self._pending is not None

    def _judged(self, number: int, row: Row) -> tuple[Verdict | None, list[Change]]:
        appeared, vanished = self._churn(row)
        follower = self.model.follower
        if follower is None:
            self._recent.take(number, row, None)
            return None, []
        verdict, mark = follower.push(row)
        anomaly = anomaly_of(verdict.p_value, self._limits.rate)
        verdict = replace(verdict, anomaly=anomaly, appeared=appeared, vanished=vanished)
        self._recent.take(number, row, verdict)
        if self._is_settling(verdict):
            return verdict, []
        changes = self._alerting.take(
            verdict,
            self._limits,
            lambda at, begun: self._causes(follower, at, begun),
            mark=mark,
            is_muted=self._is_muted,
        )
        return verdict, changes

    def _is_settling(self, verdict: Verdict) -> bool:
        is_first = verdict.number in self.model.settling and self._alerting.alert is None
        return is_first and verdict.p_value > CERTAIN

    def _is_muted(self, time: int) -> bool:
        """Return whether a row lies in maintenance; False if that cannot be found out."""
        try:
            since = time - self.watch.step + 1  # the row covers the step before its time
            kinds = ("maintenance",)
            return bool(
                spans_between(self._store, self.watch, since, time, entity=self.entity, kinds=kinds)
            )
        except StoreError as error:  # then an alert is sent: that is the smaller harm
            log.warning("%s %s: maintenance cannot be looked up: %s", *self._who, error)
            return False

    def _causes(self, follower: Follower, number: int, begun: int) -> tuple[Cause, ...] | None:
        """Return the causes of a row; None if that fails, so that the alert is sent without."""
        try:
            return self._recent.causes(follower, number, begun)
        except Exception:
            log.exception("%s %s: row %d cannot be explained", *self._who, number)
            return None

    @property
    def _window(self) -> int:
        """Rows per window of the current model; 1 before the first model."""
        return 1 if self.model.follower is None else self.model.follower.window

    def _churn(self, row: Row) -> tuple[int, int]:
        """Return how many variables appeared and vanished since the previous row."""
        appeared = vanished = 0
        if self.names and row.names != self.names:
            before, now = set(self.names), set(row.names)
            appeared, vanished = len(now - before), len(before - now)
        self.names = row.names
        self._appeared += appeared
        self._vanished += vanished
        return appeared, vanished

    def _tell(self, batch: _Batch) -> None:
        """Publish and log the committed changes of alerts."""
        for verdict in batch.verdicts:
            self._latest = verdict or self._latest
        for change in batch.changes:
            if change.kind != "go on":
                self._changes.append(change.alert)
                log.info("%s %s: alert %s: %s", *self._who, change.alert.id, change.kind)

    def _announce(self) -> None:
        """Log each new normal once, when its variable has been unusual for long enough."""
        before = {(one.variable, one.row) for one in self._new_normals}
        self._new_normals = self.model.new_normals()
        for one in self._new_normals:
            if (one.variable, one.row) not in before:
                since = None if one.since is None else np.datetime64(one.since, "ms")
                log.info("%s %s: %s", *self._who, visible(str(replace(one, since=since))))

    # ------------------------------------------------------------------ between rows

    def look_after_model(self, *, may_refit: bool = True) -> None:
        """Fit the first model, start a refit or switch to a refitted model, whichever is due.

        No refit is started unless it ``may_refit``.
        """
        if self.is_waiting:
            return
        if self.model.wants_fit:
            self.model.fit("the first rows are there")
        elif (
            not self.model.look_beside()
            and may_refit
            and (reason := self.model.refit_reason()) is not None
        ):
            self.model.begin_refit(reason)
        self.model.testing.look()

    def accept(self, alert_id: str) -> None:
        """Treat the rows of an alert, up to now if it is open, as normal from now on."""
        self.flush()
        stored = self._store.alert(alert_id)
        if stored is None or (stored.record.watch, stored.record.entity) != self._who:
            raise UnknownError(f"there is no alert {alert_id!r} in {self._who}; look at the list")
        self.model.accept(stored.record)

    def answer(self, variable: str, who: str, *, is_normal: bool) -> None:
        """Take a user's answer to the question whether a variable's new normal is one."""
        self.flush()
        self.model.answer(variable, who, is_normal=is_normal)
        self._new_normals = self.model.new_normals()

    def refit(self, reason: str) -> None:
        """Start fitting a new model in a background process."""
        self.flush()
        self.model.refit(reason)

    def usual_band(self, variable: str, times: NDArray[np.int64]) -> Band | None:
        """Return the ends of a variable's usual values, as the current model knows them.

        None if it does not, or if there is no model yet. Any thread may call this.
        """
        follower = self.model.follower
        return None if follower is None else follower.usual_band(variable, times)

    def status(self, now: int) -> LaneStatus:
        """Return the lane's status; any thread may call this."""
        model, last = self.model, self.journal.last_time
        judged = "following" if model.follower is not None else "collecting"
        return LaneStatus(
            watch=self.watch.name,
            entity=self.entity,
            phase="fitting" if model.is_fitting else judged,
            rows=self.journal.n_rows,
            rows_needed=model.rows_needed,
            time_left=time_left(self.watch, self.journal.n_rows, model.rows_needed),
            series=len(self.names),
            last_time=last,
            lag=0 if last is None else max(now - last, 0),
            appeared=self._appeared,
            vanished=self._vanished,
            refused=self.refused,
            set_aside=self.set_aside,
            window=model.follower.window if model.follower is not None else 0,
            fitted_at=model.fitted_at,
            is_refitting=model.is_refitting,
            latest=self._latest,
            alert=self._alerting.alert,
            self_test=model.testing.result,
            loudest=self._recent.loudest,
            new_normals=self._new_normals,
            problems=(*self.problems.values(), *model.problems.values()),
        )

    # ------------------------------------------------------------------ saving

    def checkpoint(self) -> None:
        """Write a checkpoint of the stream, unless rows are waiting to be committed."""
        if not self.is_waiting:
            self._judging_seconds = 0.0
            self.model.checkpoint()

    def retire(self) -> None:
        """Stop a lane that gets no more rows; close its open alert."""
        self.flush()
        alert = self._alerting.alert
        if alert is not None:
            closed = Change(kind="close", alert=replace(alert, is_open=False))
            self._pending = _Batch((), (), [closed])
            self._alerting = Alerting(*self._who)
            self.flush()
        self.stop()

    def stop(self) -> None:
        """Commit waiting rows and write a checkpoint; a running refit starts again next time."""
        self.model.stop()
        try:
            self.flush()
        except SmkcError as error:
            log.error("%s %s: rows are lost from memory: %s", self.watch.name, self.entity, error)
            return
        self.checkpoint()
