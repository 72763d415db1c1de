"""The questions asked of a single variable, and their statistics.

In: consecutive rows of scaled values (n, C), NaN where a variable was not observed. Out: one
statistic for each question, row and column, NaN where too little was observed.
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from smkc.evidence.saving import SavedState
from smkc.evidence.settings import SETTINGS
from smkc.evidence.variables._loops import (
    mean_squared_changes,
    run_lengths,
    trailing_statistics,
)

# Rows of the long level and of the relation.
LONG_ROWS = SETTINGS.slow_windows * SETTINGS.window_rows
RELATION_ROWS = SETTINGS.window_rows

# Number of rows before a row that its statistics depend on.
PAST_ROWS = LONG_ROWS - 1


@dataclass(frozen=True, kw_only=True, eq=False)
class Recent:
    """The next n rows of C columns and the rows before them, as input of the statistics.

    Parameters
    ----------
    values
        (``PAST_ROWS`` + n, C) scaled values, NaN where not observed.
    residuals
        (``RELATION_ROWS`` + n, C) the part of each value that the other variables do not explain.
    run_lengths
        (n, C) number of consecutive observations, up to each, that had the same value.
    """

    values: NDArray[np.float32]
    residuals: NDArray[np.float32]
    run_lengths: NDArray[np.float32]

    @cached_property
    def trailing(self) -> NDArray[np.float32]:
        """(3, n, C) value, long mean and jump, computed in one pass."""
        out = np.full((3, *self.run_lengths.shape), np.nan, np.float32)
        trailing_statistics(self.values, LONG_ROWS, out)
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
        number of rows that the statistic averages over. Exceedances this close together are one
        episode of a tail.
    is_lasting
        whether the statistic stays unusual for as long as an unusual state lasts. A new normal is
        then told from a fault by how long it lasts.
    statistic
        function of the recent rows that returns (n, C) float32, NaN where too little was observed.
        The result for a row must not depend on how many rows are passed at once.
    is_one_sided
        whether only large statistics are unusual.
    is_asked_of_newcomers
        whether the question is also asked of variables that the reference does not know.
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
        """Rows that the question's level averages over; 1 if it is about 1 row, 0 for others."""
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
        name="long level", kind="level", rows=LONG_ROWS, is_lasting=True,
        statistic=lambda recent: recent.trailing[1],
    ),
    Question(
        name="jump of one", kind="jump", rows=1, is_lasting=False,
        statistic=lambda recent: recent.trailing[2],
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
"""The questions asked of every variable. To add a question, add an entry."""

LEVEL, JUMP, FROZEN, RELATION = (
    [question.name for question in QUESTIONS].index(name)
    for name in ("level", "jump of one", "frozen", "relation of one")
)


# Names of the questions that are judged by the tails of their statistics.
TAILED_QUESTIONS = tuple(
    question.name for number, question in enumerate(QUESTIONS) if number != FROZEN
)


# What the statistics remember of a column that was never observed.
EMPTY = {"past": np.nan, "past_residuals": np.nan, "last_values": np.nan, "run_lengths": 0}


class Statistics(SavedState):
    """The statistics of consecutive rows, with the recent rows that they depend on.

    Parameters
    ----------
    n_columns
        C at the beginning; columns may be added.
    """

    saved = tuple(EMPTY)

    def __init__(self, n_columns: int) -> None:
        self.past = np.full((PAST_ROWS, n_columns), np.nan, np.float32)
        self.past_residuals = np.full((RELATION_ROWS, n_columns), np.nan, np.float32)
        self.last_values = np.full(n_columns, np.nan, np.float32)
        self.run_lengths = np.zeros(n_columns, np.float32)

    def push(
        self, values: NDArray[np.float32], residuals: NDArray[np.float32] | None = None
    ) -> NDArray[np.float32]:
        """Return (Q, n, C) statistics of the next n rows.

        ``residuals`` (n, at most C) are the part of each value that the other variables do not
        explain; without them, the statistic of the relation is NaN.
        """
        n, n_columns = values.shape
        self.widen(n_columns, EMPTY)
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
