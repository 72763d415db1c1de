"""The loudest columns: those with the largest surprise in each row.

In: the surprise of each column for each question, row by row, in nats. Out: the loudest columns of
each row.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from smkc.evidence.saving import SavedState
from smkc.evidence.settings import SETTINGS
from smkc.evidence.variables._loops import find_loudest

# Ways in which a row is looked at: its larger surprise by itself, and both of them together. The
# p-value of each is multiplied by this.
N_LOOKS = 2

# Row number that stands for "never".
LONG_AGO = -(1 << 40)

# The state of a column that was never loud.
NEVER_LOUD = {"column_row": LONG_AGO, "begun_row": LONG_AGO}

NO_PLACES = np.empty(0, np.int32)

# Number of loudest columns kept per row, from which the causes of an alert are chosen.
N_KEPT = 16


@dataclass(frozen=True, kw_only=True, eq=False)
class LoudColumns:
    """The loudest columns of n rows.

    Parameters
    ----------
    surprises
        (n,) surprise of the loudest column in nats, corrected for the number of columns and
        questions: minus the logarithm of a p-value. Not negative.
    marks
        (n,) the :class:`~smkc.decide.Mark` of each row. News: one of the loudest columns is below
        ``loud_rate`` by itself, and in the last ``calm_rows`` rows no column of the same place was,
        nor did another place begin to be; or all of the loudest columns below it are new, while
        older ones have become quiet; or many variables fall silent at once. Echo: most of the
        loudest columns are loud only in their mean over several rows, while the row itself is usual
        for them.
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
    """The loudness of each place so far, for telling what is news.

    Parameters
    ----------
    places
        the place of each of the first columns. Columns after these cause no news.
    rows
        (Q,) rows that each question about a level averages over; 1 for questions about a single
        row, 0 for others. If empty, no row is marked as an echo.

    Examples
    --------
    >>> loud = Loudest().push(np.array([[[0.0, 9.0, 2.0]]], np.float32))
    >>> loud.columns[0, :2].tolist(), loud.surprises.round(2).tolist()
    ([1, 2], [7.9])
    """

    saved = ("past_row", "news_row", "older_row", "n_rows", *NEVER_LOUD)

    def __init__(self, places: NDArray[np.int32] = NO_PLACES, rows: Sequence[int] = ()) -> None:
        self.rows = np.array(rows, np.int64)
        self.n_rows = 0
        self.places = places
        self.past_row = np.full(int(places.max(initial=-1)) + 1, LONG_AGO, np.int64)
        self.news_row = np.full(1, LONG_AGO, np.int64)
        self.older_row = np.full(1, LONG_AGO, np.int64)
        self.column_row = np.empty(0, np.int64)
        self.begun_row = np.empty(0, np.int64)

    def push(
        self,
        nats: NDArray[np.float32],
        asked_nats: NDArray[np.float64] | None = None,
        statistics: NDArray[np.float32] | None = None,
    ) -> LoudColumns:
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
        self.widen(n_columns, NEVER_LOUD)
        if asked_nats is None:
            asked_nats = np.full(n_columns, np.log(max(n_questions * n_columns, 1)))
        rows = self.rows if len(self.rows) else np.zeros(n_questions, np.int64)
        columns = np.empty((n, N_KEPT), np.int32)
        questions = np.empty((n, N_KEPT), np.int8)
        top = np.empty((n, N_KEPT), np.float32)
        surprises = np.empty((n, N_KEPT))
        marks = np.zeros(n, np.int8)
        find_loudest(
            nats,
            nats if statistics is None else statistics,
            asked_nats,
            rows > 1,
            rows == 1,
            SETTINGS.calm_rows,
            SETTINGS.majority,
            SETTINGS.large_share,
            self.n_rows,
            float(np.log(N_LOOKS / SETTINGS.loud_rate)),
            SETTINGS.window_rows,
            self.places,
            self.past_row,
            self.news_row,
            self.column_row,
            self.begun_row,
            self.older_row,
            marks,
            columns,
            questions,
            top,
            surprises,
        )
        self.n_rows += n
        loudest = np.maximum(surprises[:, 0], 0.0)
        return LoudColumns(
            surprises=loudest, marks=marks, columns=columns, questions=questions, nats=top
        )
