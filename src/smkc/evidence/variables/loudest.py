"""Loudest: the columns that surprise most in each row, and which of them have lost their say.

In: surprises of columns and questions, row by row. Out: the loudest of each row. A column that
stays loud has a new normal and is muted until it is quiet again, that column alone.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from smkc.evidence.variables._loops import hear

__all__ = [
    "CALM_ROWS",
    "LASTING_RATE",
    "LASTING_ROWS",
    "LOUD_RATE",
    "N_KEPT",
    "N_WAYS",
    "Heard",
    "Loudest",
]

# Rows whose p-value, corrected for all columns and questions, is below this rate spend the budget
# of false alerts. It is above the default rate, so that near misses count.
LOUD_RATE = 3e-3

# The system and the single variables share the budget of false alerts.
N_WAYS = 2

# A column whose corrected p-value is below LASTING_RATE in LASTING_ROWS rows more than it is not
# has a new normal and is muted: what holds an alert open must end.
LASTING_RATE, LASTING_ROWS = 10.0 * LOUD_RATE, 200

# Quiet rows after which an alert ends.
CALM_ROWS = 20

# The row of what has never been.
LONG_AGO = -(1 << 40)

NO_PLACES = np.empty(0, np.int32)

# Columns remembered for each row: those that an alert names.
N_KEPT = 16


@dataclass(frozen=True, kw_only=True, eq=False)
class Heard:
    """The loudest columns of (n,) rows.

    Parameters
    ----------
    surprises
        (n,) nats of the loudest column, less what is taken off for the number of questions asked of
        all columns: minus the logarithm of a p-value.
    marks
        (n,) what each row is to an alert. News: a column spends the budget while none of its place
        has done so lately, nor has another place just begun to. Echo: nearly all of the
        loudest columns are so only by their mean over several rows; the row itself is usual for
        them.
    columns, questions, nats
        (n, K) the loudest columns, what each was asked, and its nats before that correction; -1, -1
        and 0 where fewer columns have anything to say.
    """

    surprises: NDArray[np.float64]
    marks: NDArray[np.int8]
    columns: NDArray[np.int32]
    questions: NDArray[np.int8]
    nats: NDArray[np.float32]


class Loudest:
    """Which columns were loud so far.

    Parameters
    ----------
    is_lasting
        (Q,) for each question, whether it stays loud while a state lasts.
    n_columns
        C at the beginning; columns may be added.
    places
        of columns, the first; there is no news of others.
    rows
        (Q,) of each question that asks for a level, the rows that it averages over; 1 for those
        that ask of one row alone, 0 for others. Without them no row is an echo.

    Examples
    --------
    >>> loudest = Loudest([True], 3)
    >>> heard = loudest.push(np.array([[[0.0, 9.0, 2.0]]], np.float32))
    >>> heard.columns[0, :2].tolist(), heard.surprises.round(2).tolist()
    ([1, 2], [7.9])
    """

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
        # The first row is of lasting questions, the second of passing ones.
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
        """Take in (Q, n, C) nats of the next rows, and the statistics that they are of.

        ``asked_nats`` (C,) are taken off each column's: the logarithm of how many questions are
        asked, which is the default, or more for a column that has a smaller part of the budget.
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
            -float(np.log(LASTING_RATE)),
            LASTING_ROWS,
            CALM_ROWS,
            self.n_rows,
            self.n_loud_rows,
            self.is_muted,
            self.loud_row,
            float(np.log(N_WAYS / LOUD_RATE)),
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
        """(C,) which columns said anything since a row that could hold an alert open."""
        return np.asarray(self.loud_row.max(axis=0) >= row)

    def mute(self, columns: NDArray[np.integer[Any]]) -> None:
        """Take what some columns say now for normal, as if it had lasted."""
        self.n_loud_rows[:, columns] = LASTING_ROWS
        self.is_muted[:, columns] = True

    def _widen(self, n_columns: int) -> None:
        more = n_columns - self.is_muted.shape[1]
        if more > 0:
            new = Loudest([], more)
            for key in _OF_COLUMNS:
                joined = np.concatenate([getattr(self, key), getattr(new, key)], axis=-1)
                setattr(self, key, joined)

    def to_arrays(self) -> dict[str, NDArray[Any]]:
        """Return what :meth:`restore` needs to go on exactly."""
        return {key: getattr(self, key) for key in _SAVED} | {"n_rows": np.array([self.n_rows])}

    def restore(self, arrays: Mapping[str, NDArray[Any]]) -> None:
        """Take over what :meth:`to_arrays` gave."""
        for key in _SAVED:
            setattr(self, key, arrays[key].copy())
        self.n_rows = int(arrays["n_rows"][0])


_OF_COLUMNS = ("n_loud_rows", "is_muted", "loud_row")
_SAVED = (*_OF_COLUMNS, "past_row", "news_row")
