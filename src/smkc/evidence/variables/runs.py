"""Runs: how long each column repeats one value, and how surprising a longer repetition is.

In: run lengths of reference rows. Out: the surprise of other run lengths in nats, per column.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from smkc.evidence.settings import SETTINGS

MAX_NATS = 40.0


@dataclass(frozen=True, kw_only=True, eq=False)
class Runs:
    """The runs of C columns.

    Parameters
    ----------
    longest
        (C,) length of the longest run in the reference, in observations; infinite for columns that
        are not judged.
    nats_at_longest
        (C,) surprise of a run of that length: log(observations), as it was seen once.
    nats_per_row
        (C,) surprise added by each further observation: minus the logarithm of the estimated
        probability that a value that was repeated is repeated again.
    edges
        (2, C) the smallest and the largest value of the reference, NaN where it occurred once only.
        A variable that stays at such an edge is idle or full, not frozen.

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
    edges: NDArray[np.float32]

    @classmethod
    def fit(cls, lengths: NDArray[np.float32], values: NDArray[np.float32]) -> "Runs":
        """Fit to (n, C) run lengths and values of reference rows, NaN where not observed."""
        n_seen = (~np.isnan(lengths)).sum(axis=0)
        n_second, n_third = ((lengths == length).sum(axis=0) for length in (2, 3))
        n_distinct = np.array([len(np.unique(column[~np.isnan(column)])) for column in values.T])
        # Counts and rates of few events repeat values whenever there is little to do.
        # A rule that ignores one direction replaces about half of the values by the usual value:
        # half of the observations are then distinct, plus 1. Such a column is not judged.
        is_varied = n_distinct > SETTINGS.majority * n_seen + 1
        is_asked = (n_seen >= SETTINGS.min_observations) & is_varied
        longest = np.nan_to_num(lengths, nan=0.0).max(axis=0, initial=0.0).astype(np.float64)
        again = (n_third + 1.0) / (n_second + 2.0)
        return cls(
            longest=np.where(is_asked, longest, np.inf),
            nats_at_longest=np.log(np.maximum(n_seen, 1.0)),
            nats_per_row=-np.log(again),
            edges=np.stack([_repeated(values, least) for least in (np.fmin, np.fmax)]),
        )

    def are_at_edges(self, values: NDArray[np.float32]) -> NDArray[np.bool_]:
        """Return (n, C) whether each of (n, C) values is at an edge of the reference."""
        at_edges: NDArray[np.bool_] = (values == self.edges[0]) | (values == self.edges[1])
        return at_edges

    def nats(self, lengths: NDArray[np.float32]) -> NDArray[np.float32]:
        """Return (n, C) surprises of (n, C) run lengths; 0 up to the longest of the reference."""
        with np.errstate(invalid="ignore"):
            beyond = lengths - self.longest
            nats = self.nats_at_longest + beyond * self.nats_per_row
            found = np.where(beyond > 0, np.minimum(nats, MAX_NATS), 0.0)
        return found.astype(np.float32)


def _repeated(values: NDArray[np.float32], extreme: np.ufunc) -> NDArray[np.float32]:
    """Return (C,) an extreme value of each column of (n, C) values; NaN if it occurred once."""
    edge = extreme.reduce(values, axis=0, initial=np.nan)
    is_repeated = (values == edge).sum(axis=0) > 1
    return np.where(is_repeated, edge, np.nan).astype(np.float32)
