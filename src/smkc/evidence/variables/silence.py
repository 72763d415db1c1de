"""Silence: whether a large share of the variables stopped being observed at once.

In: which variables were observed in each row. Out: certain trouble while a large share of those
that are usually there are gone. Variables that are replaced routinely do not count.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from smkc.evidence.variables._loops import fall_silent
from smkc.evidence.variables.loudest import LASTING_ROWS

__all__ = ["Silence", "SilenceState"]

# A variable counts if it was observed in this share of the reference's rows.
RESIDENT_SHARE = 0.9

# Rows without a variable after which it has fallen silent, and for which that is recent.
SILENT_ROWS, RECENT_ROWS = 2, 10

# So large a share of the variables at once is certain trouble, if the reference never showed half
# of it; fewer variables than these are no share.
MIN_SHARE, MIN_VARIABLES = 0.2, 3


@dataclass(frozen=True, kw_only=True, eq=False)
class Silence:
    """Which variables are usually there.

    Parameters
    ----------
    is_resident
        (C,) bool.
    n_certain
        how many must fall silent at once.
    """

    is_resident: NDArray[np.bool_]
    n_certain: int

    @classmethod
    def fit(cls, values: NDArray[np.float32], members: Sequence[bool]) -> "Silence":
        """Learn from the reference's rows (n, C), NaN where not observed."""
        is_seen = ~np.isnan(values)
        is_resident = is_seen.mean(axis=0) >= RESIDENT_SHARE
        is_resident &= ~np.array(members, bool)
        n_residents = int(is_resident.sum())
        usual = cls(is_resident=is_resident, n_certain=n_residents + 1).start()
        usual.push(values)
        share = max(MIN_SHARE, 2.0 * usual.n_most / max(n_residents, 1))
        n_certain = max(int(np.ceil(share * n_residents)), MIN_VARIABLES)
        return cls(is_resident=is_resident, n_certain=n_certain)

    def start(self) -> "SilenceState":
        """Return a state in which every variable is there."""
        return SilenceState(self)


class SilenceState:
    """Who is silent, and who fell silent in the trouble that goes on."""

    def __init__(self, fitted: Silence) -> None:
        self.fitted = fitted
        self.n_silent_rows = np.zeros(len(fitted.is_resident), np.int64)
        self.is_gone = np.zeros(len(fitted.is_resident), bool)
        self.counts = np.zeros(2)  # usually silent at once, and rows that trouble has lasted
        self.n_most = 0

    def push(self, values: NDArray[np.float32]) -> NDArray[np.bool_]:
        """(n,) whether a large share is gone in each of the next rows (n, C)."""
        is_trouble = np.zeros(len(values), bool)
        n_most = fall_silent(
            values,
            self.fitted.is_resident,
            SILENT_ROWS,
            RECENT_ROWS,
            LASTING_ROWS,
            self.fitted.n_certain,
            self.n_silent_rows,
            self.is_gone,
            self.counts,
            is_trouble,
        )
        self.n_most = max(self.n_most, n_most)
        return is_trouble

    @property
    def n_residents(self) -> int:
        """How many variables are usually there."""
        return int(self.fitted.is_resident.sum())

    def to_arrays(self) -> dict[str, NDArray[Any]]:
        """Return what :meth:`restore` needs to go on exactly."""
        return {key: getattr(self, key) for key in _SAVED}

    def restore(self, arrays: Mapping[str, NDArray[Any]]) -> None:
        """Take over what :meth:`to_arrays` gave."""
        for key in _SAVED:
            setattr(self, key, arrays[key].copy())


_SAVED = ("n_silent_rows", "is_gone", "counts")
