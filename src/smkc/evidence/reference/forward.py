"""The forward null: later rows of the reference, judged by evidences fitted on its first part.

In: the reference as one block of rows. Out: the fitted evidences, and what normal rows look like
that were not fitted on.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from smkc.evidence.reference.choices import Choices
from smkc.evidence.reference.components import Components
from smkc.evidence.reference.contract import Block, Evidence
from smkc.evidence.reference.jump import Jump
from smkc.evidence.reference.levels import level, slow_level
from smkc.evidence.reference.newcomer_jump import NewcomerJump
from smkc.evidence.reference.newcomers import Newcomers
from smkc.evidence.reference.nulls import Nulls, joined, most_nats, quantile_sample
from smkc.evidence.reference.scorer import Normal, Scorer, held
from smkc.evidence.variables import Tails

__all__ = ["WINDOWS_BEFORE", "Forward", "fit_evidences", "forward_null", "less_explained"]

# Evidences are fitted on this share of the reference, on its latest MOST_FITTED rows if it is
# longer, and judge the up to MOST_NULL rows after it, which have drifted as normal data do.
FITTED_SHARE, MOST_FITTED, MOST_NULL = 0.6, 8_000, 3_000

# Rows in which a variable must be observed to be known to evidences fitted on the first part.
SETTLED_ROWS = 32

# In the judged rows every third variable is treated as a newcomer.
ONE_IN = 3

# Smallest spread of the joined surprise, in nats. Its tail is thinner than that of a variable, as
# it is a mean over evidences: a power law of index 7 is assumed.
SYSTEM_MIN_SPREAD, SYSTEM_EXCESS = 0.1, 0.15

# Windows that a state starts from: enough for the longest past that an evidence looks at.
WINDOWS_BEFORE = 4


class Forward(NamedTuple):
    """Later rows of the reference: which, what is normal in them, and how each was scored.

    ``values`` and ``residuals`` (n, C): their values, and what other variables leave unexplained of
    each; ``scores`` (n,) of the joined evidences.
    """

    rows: slice
    normal: Normal
    values: NDArray[np.float32]
    residuals: NDArray[np.float32]
    scores: NDArray[np.float64]


def fit_evidences(reference: Block, choices: Choices, has_roles: bool) -> tuple[Evidence, ...]:
    """Fit every evidence.

    Where members are replaced their roles speak for them, and their own changes are not asked for.
    """
    w = choices.window
    return (
        level(reference, w),
        slow_level(reference, w),
        Jump.fit(reference.rows),
        Components.fit(reference.rows),
        Newcomers(window=w),
        *(() if has_roles else (NewcomerJump(window=w, renewed_rows=2 * choices.block),)),
    )


def forward_null(block: Block, choices: Choices, has_roles: bool) -> Forward:
    """Score what follows the first part of the reference, by the mechanism that scores later."""
    n = len(block.rows)
    cut = int(FITTED_SHARE * n)
    known = block.part(slice(max(0, cut - MOST_FITTED), cut))
    later = slice(cut, min(n, cut + MOST_NULL))
    after = block.part(later)
    # What came later is no column to those who know the first part alone.
    is_late = (~np.isnan(known.rows)).sum(axis=0) < min(SETTLED_ROWS, len(known.rows) // 2)
    after = after._replace(rows=np.where(is_late, np.float32(np.nan), after.rows))
    fresh = after.rows[:, ONE_IN // 2 :: ONE_IN]
    after = after._replace(fresh=fresh, fresh_values=fresh)
    evidences = fit_evidences(known, choices, has_roles)
    before = known.part(slice(max(0, len(known.rows) - WINDOWS_BEFORE * choices.window), None))
    scored = Scorer(evidences, choices, before).push(after)
    normal, scores = _normal(scored.statistics, choices.window)
    return Forward(later, normal, after.rows, scored.residuals, scores)


def less_explained(first: NDArray[np.float32], second: NDArray[np.float32]) -> NDArray[np.float32]:
    """(n, C) of two residuals, for each column those that change more.

    Components of the whole reference may explain less than those of its first part, if it changed
    in between; what they leave is no surprise later.
    """
    own, other = (
        np.nansum(np.diff(some.astype(np.float64), axis=0) ** 2, axis=0) for some in (first, second)
    )
    return np.where(own >= other, first, second)


def _normal(statistics: NDArray[np.float64], window: int) -> tuple[Normal, NDArray[np.float64]]:
    """Keep what nulls need of (n, E) statistics; return that and (n,) scores by these nulls."""
    columns = [quantile_sample(column) for column in statistics.T]
    sample = np.full((len(columns), max(len(column) for column in columns)), np.nan)
    for row, column in zip(sample, columns, strict=True):
        row[: len(column)] = column
    nats = Nulls.of(sample).nats(statistics)
    system = joined(nats)
    tail = Tails.fit(
        system[:, None].astype(np.float32),
        gap=window,
        min_spread=SYSTEM_MIN_SPREAD,
        is_one_sided=True,
        assumed_excess=SYSTEM_EXCESS,
    )
    n_independent = len(statistics) / window
    together = joined(np.minimum(nats, most_nats(len(statistics))))
    scores, _ = held(together, np.full(2 * window - 2, together[0]), window)
    normal = Normal(statistics=sample, totals=np.empty(0), n_independent=n_independent, system=tail)
    return normal, scores
