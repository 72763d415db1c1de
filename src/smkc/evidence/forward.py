"""The forward null: later rows of the reference, scored by evidences fitted on its first part.

In: the reference as one block of rows. Out: the fitted evidences, and the statistics of normal rows
that they were not fitted on.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from smkc.evidence.choices import Choices
from smkc.evidence.columns.block import Block
from smkc.evidence.decision.scorer import Normal, Scorer
from smkc.evidence.settings import SETTINGS
from smkc.evidence.system.components import Components
from smkc.evidence.system.contract import Evidence
from smkc.evidence.system.jump import Jump
from smkc.evidence.system.levels import level, slow_level
from smkc.evidence.system.newcomer_jump import NewcomerJump
from smkc.evidence.system.newcomers import Newcomers
from smkc.evidence.system.nulls import Nulls, joined, most_nats, quantile_sample
from smkc.evidence.variables import Tails

# Evidences are fitted on at most the MOST_FITTED latest rows of the reference's first part. They
# score up to MOST_NULL rows after it, which have drifted as normal data do.
MOST_FITTED, MOST_NULL = 8_000, 3_000

# In the scored rows, every third variable is also treated as a newcomer.
ONE_IN = 3

# Number of windows before the first row that a state starts from, enough for every evidence.
WINDOWS_BEFORE = 4


class Forward(NamedTuple):
    """Later rows of the reference, and their scores.

    Parameters
    ----------
    rows
        the position of these n rows in the reference.
    normal
        their statistics.
    values
        (n, C) their scaled values.
    residuals
        (n, C) the part of each value that the other variables do not explain.
    joined
        (n,) joined surprises of the evidences, as in scores.
    """

    rows: slice
    normal: Normal
    values: NDArray[np.float32]
    residuals: NDArray[np.float32]
    joined: NDArray[np.float64]


def fit_evidences(reference: Block, choices: Choices, has_roles: bool) -> tuple[Evidence, ...]:
    """Fit every evidence.

    With roles, there is no evidence of newcomers' jumps: members are replaced routinely, and their
    roles take their place.
    """
    w = choices.window
    return (
        level(reference, w),
        slow_level(reference, w),
        Jump.fit(reference.rows),
        Components.fit(reference.rows),
        Newcomers(window=w),
        *(() if has_roles else (NewcomerJump(renewed_rows=2 * choices.block),)),
    )


def forward_null(block: Block, choices: Choices, has_roles: bool) -> Forward:
    """Score the rows after the first part of the reference, with the scorer used for new rows."""
    n = len(block.rows)
    cut = int(SETTINGS.fitted_share * n)
    known = block.part(slice(max(0, cut - MOST_FITTED), cut))
    later = slice(cut, min(n, cut + MOST_NULL))
    after = block.part(later)
    # Variables that came later are not known to evidences fitted on the first part.
    settled = min(SETTINGS.min_observations, len(known.rows) // 2)
    is_late = (~np.isnan(known.rows)).sum(axis=0) < settled
    after = after._replace(
        rows=np.where(is_late, np.float32(np.nan), after.rows),
        adjusted=np.where(is_late, np.float32(np.nan), after.adjusted),
    )
    fresh = after.rows[:, ONE_IN // 2 :: ONE_IN]
    after = after._replace(fresh=fresh, fresh_values=fresh)
    evidences = fit_evidences(known, choices, has_roles)
    before = known.part(slice(max(0, len(known.rows) - WINDOWS_BEFORE * choices.window), None))
    scored = Scorer(evidences, choices, before).push(after)
    normal, together = _normal(scored.statistics, choices.window)
    return Forward(later, normal, after.rows, scored.residuals, together)


def less_explained(first: NDArray[np.float32], second: NDArray[np.float32]) -> NDArray[np.float32]:
    """Return (n, C) for each column those of two residuals that change more.

    Components of the whole reference may explain less than those of its first part, if it changed
    in between. Residuals that are as large later must not be surprising.
    """
    own, other = (
        np.nansum(np.diff(some.astype(np.float64), axis=0) ** 2, axis=0) for some in (first, second)
    )
    return np.where(own >= other, first, second)


def _normal(statistics: NDArray[np.float64], window: int) -> tuple[Normal, NDArray[np.float64]]:
    """Return a sample of (n, E) statistics for the nulls, and (n,) joined surprises by these."""
    columns = [quantile_sample(column) for column in statistics.T]
    sample = np.full((len(columns), max(len(column) for column in columns)), np.nan)
    for row, column in zip(sample, columns, strict=True):
        row[: len(column)] = column
    nats = Nulls.of(sample).nats(statistics)
    system = joined(nats)
    tail = Tails.fit(
        system[:, None].astype(np.float32),
        gap=window,
        is_one_sided=True,
        assumed_excess=SETTINGS.system_excess,
    )
    n_independent = len(statistics) / window
    normal = Normal(statistics=sample, scores=np.empty(0), n_independent=n_independent, system=tail)
    return normal, joined(np.minimum(nats, most_nats(len(statistics))))
