"""Runs: how long each column repeats one value, and how surprising a longer repetition is.

In: run lengths of reference rows. Out: the surprise of other run lengths in nats, per column.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

__all__ = ["Runs"]

# A column can be seen to stand still if at least this share of its observations have a value of
# their own: counts and rates of a few events repeat themselves when there is little to do.
DISTINCT_SHARE = 0.5

# Columns observed less often in the reference are not asked.
MIN_OBSERVATIONS = 24

MAX_NATS = 40.0


@dataclass(frozen=True, kw_only=True, eq=False)
class Runs:
    """The runs of C columns.

    Parameters
    ----------
    longest
        (C,) observations of the longest run in the reference; infinite for columns not asked.
    nats_at_longest
        (C,) surprise of a run that is as long: one row of all.
    nats_per_row
        (C,) what each further observation adds: minus the logarithm of how often a value that was
        repeated is repeated again.

    Examples
    --------
    >>> values = np.arange(1000.0, dtype=np.float32)[:, None]
    >>> runs = Runs.fit(np.ones((1000, 1), np.float32), values)
    >>> [round(float(nats), 1) for nats in runs.nats(np.float32([[1.0], [2.0], [20.0]]))[:, 0]]
    [0.0, 7.6, 20.1]
    """

    longest: NDArray[np.float64]
    nats_at_longest: NDArray[np.float64]
    nats_per_row: NDArray[np.float64]

    @classmethod
    def fit(cls, lengths: NDArray[np.float32], values: NDArray[np.float32]) -> "Runs":
        """Learn from (n, C) run lengths and values of reference rows, NaN where not observed."""
        n_seen = (~np.isnan(lengths)).sum(axis=0)
        n_second, n_third = ((lengths == length).sum(axis=0) for length in (2, 3))
        n_distinct = np.array([len(np.unique(column[~np.isnan(column)])) for column in values.T])
        # A variable of which one side counts as usual has half of its values distinct, and that.
        is_varied = n_distinct > DISTINCT_SHARE * n_seen + 1
        is_asked = (n_seen >= MIN_OBSERVATIONS) & is_varied
        longest = np.nan_to_num(lengths, nan=0.0).max(axis=0, initial=0.0).astype(np.float64)
        again = (n_third + 1.0) / (n_second + 2.0)
        return cls(
            longest=np.where(is_asked, longest, np.inf),
            nats_at_longest=np.log(np.maximum(n_seen, 1.0)),
            nats_per_row=-np.log(again),
        )

    def nats(self, lengths: NDArray[np.float32]) -> NDArray[np.float32]:
        """(n, C) surprises of (n, C) run lengths; 0 up to the longest of the reference."""
        with np.errstate(invalid="ignore"):
            beyond = lengths - self.longest
            nats = self.nats_at_longest + beyond * self.nats_per_row
            found = np.where(beyond > 0, np.minimum(nats, MAX_NATS), 0.0)
        return found.astype(np.float32)
