"""Lane: one recording that is followed; a row is judged, journalled and alerted on in one piece.

In: rows in order of time. Out: verdicts, alerts and messages, committed together with the rows they
rest on. Everything follows from the rows and events in the journal: a lane that is built anew from
them says the same, and says nothing twice. A lane belongs to one thread.
"""

import logging
import time
from collections.abc import Sequence
from dataclasses import dataclass, replace

from smkc.decide import Cause
from smkc.errors import SmkcError
from smkc.serve.config import Config, WatchConfig
from smkc.serve.lane.alerting import Alerting, Change, alert_rate, anomaly_of, calm_rows
from smkc.serve.lane.files import ROWS_SET_ASIDE, LaneFiles
from smkc.serve.lane.follower import Follower
from smkc.serve.lane.learning import time_left
from smkc.serve.lane.model import LaneModel
from smkc.serve.lane.recent import Recent, causes_at
from smkc.serve.lane.suspects import MAX_ATTEMPTS, Suspects
from smkc.serve.live import LiveUpdates
from smkc.serve.messages import messages_for
from smkc.serve.rows import AlertRecord, Row, Verdict
from smkc.serve.store import LaneStore, Message, Store, StoreError
from smkc.serve.view import IN_HEALTH, Explained, LaneStatus, UnknownError

__all__ = ["CHECKPOINT_ROWS", "Lane"]

log = logging.getLogger("smkc.serve.lane.lane")

# A checkpoint holds the whole state of a stream, 14 kB a variable. It only spares a lane that was
# killed to judge the rows since then again, which takes a third of the time that they took when
# they came: so one is written every so many rows, or once judging them took so many seconds, and
# then at least so many rows after the one before.
CHECKPOINT_ROWS = 2048
JUDGING_SECONDS = 60.0
FEWEST_CHECKPOINT_ROWS = 256

# A row that was set aside counts as a problem for so many milliseconds of rows.
SET_ASIDE_TOLD_FOR = 86_400_000


@dataclass(frozen=True, kw_only=True)
class _Batch:
    """What is to be committed in one transaction."""

    rows: Sequence[Row]
    verdicts: Sequence[Verdict | None]
    changes: Sequence[Change]
    inbox_up_to: int | None


class Lane:
    """One recording that is followed.

    Parameters
    ----------
    store, journal
        the history, and the part that is this lane's.
    watch, config
        the lane's settings, and those of the service: who hears of alerts.
    files
        models and checkpoints.
    live
        told of verdicts and alerts once they are committed.
    checkpoint_rows
        rows from one checkpoint to the next.
    suspects
        rows that made this lane fail before; shared by the lanes that are built one after another.

    Attributes
    ----------
    model
        what rows are judged by.
    names
        of the latest row.
    problems
        sentences by what they are about, beside those of the model.
    refused
        count of variables that rows had no place for.
    set_aside
        count of rows that could not be kept or judged.
    """

    def __init__(
        self,
        store: Store,
        journal: LaneStore,
        watch: WatchConfig,
        config: Config,
        files: LaneFiles,
        live: LiveUpdates,
        checkpoint_rows: int = CHECKPOINT_ROWS,
        suspects: Suspects | None = None,
    ) -> None:
        self._files, self._suspects = files, suspects or Suspects()
        self.set_aside = 0
        self._told_until_row = 0
        self.watch, self.journal, self.entity = watch, journal, journal.entity
        self._who = watch.name, self.entity
        self._store, self._config, self._live = store, config, live
        self._checkpoint_rows = checkpoint_rows
        self._pending: _Batch | None = None
        self._appeared = self._vanished = self.refused = 0
        self.problems: dict[str, str] = {}
        self.model = LaneModel(store, journal, watch, files)
        self._judging_seconds = 0.0
        self._recent = Recent.of(journal, self._window)
        self.names = self._recent.names
        self._latest = journal.last_verdict()
        self._alerting = Alerting(watch.name, self.entity, journal.open_alert())

    # ------------------------------------------------------------------ rows

    def take(self, rows: Sequence[Row], inbox_up_to: int | None = None) -> None:
        """Judge the next rows and commit them; those not after the latest are left out.

        When the store fails the rows wait in memory: :meth:`flush` tries again. A row that the
        store can never keep, or that made the lane fail several times, is set aside.

        Parameters
        ----------
        rows
            in order of time.
        inbox_up_to
            bodies of the watch's inbox up to this number are in these rows, or in earlier ones.
        """
        self.flush()
        last = self.journal.last_time
        fresh = [row for row in rows if last is None or row.time > last]
        fresh = [row for row in fresh if not self._is_set_aside(row)]
        if any(self._suspects.is_suspect(self.entity, row.time) for row in fresh):
            for row in fresh:  # one by one, to find which of them is to blame
                self._take([row], None)
            fresh = []
        if fresh or inbox_up_to is not None:
            self._take(fresh, inbox_up_to)

    def _take(self, fresh: Sequence[Row], inbox_up_to: int | None) -> None:
        """Judge rows and commit them; remember which they were if that fails unexpectedly."""
        try:
            self._judge(fresh, inbox_up_to)
        except (StoreError, OSError, MemoryError):  # not the rows are to blame
            raise
        except Exception:
            self._suspects.note(self.entity, [row.time for row in fresh])
            raise
        for row in fresh:
            self._suspects.clear(self.entity, row.time)

    def _judge(self, fresh: Sequence[Row], inbox_up_to: int | None) -> None:
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
        self._pending = _Batch(
            rows=fresh, verdicts=verdicts, changes=changes, inbox_up_to=inbox_up_to
        )
        self.flush()

    def flush(self) -> None:
        """Commit what waits, if anything does."""
        batch = self._pending
        if batch is None:
            return
        alerts: dict[str, AlertRecord] = {change.alert.id: change.alert for change in batch.changes}
        messages: list[Message] = []
        for change in batch.changes:
            if change.kind != "go on":
                messages += messages_for(change.alert, change.kind, self._config)
        self.journal.commit(
            batch.rows,
            batch.verdicts,
            list(alerts.values()),
            messages,
            inbox_up_to=batch.inbox_up_to,
        )
        self._pending = None
        self._tell(batch)
        if self.journal.n_rows >= self._told_until_row:
            self.problems.pop("set aside", None)
        n_rows = self.journal.n_rows - self.model.saved_row
        takes_long = self._judging_seconds >= JUDGING_SECONDS
        if n_rows >= (FEWEST_CHECKPOINT_ROWS if takes_long else self._checkpoint_rows):
            self.checkpoint()

    def _is_set_aside(self, row: Row) -> bool:
        """Set a row aside that cannot be kept or judged; tell whether it was."""
        reason = self.journal.refusal_of(row)
        if not reason and self._suspects.is_guilty(self.entity, row.time):
            reason = f"at {row.time} ms failed {MAX_ATTEMPTS} times; the log says how"
        if not reason:
            return False
        self._suspects.clear(self.entity, row.time)
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
        """Count variables that the next rows had no place for."""
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
        """Whether rows wait that could not be committed."""
        return self._pending is not None

    def _judged(self, number: int, row: Row) -> tuple[Verdict | None, list[Change]]:
        appeared, vanished = self._churn(row)
        follower = self.model.follower
        if follower is None:
            self._recent.take(number, row, None)
            return None, []
        judged = follower.push(row)
        rate = alert_rate(self.watch.false_alarms_per_day, self.watch.step)
        verdict = Verdict(
            number=number,
            time=row.time,
            score=judged.score,
            p_value=judged.p_value,
            anomaly=anomaly_of(judged.p_value, rate),
            cardinality=len(row.names),
            appeared=appeared,
            vanished=vanished,
            evidences=judged.evidences,
        )
        self._recent.take(number, row, verdict)
        changes = self._alerting.take(
            verdict,
            rate,
            calm_rows(self.watch.step),
            lambda at: self._causes(follower, at),
            mark=judged.mark,
        )
        return verdict, changes

    def _causes(self, follower: Follower, number: int) -> tuple[Cause, ...] | None:
        """Return the causes of a row; an alert is told without them rather than not at all."""
        try:
            return self._recent.causes(follower, number)
        except Exception:
            log.exception("%s %s: row %d cannot be explained", *self._who, number)
            return None

    @property
    def _window(self) -> int:
        """Rows a window of the model in use; before the first, one."""
        return 1 if self.model.follower is None else self.model.follower.window

    def _churn(self, row: Row) -> tuple[int, int]:
        """Count who came and who went since the row before."""
        appeared = vanished = 0
        if self.names and row.names != self.names:
            before, now = set(self.names), set(row.names)
            appeared, vanished = len(now - before), len(before - now)
        self.names = row.names
        self._appeared += appeared
        self._vanished += vanished
        return appeared, vanished

    def _tell(self, batch: _Batch) -> None:
        """Let everybody know what was committed."""
        who = self._who
        for verdict in batch.verdicts:
            if verdict is not None:
                self._latest = verdict
                self._live.tell("row", *who, verdict=verdict)
        for change in batch.changes:
            if change.kind != "go on":
                self._live.tell("alert", *who, alert=change.alert)
                log.info("%s %s: alert %s: %s", *who, change.alert.id, change.kind)

    # ------------------------------------------------------------------ between rows

    def look_after_model(self) -> None:
        """Fit, begin a refit or take a new model over, where it is time to."""
        if self.is_waiting:
            return
        if self.model.wants_fit:
            self._live.tell("status", *self._who)
            self.model.fit("the first rows are there")
            self._live.tell("status", *self._who)
        elif self.model.look_beside():
            self._live.tell("status", *self._who)
        elif reason := self.model.refit_reason():
            self.model.begin_refit(reason)
        if self.model.testing.look():
            self._live.tell("status", *self._who)

    def accept(self, alert_id: str) -> None:
        """Count the rows of an alert, as far as it has come, as normal from now on."""
        self.flush()
        stored = self._store.alert(alert_id)
        if stored is None or (stored.record.watch, stored.record.entity) != self._who:
            raise UnknownError(f"there is no alert {alert_id!r} in {self._who}; look at the list")
        self.model.accept(stored.record)

    def refit(self, reason: str) -> None:
        """Begin to fit a new model beside."""
        self.flush()
        self.model.refit(reason)

    def explain(self, time: int) -> Explained:
        """Return the causes at a time: of the row then, or of the alert that covers it."""
        self.flush()
        found = self.journal.verdicts(time, time, 1)
        follower = self.model.follower
        if follower is not None and len(found["number"]):
            number = int(found["number"][0])
            if follower.oldest <= number < follower.next_row:
                return Explained(time=time, causes=causes_at(self.journal, follower, number))
        alerts = self._store.alerts(watch=self.watch.name, entity=self.entity, until=time, limit=1)
        if alerts and alerts[0].record.start <= time <= alerts[0].record.end:
            record = alerts[0].record
            return Explained(time=record.causes_at, causes=record.causes)
        raise UnknownError(
            f"nothing is known of the causes at {time} ms in watch {self.watch.name!r}, entity "
            f"{self.entity!r}: no row that was judged then is remembered, and no alert covers it; "
            "ask for one of the latest rows, or for the time of an alert"
        )

    def status(self, now: int) -> LaneStatus:
        """Say how the lane stands; any thread may ask."""
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
            problems=(*self.problems.values(), *model.problems.values()),
        )

    # ------------------------------------------------------------------ saving

    def checkpoint(self) -> None:
        """Write where the stream stands."""
        if not self.is_waiting:
            self._judging_seconds = 0.0
            self.model.checkpoint()

    def retire(self) -> None:
        """Stop because nothing comes any more; an alert that is open is over."""
        self.flush()
        alert = self._alerting.alert
        if alert is not None:
            closed = Change(kind="close", alert=replace(alert, is_open=False))
            self._pending = _Batch(rows=(), verdicts=(), changes=(closed,), inbox_up_to=None)
            self._alerting = Alerting(*self._who)
            self.flush()
        self.stop()

    def stop(self) -> None:
        """Commit what waits and write a checkpoint; a fit beside is left for the next start."""
        self.model.stop()
        try:
            self.flush()
        except SmkcError as error:
            log.error("%s %s: rows are lost from memory: %s", self.watch.name, self.entity, error)
            return
        self.checkpoint()
