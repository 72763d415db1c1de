"""Tails: how far each column went in reference data, and how likely it is to go farther.

In: statistics of reference rows, one column per variable. Out: the surprise of other rows'
statistics in nats, per column. Surprises do not exceed what the reference can support: they grow
more slowly the fewer separate episodes a tail was learned from.
"""

from dataclasses import dataclass, fields, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from smkc.evidence.settings import SETTINGS
from smkc.evidence.variables._loops import column_surprises, fit_tails

# A spread is the interquartile range divided by that of the unit normal distribution, or
# MIN_DEVIATIONS standard deviations if that is larger, so that rare bursts count.
IQR_OF_UNIT_NORMAL, MIN_DEVIATIONS = 1.349, 0.25


@dataclass(frozen=True, kw_only=True, eq=False)
class Tails:
    """The tails of C columns.

    Parameters
    ----------
    centre, spread
        (C,) robust centre and spread of the statistic.
    start
        (2, C) where the tails above and below begin, as log(1 + distance in spreads); infinite
        where a side is not judged.
    index
        (2, C) decay of the tail per unit of logarithmic distance.
    weight
        (2, C) number of episodes that the index is based on.
    nats_at_start
        (C,) surprise where the tail begins.
    most_seen
        (C,) surprise of an event that was seen once in the reference: log(1 + observations).
    overstated
        (2, C) excess of the tail's surprise over ``most_seen`` at the farthest reference value,
        above and below; 0 for columns that are not bounded.
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
        pools: NDArray[np.integer[Any]] | int = -1,
        assumed_excess: float | None = None,
    ) -> "Tails":
        """Fit tails to the statistics of reference rows.

        Parameters
        ----------
        statistics
            (n, C) in order of time, NaN where there is none.
        gap
            exceedances at most this many observations apart count as 1 episode.
        min_spread
            lower limit for the spread, for each column or for all.
        is_one_sided
            whether only large statistics are unusual.
        pools
            the pool of each column, or of all; -1 for none. No value of a column is rarer than an
            event seen once in the reference up to the farthest that any column of its pool went, in
            spreads of its own. In columns without a pool the farthest value may have been an
            unnoticed fault, and the tail counts.
        assumed_excess
            prior mean excess of a tail, in logarithmic distance; None for that of the settings.
        """
        n_columns = statistics.shape[1]
        centre, spread = centre_and_spread(statistics)
        spread = np.maximum(spread, min_spread)
        start = np.full((2, n_columns), np.inf)
        excess, episodes = np.zeros((2, n_columns)), np.zeros((2, n_columns))
        share = SETTINGS.tail_share
        fit_tails(statistics, centre, spread, gap, share, start, excess, episodes)
        n_observed = (~np.isnan(statistics)).sum(axis=0)
        is_known = n_observed >= SETTINGS.min_observations
        start[:, ~is_known] = np.inf
        assumed = 1.0 / SETTINGS.tail_index if assumed_excess is None else assumed_excess
        prior = SETTINGS.prior_episodes
        prior_excess = _shared_excess(excess[:, is_known], episodes[:, is_known], assumed)
        mean = (episodes * excess + prior * prior_excess) / (episodes + prior)
        # The prior contributes to the decay of a tail, but not to its weight.
        weight = episodes + SETTINGS.trusted_episodes
        if is_one_sided:
            start[1] = np.inf
        n_sides = 1 if is_one_sided else 2
        tails = cls(
            centre=centre,
            spread=spread,
            start=start,
            index=np.minimum(1.0 / np.maximum(mean, 1e-9), 2.0 * SETTINGS.tail_index),
            weight=weight,
            nats_at_start=np.full(n_columns, -np.log(n_sides * share)),
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
        reached = np.log1p(np.abs(extremes - centre) / spread)
        pool = np.broadcast_to(pools, n_columns)
        for number in np.unique(pool[pool >= 0]):
            some = pool == number
            reached[:, some] = np.fmax.reduce(reached[:, some], axis=1)[:, None]
        farthest = centre + np.array([[1.0], [-1.0]]) * spread * np.expm1(reached)
        overstated = np.maximum(tails.nats(farthest.astype(np.float32)) - tails.most_seen, 0.0)
        return replace(
            tails,
            overstated=np.where(pool >= 0, overstated, 0.0),
            farthest=np.where(np.isnan(reached), np.inf, reached),
        )

    def nats(self, statistics: NDArray[np.float32]) -> NDArray[np.float32]:
        """Return (n, C) surprises of (n, C) statistics; 0 between the tails and for NaN."""
        out = np.empty(statistics.shape, np.float32)
        column_surprises(
            np.ascontiguousarray(statistics),  # one layout: compiled once
            self.centre,
            self.spread,
            self.start,
            self.index,
            self.weight,
            self.nats_at_start,
            self.most_seen,
            self.overstated,
            self.farthest,
            SETTINGS.same_share,
            SETTINGS.max_tail_distance,
            out,
        )
        return out

    def of(self, columns: NDArray[np.integer[Any]]) -> "Tails":
        """Return the tails of some columns."""
        return Tails(**{f.name: getattr(self, f.name).take(columns, axis=-1) for f in fields(self)})

    def shared(self, n_columns: int) -> "Tails":
        """Return tails for columns that the reference does not know, based on those that it knows.

        They are cautious: the upper tail of 3 in 4 known columns begins nearer to the centre, and
        3 in 4 known tails decay faster.
        """
        known = np.isfinite(self.start[0])
        if not known.any():
            return self._repeated(np.inf, 1.0, n_columns, 1.0)
        start = float(np.quantile(self.start[0, known], 0.75))
        index = float(np.quantile(self.index[:, known], 0.25))
        spread = float(np.median(self.spread[known]))
        return self._repeated(start, index, n_columns, spread)

    def _repeated(self, start: float, index: float, n_columns: int, spread: float) -> "Tails":
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
            weight=SETTINGS.prior_episodes * sides,
            nats_at_start=np.full(n_columns, -np.log(n_sides * SETTINGS.tail_share)),
            most_seen=np.full(n_columns, np.inf),
            overstated=np.zeros((2, n_columns)),
            farthest=np.full((2, n_columns), np.inf),
        )


def centre_and_spread(
    statistics: NDArray[np.float32],
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return (C,) medians and (C,) robust spreads of (n, C) statistics; 0 for empty columns."""
    n_columns = statistics.shape[1]
    centre, spread = np.zeros(n_columns), np.zeros(n_columns)
    for j in range(n_columns):
        column = statistics[:, j]
        seen = column[~np.isnan(column)].astype(np.float64)
        if len(seen):
            low, centre[j], high = np.quantile(seen, (0.25, 0.5, 0.75))
            spread[j] = max((high - low) / IQR_OF_UNIT_NORMAL, MIN_DEVIATIONS * float(seen.std()))
    return centre, spread


def _shared_excess(
    excess: NDArray[np.float64], episodes: NDArray[np.float64], assumed: float
) -> float:
    """Return the mean excess over the episodes of all columns, and over those assumed."""
    prior = SETTINGS.prior_episodes
    total = float((episodes * excess).sum()) + prior * assumed
    return total / (float(episodes.sum()) + prior)
