"""Nulls: the distributions of evidences' statistics under normal data.

In: statistics of normal rows that the evidences were not fitted on. Out: the surprise of other
statistics in nats, minus the logarithm of their p-value: one scale for all evidences, on which they
can be joined.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from smkc.evidence.settings import SETTINGS
from smkc.evidence.system._loops import root_mean_squares, surprises

IQR_OF_UNIT_NORMAL = 1.349

# Number of quantiles kept as a sample of an evidence's statistics.
KEPT = 400

# Mean surprise of normal rows, used for evidences without a surprise: that of an exponential
# distribution.
USUAL = 1.0


@dataclass(frozen=True, eq=False)
class Nulls:
    """Normal statistics of E evidences.

    Below the tail, p-values are based on ranks. In it they follow a power law in units of the
    normal spread. The few independent rows there do not determine an index, and one index for all
    evidences does better than one for each.

    Parameters
    ----------
    logs
        (E, n) log(1 + excess over the median, in spreads), ascending; infinite beyond ``counts``.
    counts
        (E,) number of statistics of each evidence.
    middle, spread
        (E,) median and robust spread of the statistics.
    start
        (E,) where the tail begins, on the scale of ``logs``.

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
        """Fit to each evidence's normal statistics (E, n), NaN where there is none."""
        ordered = np.sort(samples, axis=1)  # NaN come last
        counts = ordered.shape[1] - np.isnan(ordered).sum(axis=1)
        ordered[counts == 0, 0] = 0.0
        counts = np.maximum(counts, 1)
        tail = 1.0 - SETTINGS.tail_share
        low, middle, high = (_quantiles(ordered, counts, share) for share in (0.25, 0.5, 0.75))
        least = 1e-6 * np.maximum(1.0, np.abs(middle))
        spread = np.maximum((high - low) / IQR_OF_UNIT_NORMAL, least)
        excess = (ordered - middle[:, None]) / spread[:, None]
        logs = np.log1p(np.maximum(excess, 0.0))
        start = _quantiles(logs, counts, tail)
        logs[np.isnan(logs)] = np.inf
        return cls(logs, counts, middle, spread, start)

    def nats(self, statistics: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return (n, E) minus log p-values of (n, E) statistics; NaN where there is none.

        Evidences with too few normal statistics abstain.
        """
        out = np.empty(statistics.shape)
        surprises(
            statistics,
            self.logs,
            self.counts,
            self.middle,
            self.spread,
            self.start,
            -float(np.log(SETTINGS.tail_share)),
            SETTINGS.tail_index,
            out,
        )
        out[:, self.counts < SETTINGS.min_observations] = np.nan
        return out


def most_nats(n_rows: float) -> float:
    """Return the cap for surprises that are based on ``n_rows`` normal rows.

    Beyond it, the tail of a null is a guess, and a single evidence would decide alone.

    Examples
    --------
    >>> round(most_nats(3000), 1)
    12.6
    """
    return float(np.log(SETTINGS.rows_beyond_null * max(n_rows, 1.0)))


def quantile_sample(statistics: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return a sample of the statistics, evenly spread over their ranks, without NaN."""
    ordered = np.sort(statistics[~np.isnan(statistics)])
    places = np.linspace(0, len(ordered) - 1, min(KEPT, len(ordered))).astype(np.int64)
    return ordered[places]


def joined(nats: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return (n,) the root of the mean square of (n, E) surprises, where NaN counts as usual.

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
    """Return (E,) a quantile of the first ``counts`` (E,) values of each ascending row (E, n)."""
    position = share * (counts - 1)
    low = position.astype(np.int64)
    high = np.minimum(low + 1, counts - 1)
    rows = np.arange(len(ordered))
    below, above = ordered[rows, low], ordered[rows, high]
    between: NDArray[np.float64] = below + (position - low) * (above - below)
    return between
