"""Nulls: statistics -> surprises in nats, minus the logarithm of p-values, under normal data.

In: statistics of normal rows that were not fitted on. Out: how unusual others are, on one scale for
all evidences, and joined.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from smkc.evidence.reference._loops import root_mean_squares, surprises

__all__ = ["Nulls", "joined", "most_nats", "quantile_sample"]

# Up to this quantile p-values go by rank. Beyond, a power law in units of the normal spread: the
# few independent rows there tell no index of their own, and one for all evidences does better than
# one for each.
TAIL, INDEX = 0.95, 4.0
NATS_AT_TAIL = -float(np.log(1.0 - TAIL))

IQR_OF_UNIT_NORMAL = 1.349
TOP_SPREADS = 3.0  # the 95% quantile is at most so many spreads above the median

# Quantiles that stand for a reference's statistics.
KEPT = 400

# A surprise that is met once in so many times as many rows as normal ones tell of is the largest.
ROWS_BEYOND = 100

# An evidence that spoke of a smaller share of the normal rows has no null, and says nothing.
LEAST_TOLD = 0.25

# A normal row's average surprise: what an evidence counts as that has nothing to say.
USUAL = 1.0


@dataclass(frozen=True, eq=False)
class Nulls:
    """Normal statistics of E evidences.

    Parameters
    ----------
    logs
        (E, n) log(1 + excess over the median, in spreads), ascending; infinite beyond ``counts``.
    counts
        (E,) how many there are.
    middle, spread
        (E,) median and robust spread of the statistics.
    start
        (E,) where the tail begins, as a logarithm.

    Examples
    --------
    >>> nulls = Nulls.of(np.arange(100.0)[None])
    >>> nulls.nats(np.array([[0.0], [90.0], [900.0], [np.nan]])).ravel().round(1)
    array([ 0. ,  2.2, 12.6,  nan])
    """

    logs: NDArray[np.float64]
    counts: NDArray[np.int64]
    middle: NDArray[np.float64]
    spread: NDArray[np.float64]
    start: NDArray[np.float64]

    @classmethod
    def of(cls, samples: NDArray[np.float64]) -> "Nulls":
        """Learn from each evidence's normal statistics (E, n), NaN where there is none."""
        ordered = np.sort(samples, axis=1)  # NaN come last
        counts = ordered.shape[1] - np.isnan(ordered).sum(axis=1)
        ordered[counts == 0, 0] = 0.0
        counts = np.maximum(counts, 1)
        low, middle, high, top = (_quantiles(ordered, counts, s) for s in (0.25, 0.5, 0.75, TAIL))
        spread = np.maximum(
            np.maximum((high - low) / IQR_OF_UNIT_NORMAL, (top - middle) / TOP_SPREADS),
            1e-6 * np.maximum(1.0, np.abs(middle)),
        )
        excess = (ordered - middle[:, None]) / spread[:, None]
        logs = np.log1p(np.maximum(excess, 0.0))
        start = _quantiles(logs, counts, TAIL)
        logs[np.isnan(logs)] = np.inf
        return cls(logs, counts, middle, spread, start)

    def nats(self, statistics: NDArray[np.float64]) -> NDArray[np.float64]:
        """(n, E) minus log p-values of (n, E) statistics; NaN where there is none."""
        out = np.empty(statistics.shape)
        surprises(
            statistics,
            self.logs,
            self.counts,
            self.middle,
            self.spread,
            self.start,
            NATS_AT_TAIL,
            INDEX,
            out,
        )
        out[:, self.counts < LEAST_TOLD * self.logs.shape[1]] = np.nan
        return out


def most_nats(n_rows: float) -> float:
    """Return the largest surprise that so many normal rows can tell of.

    Beyond, the tail of a null is a guess, and one evidence would decide alone.

    Examples
    --------
    >>> round(most_nats(3000), 1)
    12.6
    """
    return float(np.log(ROWS_BEYOND * max(n_rows, 1.0)))


def quantile_sample(statistics: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return some of the statistics, evenly spread over their ranks; NaN ones are left out."""
    ordered = np.sort(statistics[~np.isnan(statistics)])
    places = np.linspace(0, len(ordered) - 1, min(KEPT, len(ordered))).astype(np.int64)
    return ordered[places]


def joined(nats: NDArray[np.float64]) -> NDArray[np.float64]:
    """(n,) root of the mean square of (n, E) surprises; an evidence without any counts as usual.

    Examples
    --------
    >>> joined(np.array([[3.0, 4.0], [2.0, np.nan]])).round(3)
    array([3.536, 1.581])
    """
    out = np.empty(len(nats))
    root_mean_squares(nats, USUAL, out)
    return out


def _quantiles(
    ordered: NDArray[np.float64], counts: NDArray[np.int64], share: float
) -> NDArray[np.float64]:
    """(E,) a quantile of the first ``counts`` (E,) values of each ascending row (E, n)."""
    position = share * (counts - 1)
    low = position.astype(np.int64)
    high = np.minimum(low + 1, counts - 1)
    rows = np.arange(len(ordered))
    below, above = ordered[rows, low], ordered[rows, high]
    between: NDArray[np.float64] = below + (position - low) * (above - below)
    return between
