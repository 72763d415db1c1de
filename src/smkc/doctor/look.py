"""Quality of the reference rows, without any detector.

In: reference rows. Out: the shares of outlying and of empty rows, and the constant variables.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from smkc.recording import Recording, Scaling

# A row is an outlier if its deviation exceeds the centre of all rows' deviations by more than this
# many of their spreads.
FAR = 6.0

# Deviations are capped at this many spreads, so that one variable alone cannot dominate a row's
# mean.
MOST_SPREADS = 20.0

# Besides the mean deviation of all variables, the deviation that this share of them reaches or
# exceeds is tested.
MOST_STRUCK = 0.05

# Length, in standard deviations, of the shortest interval that holds half of a normal distribution.
HALF_OF_NORMAL = 1.349

MAX_ROWS_LOOKED_AT, MAX_VARIABLES_LOOKED_AT = 5_000, 400


@dataclass(frozen=True, kw_only=True)
class Look:
    """Properties of the reference rows."""

    far: float  # share of the rows that lie far from most of the others
    constant: tuple[str, ...]  # variables that never change
    empty: float  # share of the rows without any observation


def look_at(reference: Recording) -> Look:
    """Measure properties of the reference rows."""
    scaling = Scaling.fit(reference)
    constant = [name for name, is_so in zip(scaling.names, scaling.constant, strict=True) if is_so]
    left_out = {*constant, *(np.array(scaling.names, object)[scaling.counter].tolist())}
    is_usual = 2 * np.bincount(reference.codes, minlength=len(reference.names)) >= len(reference)
    chosen = [
        code for code, name in enumerate(reference.names) if is_usual[code] and name not in left_out
    ]
    step = max(1, len(reference) // MAX_ROWS_LOOKED_AT)
    table = reference.table(chosen[:MAX_VARIABLES_LOOKED_AT], step).astype(np.float64)
    return Look(
        far=far_rows(table) if table.size else 0.0,
        constant=tuple(constant),
        empty=float(np.mean(reference.cardinality == 0)),
    )


def far_rows(table: NDArray[np.float64]) -> float:
    """Return the share of rows of a (T, V) table that lie far from most others.

    Centre and spread come from the shortest interval that holds half of the values, so outlying
    rows hardly widen the spread as long as they are at most about a third of all rows. If they are
    more, they may not be found.
    """
    with np.errstate(invalid="ignore", divide="ignore"):
        centre, spread = _shortest_half(table)
        moves = spread > 0
        if not moves.any():
            return 0.0
        away = np.abs(table[:, moves] - centre[moves]) / spread[moves]
    seen = np.isfinite(away)
    is_filled = seen.any(axis=1)
    away = np.where(seen, np.minimum(away, MOST_SPREADS), 0.0)[is_filled]
    if not len(away):
        return 0.0
    n_most = max(1, round(MOST_STRUCK * away.shape[1]))
    most = np.sort(away, axis=1)[:, -n_most]
    mean = away.sum(axis=1) / seen[is_filled].sum(axis=1)
    return max(_far(mean), _far(most))


def _far(away: NDArray[np.float64]) -> float:
    """Return the share of (T,) deviations that are far above most others."""
    middle, width = (float(part[0]) for part in _shortest_half(away[:, None]))
    return float(np.mean(away > middle + FAR * width)) if width > 0 else 0.0


def _shortest_half(
    table: NDArray[np.float64],
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return (V,) centres and spreads, from the shortest interval with half the values."""
    ordered = np.sort(table, axis=0)  # NaN last
    counts = np.isfinite(table).sum(axis=0)
    centre, spread = np.zeros(table.shape[1]), np.zeros(table.shape[1])
    for at, count in enumerate(counts.tolist()):
        half = count // 2
        if half < 2:
            continue
        values = ordered[:count, at]
        lengths = values[half:] - values[: count - half]
        first = int(np.argmin(lengths))
        centre[at] = 0.5 * (values[first] + values[first + half])
        spread[at] = lengths[first] / HALF_OF_NORMAL
    return centre, spread
