"""Follower: a fitted detector that judges a lane's rows one after another, and the latest rows.

In: a model, the number of the row after its reference, and rows as they come, or from the journal.
Out: a verdict on each row, and its causes, computed from the loudest rows behind its score. The
journal determines all of it: after a restart the same rows have the same causes.
"""

import logging
from collections import deque
from collections.abc import Sequence
from dataclasses import replace
from itertools import pairwise
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from smkc.base import BaseDetector
from smkc.decide import Cause, NewNormal
from smkc.detector import Detector
from smkc.evidence.causes.loud import loud_rows, loudness
from smkc.evidence.now import LoudVariable
from smkc.evidence.usual import Band
from smkc.recording import Recording
from smkc.serve.lane.alerting import LEAST_PAUSE
from smkc.serve.rows import Row, Verdict
from smkc.serve.store import LaneStore

log = logging.getLogger("smkc.serve.lane.follower")

MILLISECOND = 1_000_000  # nanoseconds

# Computing a row's causes takes the rows of this many windows. Some more rows are kept because a
# row may be explained a few rows later.
WINDOWS = 3


class Follower:
    """A model with ``window`` rows per window, and its position in a lane.

    ``base`` is the number of the lane's row that is the stream's first: the row after the
    reference's last. ``resume`` is a file that :meth:`save` wrote for the same model; None to begin
    at ``base``.
    """

    def __init__(self, detector: BaseDetector, base: int, resume: Path | None = None) -> None:
        assert isinstance(detector, Detector), "WatchConfig allows no other kind"
        self._fitted = detector.fitted_
        self._stream = detector.stream(resume)
        self._block = self._stream.block
        self.window = self._stream.window
        self.base = base

    @property
    def n_variables(self) -> int:
        """Number of variables that the model has learned."""
        return len(self._fitted.known.names)

    @property
    def next_row(self) -> int:
        """Number of the next row."""
        return self.base + self._stream.n_rows

    @property
    def oldest(self) -> int:
        """Number of the oldest row in memory, the first that can be explained or accepted."""
        return max(self.base, self.next_row - self._stream.memory)

    def push(self, row: Row) -> tuple[Verdict, int]:
        """Judge the next row; return a verdict without anomaly and churn, and the row's mark."""
        number = self.next_row
        scored = self._stream.push_rows(recording_of([row]))
        nats = zip(scored.evidences, scored.nats[0].tolist(), strict=True)
        verdict = Verdict(
            number=number,
            time=row.time,
            score=float(scored.scores[0]),
            p_value=float(scored.p_values[0]),
            cardinality=len(row.names),
            evidences={name: said for name, said in nats if not np.isnan(said)},
        )
        return verdict, int(scored.marks[0])

    def replay(self, rows: Recording) -> None:
        """Process rows again that were judged before, many at once for speed.

        Rows of the last, incomplete block are processed one by one, as when they first came, so
        that accepting some of them later uses exactly the same numbers.
        """
        n_over = (self._stream.n_rows + len(rows)) // self._block * self._block
        n_at_once = max(n_over - self._stream.n_rows, 0)
        if n_at_once:
            self._stream.push_rows(rows.rows(0, n_at_once))
        for number in range(n_at_once, len(rows)):
            self._stream.push_rows(rows.rows(number, number + 1))

    def accept(self, first: int, last: int) -> bool:
        """Mark rows first to last, by number, as normal; return whether any was in memory."""
        first, end = max(first, self.oldest), min(last + 1, self.next_row)
        if first >= end:
            return False
        self._stream.accept(first - self.base, end - self.base)
        return True

    def made_by(self, number: int) -> tuple[int, int]:
        """Return the first and the last row in memory that contributed to a row's score.

        A row with a value beyond a bound of the rules explains itself.
        """
        if self._stream.is_beyond(number - self.base):
            return number, number
        return max(self.oldest, number - 2 * self.window + 2), number

    def causes(self, first: int, last: int, rows: Recording, begun: int) -> tuple[Cause, ...]:
        """Return the causes of rows first to last, both in memory, largest share first.

        ``begun`` is the row in which their trouble began, as far as known. The descriptions of the
        causes refer to ``rows``: these and those of one window before, as far as they exist.
        """
        first, last, begun = (number - self.base for number in (first, last, begun))
        return tuple(self._stream.causes(first, last + 1, rows, begun))

    def new_normals(self) -> tuple[NewNormal, ...]:
        """Return the variables that are judged by a new normal, by the rows in which these began.

        Rows are numbers of the lane.
        """
        return tuple(replace(one, row=one.row + self.base) for one in self._stream.new_normals())

    def refuse(self, variable: str) -> None:
        """Judge a variable by the reference alone, although it has a new normal."""
        self._stream.refuse([variable])

    def loudest(self, row: Row, n: int) -> tuple[LoudVariable, ...]:
        """Return the n variables of the latest row that are most unusual by themselves."""
        return self._stream.loudest(recording_of([row]), n)

    def usual_band(self, variable: str, times: NDArray[np.int64]) -> Band | None:
        """Return (R,) lower and (R,) upper ends of a variable's usual values at (R,) times.

        None for counters and for variables that the model does not know. Any thread may call this.
        """
        if not len(times):
            return None
        return self._fitted.usual_band(variable, (times * MILLISECOND).view("M8[ns]"))

    def save(self, path: Path) -> None:
        """Write the state of the stream to a compressed file."""
        self._stream.save(path, is_packed=True)


class Recent:
    """The latest rows of a lane, for a model with ``window`` rows per window.

    ``loudest`` are the variables of the latest row that are most unusual by themselves; empty
    before the first row is judged.
    """

    def __init__(self, window: int) -> None:
        self.window = window
        self.loudest: tuple[LoudVariable, ...] = ()
        n_rows = WINDOWS * window + max(window, LEAST_PAUSE)
        self._rows: deque[tuple[int, Row]] = deque(maxlen=n_rows)
        self._loud: deque[tuple[int, float]] = deque(maxlen=n_rows)

    @classmethod
    def of(cls, journal: LaneStore, window: int) -> "Recent":
        """Return the latest rows of a journal."""
        recent = cls(window)
        n_rows = recent._rows.maxlen or 0
        first = max(journal.first_kept_row, journal.n_rows - n_rows)
        recent._rows.extend(journal.each_row(first))
        if recent._rows:
            since, until = recent._rows[0][1].time, recent._rows[-1][1].time
            columns = journal.verdicts(since, until, n_rows)
            spoke = [column for name, column in columns.items() if name.startswith("evidence.")]
            for at, number in enumerate(columns["number"].tolist()):
                recent._loud.append((number, loudness(column[at] for column in spoke)))
        return recent

    @property
    def names(self) -> tuple[str, ...]:
        """Variables of the latest row; empty before the first row."""
        return self._rows[-1][1].names if self._rows else ()

    def take(self, number: int, row: Row, verdict: Verdict | None) -> None:
        """Add the next row."""
        self._rows.append((number, row))
        if verdict is not None:
            self._loud.append((number, loudness(verdict.evidences.values())))

    def listen(self, follower: Follower, n: int) -> None:
        """Set ``loudest`` to the n most unusual variables of the latest row, just judged."""
        try:
            self.loudest = follower.loudest(self._rows[-1][1], n) if n else ()
        except Exception:  # this must not stop the judging of rows
            log.exception("the loudest variables cannot be determined")
            self.loudest = ()

    def causes(self, follower: Follower, number: int, begun: int) -> tuple[Cause, ...] | None:
        """Return the causes of a row, largest share first; None if it is no longer in memory.

        ``begun`` is the row in which its trouble began, as far as known.
        """
        if not self._rows or number < max(follower.oldest, self._rows[0][0]):
            return None
        first, last = loud_rows(dict(self._loud), *follower.made_by(number))
        rows = (row for at, row in self._rows if first - follower.window < at <= last)
        return follower.causes(first, last, recording_of(list(rows)), begun)


def recording_of(rows: Sequence[Row]) -> Recording:
    """Return rows as a recording with datetime64[ns] times.

    Examples
    --------
    >>> two = [Row(time=t, names=("a",), values=np.ones(1, np.float32)) for t in (1000, 2000)]
    >>> recording_of(two).times.astype(str).tolist()
    ['1970-01-01T00:00:01.000000000', '1970-01-01T00:00:02.000000000']
    """
    times = (np.array([row.time for row in rows], np.int64) * MILLISECOND).view("M8[ns]")
    if len(rows) == 1 and all(one < other for one, other in pairwise(rows[0].names)):
        n = len(rows[0].names)
        return Recording(
            times,
            np.array([0, n], np.int64),
            np.arange(n, dtype=np.int32),
            rows[0].values.astype(np.float32, copy=False),
            rows[0].names,
        )
    code_of: dict[str, int] = {}
    codes = [code_of.setdefault(name, len(code_of)) for row in rows for name in row.names]
    return Recording.from_observations(
        times,
        np.repeat(np.arange(len(rows)), [len(row.names) for row in rows]),
        np.array(codes, np.int64),
        np.concatenate([np.empty(0, np.float32), *(row.values for row in rows)]),
        tuple(code_of),
    )
