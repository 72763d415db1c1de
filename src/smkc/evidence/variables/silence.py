"""Silence: whether a large share of the variables, or a single one, stopped being observed.

In: rows of values, NaN where not observed. Out: for each row, whether residents, the variables that
are usually observed, are gone: a large share of them at once, which is certain trouble, or one of
them alone, where none ever was before. Variables that are replaced routinely do not count.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from smkc.evidence.saving import SavedState
from smkc.evidence.settings import SETTINGS
from smkc.evidence.variables._silence_loops import fall_silent

# Rows of silence after which a variable did not fall silent recently, however many more follow.
LONG_SILENT_ROWS = 1 << 40


@dataclass(frozen=True, kw_only=True, eq=False)
class Silence:
    """The residents among the variables, and the limit for certain trouble.

    Parameters
    ----------
    is_resident
        (C,) whether each variable is usually observed, and not replaced routinely.
    n_certain
        number of residents that must fall silent at once.
    nats_of_one
        surprise of a single resident that falls silent: that of an event not seen in the reference;
        0 if it was seen there.
    has_gaps
        whether the reference has rows in which no resident was observed. Such rows, in which
        nothing could be scraped, then say nothing about any variable.
    """

    is_resident: NDArray[np.bool_]
    n_certain: int
    nats_of_one: float = 0.0
    has_gaps: bool = False

    @classmethod
    def fit(cls, values: NDArray[np.float32], members: Sequence[bool]) -> "Silence":
        """Fit to the reference's rows (n, C), NaN where not observed.

        It is certain trouble if at least twice as many residents fall silent at once as ever did in
        the reference, and at least the share and the number of the settings. ``members`` (C,) tells
        which columns are replaced routinely.
        """
        is_seen = ~np.isnan(values)
        is_resident = is_seen.mean(axis=0) >= SETTINGS.nearly_all
        is_resident &= ~np.array(members, bool)
        n_residents = int(is_resident.sum())
        has_gaps = not is_seen[:, is_resident].any(axis=1).all()
        none = cls(is_resident=is_resident, n_certain=n_residents + 1, has_gaps=has_gaps)
        usual = none.start()
        usual.n_silent_rows[:] = LONG_SILENT_ROWS  # what was never observed did not fall silent
        usual.push(values, np.zeros(len(values), bool))
        share = max(SETTINGS.large_share, 2.0 * usual.n_most / max(n_residents, 1))
        n_certain = max(int(np.ceil(share * n_residents)), SETTINGS.min_silent_variables)
        nats_of_one = 0.0 if usual.n_most else float(np.log(len(values) + 1.0))
        return replace(none, n_certain=n_certain, nats_of_one=nats_of_one)

    def start(self) -> "SilenceState":
        """Return a state in which no variable is silent."""
        return SilenceState(self)


class SilenceState(SavedState):
    """The residents that are silent, and those that fell silent in the current trouble."""

    saved = ("n_silent_rows", "is_gone", "counts")

    def __init__(self, fitted: Silence) -> None:
        self.fitted = fitted
        self.n_silent_rows = np.zeros(len(fitted.is_resident), np.int64)
        self.is_gone = np.zeros(len(fitted.is_resident), bool)
        # Average number just fallen silent, rows of the current trouble, latest rows in which at
        # most one was silent, and rows since the latest newcomer.
        self.counts = np.array([0.0, 0.0, SETTINGS.lasting_rows, SETTINGS.lasting_rows])
        self.n_most = 0

    def push(
        self, values: NDArray[np.float32], has_newcomer: NDArray[np.bool_]
    ) -> NDArray[np.int8]:
        """Return (n,) for each of the next rows (n, C): 1 if a large share is gone, 2 if one is.

        ``has_newcomer`` (n,): whether a new variable was observed for the first time in the row.
        """
        trouble = np.zeros(len(values), np.int8)
        n_most = fall_silent(
            values,
            has_newcomer,
            self.fitted.is_resident,
            SETTINGS.silent_rows,
            SETTINGS.calm_rows,
            SETTINGS.lasting_rows,
            self.fitted.n_certain,
            self.fitted.nats_of_one > 0.0,
            self.fitted.has_gaps,
            self.n_silent_rows,
            self.is_gone,
            self.counts,
            trouble,
        )
        self.n_most = max(self.n_most, n_most)
        return trouble

    def began(self, row: int) -> int | None:
        """Return the row in which the trouble of a single resident that is gone began.

        ``row`` is the number of the latest row. None unless exactly one is gone.
        """
        gone = np.flatnonzero(self.is_gone)
        if len(gone) != 1:
            return None
        return row - int(self.n_silent_rows[gone[0]]) + 2 * SETTINGS.calm_rows

    @property
    def n_residents(self) -> int:
        """Number of variables that are usually observed."""
        return int(self.fitted.is_resident.sum())
