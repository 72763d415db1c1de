"""Tails: how far each column went in reference data, and how likely it is to go farther.

In: statistics of reference rows, one column each. Out: the surprise of other rows' statistics in
nats, per column. Nothing is claimed that the reference cannot know: the surprise beyond the
reference grows more slowly the fewer separate episodes its tail was learned from.
"""

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from smkc.evidence.variables._loops import MAX_INDEX, column_surprises, fit_tails

__all__ = ["TAIL_SHARE", "Tails", "centre_and_spread"]

# The tail on either side is this share of the reference rows.
TAIL_SHARE = 0.05

# Before anything is known of a tail, its mean excess in logarithmic distance (a power law of index
# 4), and the episodes that this counts for. Where many columns have much the same tail, what they
# have in common counts for more, but at most for one episode per so many tails.
ASSUMED_EXCESS, MIN_PRIOR_EPISODES, TAILS_PER_EPISODE = 0.25, 8.0, 8

# Episodes that the decay of any tail is trusted for.
TRUSTED_EPISODES = 4.0

# A spread is the interquartile range of a normal distribution's, or this share of the standard
# deviation if that is larger: rare bursts count.
IQR_OF_UNIT_NORMAL, MIN_DEVIATIONS = 1.349, 0.25

# A value whose logarithmic distance is this near to the reference's farthest has been seen: a job
# that ran once in the reference runs again.
REPEATED = 0.1

# Columns observed less often in the reference are not asked.
MIN_OBSERVATIONS = 24


@dataclass(frozen=True, kw_only=True, eq=False)
class Tails:
    """The tails of C columns.

    Parameters
    ----------
    centre, spread
        (C,) robust centre and spread of the statistic.
    start
        (2, C) where the tails above and below begin, as log(1 + distance in spreads); infinite
        where a side is not asked.
    index
        (2, C) decay of the tail per unit of logarithmic distance.
    weight
        (2, C) episodes that the index rests on.
    nats_at_start
        (C,) surprise where the tail begins.
    most_seen
        (C,) surprise of what happens once in as many rows as the reference has.
    overstated
        (2, C) by how much the tail exceeds that at the reference's farthest value, above and below;
        0 where the tail is trusted all the same.
    farthest
        (2, C) logarithmic distance of that value; infinite where there is none.

    Examples
    --------
    >>> rows = np.random.default_rng(0).normal(size=(1000, 1)).astype(np.float32)
    >>> tails = Tails.fit(rows, gap=1)
    >>> [round(float(nats), 1) for nats in tails.nats(np.float32([[0.0], [3.0], [30.0]]))[:, 0]]
    [0.0, 5.1, 16.1]
    """

    centre: NDArray[np.float64]
    spread: NDArray[np.float64]
    start: NDArray[np.float64]
    index: NDArray[np.float64]
    weight: NDArray[np.float64]
    nats_at_start: NDArray[np.float64]
    most_seen: NDArray[np.float64]
    overstated: NDArray[np.float64]
    farthest: NDArray[np.float64]

    @classmethod
    def fit(
        cls,
        statistics: NDArray[np.float32],
        *,
        gap: int,
        min_spread: NDArray[np.float64] | float = 1e-9,
        is_one_sided: bool = False,
        is_bounded: NDArray[np.bool_] | bool = False,
        assumed_excess: float = ASSUMED_EXCESS,
    ) -> "Tails":
        """Learn from statistics (n, C) of reference rows in order of time, NaN where there is none.

        Parameters
        ----------
        statistics
            of reference rows.
        gap
            exceedances at most so many rows apart are one episode.
        min_spread
            smallest spread, for each column or for all.
        is_one_sided
            whether only large statistics are unusual.
        is_bounded
            of which columns what the reference has seen once is no rarer than that. Of the others
            it may have been a fault that nobody knew of.
        assumed_excess
            mean excess of a tail before anything is known of it, in logarithmic distance.
        """
        n_columns = statistics.shape[1]
        centre, spread = centre_and_spread(statistics)
        spread = np.maximum(spread, min_spread)
        start = np.full((2, n_columns), np.inf)
        excess, episodes = np.zeros((2, n_columns)), np.zeros((2, n_columns))
        fit_tails(statistics, centre, spread, gap, TAIL_SHARE, start, excess, episodes)
        n_observed = (~np.isnan(statistics)).sum(axis=0)
        is_known = n_observed >= MIN_OBSERVATIONS
        start[:, ~is_known] = np.inf
        prior_excess, prior_episodes = _shared_tail(
            excess[:, is_known], episodes[:, is_known], assumed_excess
        )
        mean = (episodes * excess + prior_episodes * prior_excess) / (episodes + prior_episodes)
        # What is assumed tells the decay of a tail, but not how far that can be trusted.
        weight = episodes + prior_episodes - MIN_PRIOR_EPISODES + TRUSTED_EPISODES
        if is_one_sided:
            start[1] = np.inf
        n_sides = 1 if is_one_sided else 2
        tails = cls(
            centre=centre,
            spread=spread,
            start=start,
            index=np.minimum(1.0 / np.maximum(mean, 1e-9), MAX_INDEX),
            weight=weight,
            nats_at_start=np.full(n_columns, -np.log(n_sides * TAIL_SHARE)),
            most_seen=np.log(n_observed + 1.0),
            overstated=np.zeros((2, n_columns)),
            farthest=np.full((2, n_columns), np.inf),
        )
        extremes = np.stack(
            [
                np.fmax.reduce(statistics, axis=0, initial=np.nan),
                np.fmin.reduce(statistics, axis=0, initial=np.nan),
            ]
        )
        overstated = np.maximum(tails.nats(extremes) - tails.most_seen, 0.0)
        reached = np.log1p(np.abs(extremes - centre) / spread)
        return replace(
            tails,
            overstated=np.where(is_bounded, overstated, 0.0),
            farthest=np.where(np.isnan(reached), np.inf, reached),
        )

    def nats(self, statistics: NDArray[np.float32]) -> NDArray[np.float32]:
        """(n, C) surprises of (n, C) statistics; 0 in the bulk and where there is none."""
        out = np.empty(statistics.shape, np.float32)
        column_surprises(
            statistics,
            self.centre,
            self.spread,
            self.start,
            self.index,
            self.weight,
            self.nats_at_start,
            self.most_seen,
            self.overstated,
            self.farthest,
            REPEATED,
            out,
        )
        return out

    def shared(self, n_columns: int) -> "Tails":
        """Return tails for columns that the reference does not know, from those that it knows.

        Most known columns have lighter tails than these.
        """
        known = np.isfinite(self.start[0])
        if not known.any():
            return self._repeated(np.inf, 1.0, MIN_PRIOR_EPISODES, n_columns, 1.0)
        start = float(np.quantile(self.start[0, known], 0.75))
        index = float(np.quantile(self.index[:, known], 0.25))
        spread = float(np.median(self.spread[known]))
        return self._repeated(start, index, MIN_PRIOR_EPISODES, n_columns, spread)

    def _repeated(
        self, start: float, index: float, weight: float, n_columns: int, spread: float
    ) -> "Tails":
        sides = np.ones((2, n_columns))
        is_one_sided = bool(np.isinf(self.start[1]).all())
        both = start * sides
        if is_one_sided:
            both[1] = np.inf
        n_sides = 1 if is_one_sided else 2
        centre = float(np.median(self.centre)) if is_one_sided and len(self.centre) else 0.0
        return Tails(
            centre=np.full(n_columns, centre),
            spread=np.full(n_columns, spread),
            start=both,
            index=index * sides,
            weight=weight * sides,
            nats_at_start=np.full(n_columns, -np.log(n_sides * TAIL_SHARE)),
            most_seen=np.full(n_columns, np.inf),
            overstated=np.zeros((2, n_columns)),
            farthest=np.full((2, n_columns), np.inf),
        )


def centre_and_spread(
    statistics: NDArray[np.float32],
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """(C,) median, and robust spread, of (n, C) statistics; 0 and 0 where there are none."""
    n_columns = statistics.shape[1]
    centre, spread = np.zeros(n_columns), np.zeros(n_columns)
    for j in range(n_columns):
        column = statistics[:, j]
        seen = column[~np.isnan(column)].astype(np.float64)
        if len(seen):
            low, centre[j], high = np.quantile(seen, (0.25, 0.5, 0.75))
            spread[j] = max((high - low) / IQR_OF_UNIT_NORMAL, MIN_DEVIATIONS * float(seen.std()))
    return centre, spread


def _shared_tail(
    excess: NDArray[np.float64], episodes: NDArray[np.float64], assumed: float
) -> tuple[float, float]:
    """Return the mean excess that columns have in common, and how many episodes that is worth.

    The mean of k exponential excesses with mean m has the variance m^2 / k. What varies more than
    that varies from column to column, and the more it does the less a column says of another.
    """
    told = episodes > 0
    k, m = episodes[told], excess[told]
    total = float(k.sum())
    mean = (float((k * m).sum()) + MIN_PRIOR_EPISODES * assumed) / (total + MIN_PRIOR_EPISODES)
    if len(k) < 2:
        return mean, MIN_PRIOR_EPISODES
    between = float((k * ((m - mean) ** 2 - mean**2 / k)).sum()) / total
    most = max(len(k) / TAILS_PER_EPISODE, MIN_PRIOR_EPISODES)
    worth = mean**2 / between if between > 0 else most
    return mean, float(np.clip(worth, MIN_PRIOR_EPISODES, most))
