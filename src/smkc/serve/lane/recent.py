"""Recent rows: a lane's latest rows and the loudness of each, from which causes are computed.

In: rows with their verdicts as they come, or from the journal. Out: the causes of a row, computed
from the loudest rows behind its score. The journal determines all of it: after a restart the same
rows have the same causes.
"""

import logging
from collections import deque

import numpy as np

from smkc.decide import Cause
from smkc.evidence.causes.loud import loud_rows, loudness
from smkc.evidence.now import LoudVariable
from smkc.serve.lane.alerting import LEAST_PAUSE
from smkc.serve.lane.follower import Follower, recording_of
from smkc.serve.rows import Row, Verdict
from smkc.serve.store import LaneStore

log = logging.getLogger("smkc.serve.lane.recent")

# Computing a row's causes takes the rows of this many windows. Some more rows are kept because a
# row may be explained a few rows later.
WINDOWS = 3


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
            times = [row.time for _, row in recent._rows]
            recent._loud.extend(sorted(_loudness_of(journal, times[0], times[-1]).items()))
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

    def causes(self, follower: Follower, number: int) -> tuple[Cause, ...] | None:
        """Return the causes of a row, largest share first; None if it is no longer in memory."""
        if not self._rows or number < max(follower.oldest, self._rows[0][0]):
            return None
        first, last = loud_rows(dict(self._loud), *follower.made_by(number))
        rows = (row for at, row in self._rows if first - follower.window < at <= last)
        return follower.causes(first, last, recording_of(list(rows)))


def causes_at(journal: LaneStore, follower: Follower, number: int) -> tuple[Cause, ...]:
    """Return the causes of a row in the follower's memory, with rows read from the journal."""
    first, last = follower.made_by(number)
    kept = max(journal.first_kept_row, first - follower.window + 1)
    rows = journal.rows(kept, last + 1)
    times = rows.times.astype("datetime64[ms]").astype(np.int64)
    loud = _loudness_of(journal, int(times[first - kept]), int(times[-1]))
    first, last = loud_rows(loud, first, last)
    spoken_of = rows.rows(max(first - follower.window + 1 - kept, 0), last + 1 - kept)
    return follower.causes(first, last, spoken_of)


def _loudness_of(journal: LaneStore, since: int, until: int) -> dict[int, float]:
    """Return row number -> loudness for the verdicts between 2 times in milliseconds."""
    columns = journal.verdicts(since, until, 1_000_000)
    spoke = [column for name, column in columns.items() if name.startswith("evidence.")]
    return {
        int(number): loudness(column[at] for column in spoke)
        for at, number in enumerate(columns["number"])
    }
