"""Lasting: columns that stay loud have a new normal, from which they are then judged.

In: the surprise of each question, row and column, and the values. Out: which columns have a new
normal in each row, and what is usual in it. Other columns are not affected.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from smkc.evidence.saving import SavedState
from smkc.evidence.settings import SETTINGS
from smkc.evidence.variables._loops import follow_lasting

# The state of a column that was never loud.
QUIET = {"n_loud_rows": 0, "has_new_normal": 0, "loud_row": -1, "is_refused": 0, "begun_row": -1}
QUIET |= {"centre": 0, "deviation": 0, "n_averaged": 0}


@dataclass(frozen=True, kw_only=True, eq=False)
class NewNormals:
    """What has become normal in n rows.

    Parameters
    ----------
    is_new
        (2, n, C) whether each column has a new normal: for questions whose answers last as long as
        a state does (0), and for all others (1).
    centre, deviation
        (n, C) mean value and mean absolute deviation since the column became loud, before the row.
    """

    is_new: NDArray[np.bool_]
    centre: NDArray[np.float32]
    deviation: NDArray[np.float32]


class Lasting(SavedState):
    """How long each column has been loud, and its usual values since.

    Parameters
    ----------
    is_lasting
        (Q,) for each question, whether its answer stays unusual for as long as a state lasts.
    n_columns
        C at the beginning; columns may be added.
    """

    saved = (*QUIET, "n_rows")

    def __init__(self, is_lasting: Sequence[bool], n_columns: int) -> None:
        self.is_lasting = np.array(is_lasting, bool)
        self.n_rows = 0
        # Row 0 is for lasting questions, row 1 for all others.
        self.n_loud_rows = np.zeros((2, n_columns), np.int64)
        self.has_new_normal = np.zeros((2, n_columns), bool)
        self.loud_row = np.full((2, n_columns), -1, np.int64)
        self.is_refused = np.zeros(n_columns, bool)
        self.begun_row = np.full(n_columns, -1, np.int64)
        self.centre = np.zeros(n_columns)
        self.deviation = np.zeros(n_columns)
        self.n_averaged = np.zeros(n_columns, np.int64)

    def push(
        self,
        nats: NDArray[np.float32],
        asked_nats: NDArray[np.float64],
        values: NDArray[np.float32],
    ) -> NewNormals:
        """Return what is normal in the next n rows.

        Parameters
        ----------
        nats
            (Q, n, C) surprise of each question, row and column by the reference.
        asked_nats
            (C,) correction subtracted from the nats of each column.
        values
            (n, C) scaled values, NaN where not observed.
        """
        _, n, n_columns = nats.shape
        self.widen(n_columns, QUIET)
        new = NewNormals(
            is_new=np.empty((2, n, n_columns), bool),
            centre=np.empty((n, n_columns), np.float32),
            deviation=np.empty((n, n_columns), np.float32),
        )
        follow_lasting(
            nats,
            values,
            asked_nats,
            self.is_lasting,
            -float(np.log(SETTINGS.lasting_rate)),
            SETTINGS.lasting_rows,
            SETTINGS.calm_rows,
            self.n_rows,
            self.n_loud_rows,
            self.has_new_normal,
            self.loud_row,
            self.is_refused,
            self.begun_row,
            self.centre,
            self.deviation,
            self.n_averaged,
            new.is_new,
            new.centre,
            new.deviation,
        )
        self.n_rows += n
        return new

    def were_loud_since(self, row: int) -> NDArray[np.bool_]:
        """Return (C,) whether each column was below ``lasting_rate`` in this row or later."""
        return np.asarray(self.loud_row.max(axis=0) >= row)

    def accept(self, columns: NDArray[np.integer[Any]]) -> None:
        """Take what columns did since they became loud as normal, as if it had lasted long."""
        self.n_loud_rows[:, columns] = SETTINGS.lasting_rows
        self.has_new_normal[:, columns] = True
        self.is_refused[columns] = False

    def refuse(self, columns: NDArray[np.integer[Any]]) -> None:
        """Judge columns by the reference alone, until they have been quiet for as long as loud."""
        self.has_new_normal[:, columns] = False
        self.is_refused[columns] = True
