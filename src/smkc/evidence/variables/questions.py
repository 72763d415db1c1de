"""The questions asked of a single variable, and their statistics.

In: consecutive rows of scaled values (n, C), NaN where a variable was not observed. Out: one
statistic for each question, row and column, NaN where there is too little to tell.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from smkc.evidence.variables._loops import (
    mean_squared_changes,
    run_lengths,
    trailing_statistics,
)

__all__ = ["PAST_ROWS", "QUESTIONS", "Question", "Statistics"]

# Rows of the short and the long level, and of the mean that a step is measured from.
SHORT_ROWS, LONG_ROWS, BEFORE_ROWS = 4, 16, 32
RELATION_ROWS = 8

# A row's statistics depend on that row and so many rows before it.
PAST_ROWS = SHORT_ROWS + BEFORE_ROWS


@dataclass(frozen=True, kw_only=True)
class Question:
    """One question asked of a variable.

    Parameters
    ----------
    name
        as shown in alerts.
    kind
        the kind of cause that it finds.
    rows
        rows that the statistic averages over: values this close together are one observation.
    is_lasting
        whether the answer stays unusual for as long as the state lasts. A change of normal is then
        told from a fault by its length.
    is_one_sided
        whether only large statistics are unusual.
    """

    name: str
    kind: str
    rows: int
    is_lasting: bool
    is_one_sided: bool = False


QUESTIONS = (
    Question(name="level", kind="level", rows=1, is_lasting=True),
    Question(name="short level", kind="level", rows=SHORT_ROWS, is_lasting=True),
    Question(name="long level", kind="level", rows=LONG_ROWS, is_lasting=True),
    Question(name="jump of one", kind="jump", rows=1, is_lasting=False),
    Question(name="step", kind="level", rows=SHORT_ROWS, is_lasting=False),
    Question(name="frozen", kind="frozen", rows=1, is_lasting=True, is_one_sided=True),
    Question(
        name="relation of one", kind="relation", rows=RELATION_ROWS, is_lasting=True,
        is_one_sided=True,
    ),
)  # fmt: skip
LEVEL, JUMP, FROZEN, RELATION = 0, 3, 5, 6


class Statistics:
    """The statistics of a stream of rows; holds the recent past.

    Parameters
    ----------
    n_columns
        C at the beginning; columns may be added.
    """

    def __init__(self, n_columns: int) -> None:
        self.past = np.full((PAST_ROWS, n_columns), np.nan, np.float32)
        self.past_residuals = np.full((RELATION_ROWS, n_columns), np.nan, np.float32)
        self.last_values = np.full(n_columns, np.nan, np.float32)
        self.run_lengths = np.zeros(n_columns, np.float32)

    def push(
        self, values: NDArray[np.float32], residuals: NDArray[np.float32] | None = None
    ) -> NDArray[np.float32]:
        """(Q, n, C) statistics of the next rows.

        ``residuals`` (n, at most C) are what the other variables leave unexplained of each value;
        without them the relation is not asked for.
        """
        n, n_columns = values.shape
        self._widen(n_columns)
        out = np.full((len(QUESTIONS), n, n_columns), np.nan, np.float32)
        covered = np.concatenate([self.past, values])
        trailing_statistics(covered, SHORT_ROWS, LONG_ROWS, BEFORE_ROWS, out[:FROZEN])
        run_lengths(values, self.last_values, self.run_lengths, out[FROZEN])
        if residuals is not None:
            wide = np.full((n, n_columns), np.nan, np.float32)
            wide[:, : residuals.shape[1]] = residuals
            covered_residuals = np.concatenate([self.past_residuals, wide])
            mean_squared_changes(covered_residuals, RELATION_ROWS, out[RELATION])
            self.past_residuals = covered_residuals[n:]
        self.past = covered[n:]
        return out

    def _widen(self, n_columns: int) -> None:
        more = n_columns - self.past.shape[1]
        if more > 0:
            wide = ((0, 0), (0, more))
            self.past = np.pad(self.past, wide, constant_values=np.nan)
            self.past_residuals = np.pad(self.past_residuals, wide, constant_values=np.nan)
            self.last_values = np.pad(self.last_values, (0, more), constant_values=np.nan)
            self.run_lengths = np.pad(self.run_lengths, (0, more))

    def to_arrays(self) -> dict[str, NDArray[Any]]:
        """Return what :meth:`restore` needs to go on exactly."""
        return {key: getattr(self, key) for key in _SAVED}

    def restore(self, arrays: Mapping[str, NDArray[Any]]) -> None:
        """Take over what :meth:`to_arrays` gave."""
        for key in _SAVED:
            setattr(self, key, arrays[key].copy())


_SAVED = ("past", "past_residuals", "last_values", "run_lengths")
