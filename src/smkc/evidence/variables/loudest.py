"""The loudest columns: those with the largest surprise in each row.

In: the surprise of each column for each question, row by row, in nats. Out: the loudest columns of
each row. A column that stays loud has a new normal and is muted until it becomes quiet again; other
columns are not affected.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from smkc.evidence.saving import SavedState
from smkc.evidence.settings import SETTINGS
from smkc.evidence.variables._loops import hear

# Ways in which a row is looked at: its larger surprise by itself, and both of them together. The
# p-value of each is multiplied by this.
N_LOOKS = 2

# Row number that stands for "never".
LONG_AGO = -(1 << 40)

NO_PLACES = np.empty(0, np.int32)

# Arrays of the state with one entry per column.
_OF_COLUMNS = ("n_loud_rows", "is_muted", "loud_row")

# Number of loudest columns kept per row, from which the causes of an alert are chosen.
N_KEPT = 16


@dataclass(frozen=True, kw_only=True, eq=False)
class Heard:
    """The loudest columns of n rows.

    Parameters
    ----------
    surprises
        (n,) surprise of the loudest column in nats, corrected for the number of columns and
        questions: minus the logarithm of a p-value. Not negative.
    marks
        (n,) the :class:`~smkc.decide.Mark` of each row. News: one of the loudest columns is below
        ``loud_rate`` by itself, and in the last ``calm_rows`` rows no column of the same place was,
        nor did another place begin to be; or many variables fall silent at once. Echo: nearly all
        of the loudest columns are loud only in their mean over several rows, while the row itself
        is usual for them.
    columns, questions, nats
        (n, K) the loudest columns, the question for which each is loudest, and its surprise before
        the correction; -1, -1 and 0 where fewer than K columns have a surprise.
    """

    surprises: NDArray[np.float64]
    marks: NDArray[np.int8]
    columns: NDArray[np.int32]
    questions: NDArray[np.int8]
    nats: NDArray[np.float32]


class Loudest(SavedState):
    """The loudness of each column so far, for finding the loudest and muting lasting ones.

    Parameters
    ----------
    is_lasting
        (Q,) for each question, whether its answer stays unusual for as long as a state lasts.
    n_columns
        C at the beginning; columns may be added.
    places
        the place of each of the first columns. Columns after these cause no news.
    rows
        (Q,) rows that each question about a level averages over; 1 for questions about a single
        row, 0 for others. If empty, no row is marked as an echo.

    Examples
    --------
    >>> loudest = Loudest([True], 3)
    >>> heard = loudest.push(np.array([[[0.0, 9.0, 2.0]]], np.float32))
    >>> heard.columns[0, :2].tolist(), heard.surprises.round(2).tolist()
    ([1, 2], [7.9])
    """

    saved = (*_OF_COLUMNS, "past_row", "news_row", "n_rows")

    def __init__(
        self,
        is_lasting: Sequence[bool],
        n_columns: int,
        places: NDArray[np.int32] = NO_PLACES,
        rows: Sequence[int] = (),
    ) -> None:
        self.is_lasting = np.array(is_lasting, bool)
        self.rows = np.array(rows or [0] * len(is_lasting), np.int64)
        self.n_rows = 0
        # Row 0 is for lasting questions, row 1 for all others.
        self.n_loud_rows = np.zeros((2, n_columns), np.int64)
        self.is_muted = np.zeros((2, n_columns), bool)
        self.loud_row = np.full((2, n_columns), -1, np.int64)
        self.places = places
        self.past_row = np.full(int(places.max(initial=-1)) + 1, LONG_AGO, np.int64)
        self.news_row = np.full(1, LONG_AGO, np.int64)

    def push(
        self,
        nats: NDArray[np.float32],
        asked_nats: NDArray[np.float64] | None = None,
        statistics: NDArray[np.float32] | None = None,
    ) -> Heard:
        """Return the loudest columns of the next n rows.

        Parameters
        ----------
        nats
            (Q, n, C) surprise of each question, row and column.
        asked_nats
            (C,) correction subtracted from the nats of each column: by default log(Q C), the
            logarithm of the number of questions asked; more for a column that has a smaller share
            of the budget.
        statistics
            (Q, n, C) the statistics that the nats were computed from; their signs tell echoes.
        """
        n_questions, n, n_columns = nats.shape
        if asked_nats is None:
            asked_nats = np.full(n_columns, np.log(max(n_questions * n_columns, 1)))
        self._widen(n_columns)
        columns = np.empty((n, N_KEPT), np.int32)
        questions = np.empty((n, N_KEPT), np.int8)
        top = np.empty((n, N_KEPT), np.float32)
        surprises = np.empty((n, N_KEPT))
        marks = np.zeros(n, np.int8)
        hear(
            nats,
            nats if statistics is None else statistics,
            asked_nats,
            self.is_lasting,
            self.rows > 1,
            self.rows == 1,
            -float(np.log(SETTINGS.lasting_rate)),
            SETTINGS.lasting_rows,
            SETTINGS.calm_rows,
            SETTINGS.loud_columns_share,
            SETTINGS.columns_per_shown,
            self.n_rows,
            self.n_loud_rows,
            self.is_muted,
            self.loud_row,
            float(np.log(N_LOOKS / SETTINGS.loud_rate)),
            self.places,
            self.past_row,
            self.news_row,
            marks,
            columns,
            questions,
            top,
            surprises,
        )
        self.n_rows += n
        loudest = np.maximum(surprises[:, 0], 0.0)
        return Heard(surprises=loudest, marks=marks, columns=columns, questions=questions, nats=top)

    def were_loud_since(self, row: int) -> NDArray[np.bool_]:
        """Return (C,) whether each column was below ``lasting_rate`` in this row or later."""
        return np.asarray(self.loud_row.max(axis=0) >= row)

    def mute(self, columns: NDArray[np.integer[Any]]) -> None:
        """Mute columns at once, as if they had been loud for ``lasting_rows`` rows."""
        self.n_loud_rows[:, columns] = SETTINGS.lasting_rows
        self.is_muted[:, columns] = True

    def _widen(self, n_columns: int) -> None:
        more = n_columns - self.is_muted.shape[1]
        if more > 0:
            new = Loudest([], more)
            for key in _OF_COLUMNS:
                joined = np.concatenate([getattr(self, key), getattr(new, key)], axis=-1)
                setattr(self, key, joined)
