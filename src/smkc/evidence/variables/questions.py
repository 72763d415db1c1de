"""The questions asked of a single variable, and their statistics.

In: consecutive rows of scaled values (n, C), NaN where a variable was not observed. Out: one
statistic for each question, row and column, NaN where there is too little to tell.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from smkc.evidence.variables._loops import (
    mean_squared_changes,
    run_lengths,
    trailing_statistics,
)

__all__ = ["PAST_ROWS", "QUESTIONS", "Question", "Recent", "Statistics"]

# Rows of the short and the long level, and of the mean that a step is measured from.
SHORT_ROWS, LONG_ROWS, BEFORE_ROWS = 4, 16, 32
RELATION_ROWS = 8

# A row's statistics depend on that row and so many rows before it.
PAST_ROWS = SHORT_ROWS + BEFORE_ROWS


@dataclass(frozen=True, kw_only=True, eq=False)
class Recent:
    """The next n rows of C columns and the rows before them, for statistics to look at.

    Parameters
    ----------
    values
        (``PAST_ROWS`` + n, C) scaled values, NaN where not observed.
    residuals
        (``RELATION_ROWS`` + n, C) what the other variables leave unexplained of each value.
    run_lengths
        (n, C) how many observations up to each had the same value.
    """

    values: NDArray[np.float32]
    residuals: NDArray[np.float32]
    run_lengths: NDArray[np.float32]

    @cached_property
    def trailing(self) -> NDArray[np.float32]:
        """(5, n, C) value, short mean, long mean, jump and step, from one pass."""
        out = np.full((5, *self.run_lengths.shape), np.nan, np.float32)
        trailing_statistics(self.values, SHORT_ROWS, LONG_ROWS, BEFORE_ROWS, out)
        return out


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
    statistic
        (n, C) from the recent rows, NaN where there is too little to tell; float32, and of each row
        the same however many rows are handed over at once.
    is_one_sided
        whether only large statistics are unusual.
    is_asked_of_newcomers
        whether variables that the reference does not know are asked as well.
    """

    name: str
    kind: str
    rows: int
    is_lasting: bool
    statistic: Callable[[Recent], NDArray[np.float32]]
    is_one_sided: bool = False
    is_asked_of_newcomers: bool = True

    @property
    def rows_of_level(self) -> int:
        """Rows of the level that it asks for; 1 if it asks of one row alone, 0 for what else."""
        return self.rows if self.rows == 1 or self.kind == "level" else 0


def _relation(recent: Recent) -> NDArray[np.float32]:
    out = np.full(recent.run_lengths.shape, np.nan, np.float32)
    mean_squared_changes(recent.residuals, RELATION_ROWS, out)
    return out


QUESTIONS = (
    Question(
        name="level", kind="level", rows=1, is_lasting=True,
        statistic=lambda recent: recent.trailing[0],
    ),
    Question(
        name="short level", kind="level", rows=SHORT_ROWS, is_lasting=True,
        statistic=lambda recent: recent.trailing[1],
    ),
    Question(
        name="long level", kind="level", rows=LONG_ROWS, is_lasting=True,
        statistic=lambda recent: recent.trailing[2],
    ),
    Question(
        name="jump of one", kind="jump", rows=1, is_lasting=False,
        statistic=lambda recent: recent.trailing[3],
    ),
    Question(
        name="step", kind="level", rows=SHORT_ROWS, is_lasting=False,
        statistic=lambda recent: recent.trailing[4],
    ),
    Question(
        name="frozen", kind="frozen", rows=1, is_lasting=True,
        statistic=lambda recent: recent.run_lengths,
        is_one_sided=True, is_asked_of_newcomers=False,
    ),
    Question(
        name="relation of one", kind="relation", rows=RELATION_ROWS, is_lasting=True,
        statistic=_relation, is_one_sided=True, is_asked_of_newcomers=False,
    ),
)  # fmt: skip
"""Every question that is asked of every variable; another one is another entry here."""

LEVEL, JUMP, FROZEN, RELATION = (
    [question.name for question in QUESTIONS].index(name)
    for name in ("level", "jump of one", "frozen", "relation of one")
)


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
        lengths = np.full((n, n_columns), np.nan, np.float32)
        run_lengths(values, self.last_values, self.run_lengths, lengths)
        wide = np.full((n, n_columns), np.nan, np.float32)
        if residuals is not None:
            wide[:, : residuals.shape[1]] = residuals
        recent = Recent(
            values=np.concatenate([self.past, values]),
            residuals=np.concatenate([self.past_residuals, wide]),
            run_lengths=lengths,
        )
        self.past, self.past_residuals = recent.values[n:], recent.residuals[n:]
        return np.stack([question.statistic(recent) for question in QUESTIONS])

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
