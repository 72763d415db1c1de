"""Follower: a fitted detector going along a lane's rows, from one row to the next.

In: a model, the number of the row that comes after its reference, and rows. Out: what is said of
each row, and who made it so. Nothing is read or written in here.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path

import numpy as np

from smkc.base import BaseDetector
from smkc.decide import Cause
from smkc.detector import Detector
from smkc.errors import SettingError
from smkc.evidence.now import LoudVariable
from smkc.recording import Recording
from smkc.serve.rows import Row

__all__ = ["Follower", "Judgement", "recording_of"]

MILLISECOND = 1_000_000  # nanoseconds


@dataclass(frozen=True, kw_only=True)
class Judgement:
    """What is said of a row.

    Its score and p-value, what it is to an alert, and the nats of each evidence that had something
    to say.
    """

    score: float
    p_value: float
    mark: int
    evidences: Mapping[str, float]


class Follower:
    """A model's way along a lane.

    Parameters
    ----------
    detector
        fitted; its kind is ``evidence``.
    base
        number of the lane's row that is the stream's first: the one after the reference's last.
    resume
        a file that :meth:`save` wrote for the same model; None to begin at ``base``.
    """

    def __init__(self, detector: BaseDetector, base: int, resume: Path | None = None) -> None:
        if not isinstance(detector, Detector):
            raise SettingError(
                f"a watch cannot follow with detector={detector.kind!r}; leave the setting "
                "out: evidence is the detector that follows what is normal"
            )
        self._stream = detector.stream(resume)
        self._block = self._stream.block
        self.base = base

    @property
    def window(self) -> int:
        """Rows a window."""
        return self._stream.window

    @property
    def next_row(self) -> int:
        """Number of the row that comes next."""
        return self.base + self._stream.n_rows

    @property
    def oldest(self) -> int:
        """Number of the oldest row that is remembered: causes and accepting go back to there."""
        return max(self.base, self.next_row - self._stream.memory)

    def push(self, row: Row) -> Judgement:
        """Judge the next row."""
        scored = self._stream.push_rows(recording_of([row]))
        nats = zip(scored.evidences, scored.nats[0].tolist(), strict=True)
        return Judgement(
            score=float(scored.totals[0]),
            p_value=float(scored.p_values[0]),
            mark=int(scored.marks[0]),
            evidences={name: said for name, said in nats if not np.isnan(said)},
        )

    def replay(self, rows: Recording) -> None:
        """Take rows again that were judged before; many at once are quicker.

        Those of the block that is not over yet go one by one, as they came: what is accepted among
        them later must find the very same numbers.
        """
        n_over = (self._stream.n_rows + len(rows)) // self._block * self._block
        n_at_once = max(n_over - self._stream.n_rows, 0)
        if n_at_once:
            self._stream.push_rows(rows.rows(0, n_at_once))
        for number in range(n_at_once, len(rows)):
            self._stream.push_rows(rows.rows(number, number + 1))

    def accept(self, first: int, last: int) -> bool:
        """Say that rows first to last, by number, were normal; tell whether any was remembered."""
        first, end = max(first, self.oldest), min(last + 1, self.next_row)
        if first >= end:
            return False
        self._stream.accept(first - self.base, end - self.base)
        return True

    def made_by(self, number: int) -> tuple[int, int]:
        """Return the first and the last row that made a row's score, as far as is remembered."""
        return max(self.oldest, number - 2 * self.window + 2), number

    def causes(self, first: int, last: int, rows: Recording) -> tuple[Cause, ...]:
        """Return the causes of rows first to last, by number, most guilty first.

        Parameters
        ----------
        first, last
            both remembered.
        rows
            these, and those of a window before, or as many of them as there are: the words about
            the causes speak of them.
        """
        return tuple(self._stream.causes(first - self.base, last + 1 - self.base, rows))

    def loudest(self, row: Row, n: int) -> tuple[LoudVariable, ...]:
        """Return the variables of the latest row that are most unusual by themselves."""
        return self._stream.loudest(recording_of([row]), n)

    def save(self, path: Path) -> None:
        """Write where the stream stands, packed."""
        self._stream.save(path, is_packed=True)


def recording_of(rows: Sequence[Row]) -> Recording:
    """Return rows as a recording, their times as dates.

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
