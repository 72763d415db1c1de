"""Looking at the reference: whether its rows are of one piece, and what is in them.

In: reference rows. Out: shares and counts that speak for or against learning from them.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from smkc.recording import Recording, Scaling

__all__ = ["Look", "far_rows", "look_at"]

# Rows further out than so many spreads stand apart from the rest.
FAR = 6.0

# Deviations count up to so many spreads: one wild variable is no reason to call a row strange.
MOST_SPREADS = 20.0

# Trouble is looked for in all variables together, and in the share of them that deviates most.
MOST_STRUCK = 0.05

# The shortest interval that holds half of a normal distribution is so many deviations long.
HALF_OF_NORMAL = 1.349

MAX_ROWS_LOOKED_AT, MAX_VARIABLES_LOOKED_AT = 5_000, 400


@dataclass(frozen=True, kw_only=True)
class Look:
    """What the reference rows look like.

    Parameters
    ----------
    far
        share of the rows that stand far from most of the others.
    constant
        variables that never change.
    empty
        share of the rows without any observation.
    """

    far: float
    constant: tuple[str, ...]
    empty: float


def look_at(reference: Recording) -> Look:
    """Look at reference rows before any detector does."""
    scaling = Scaling.fit(reference)
    constant = [name for name, is_so in zip(scaling.names, scaling.constant, strict=True) if is_so]
    left_out = {*constant, *(np.array(scaling.names, object)[scaling.counter].tolist())}
    step = max(1, len(reference) // MAX_ROWS_LOOKED_AT)
    table = _table(reference, step, left_out)
    return Look(
        far=far_rows(table) if table.size else 0.0,
        constant=tuple(constant),
        empty=float(np.mean(reference.cardinality == 0)),
    )


def far_rows(table: NDArray[np.float64]) -> float:
    """Return the share of rows of a (T, V) table that stand far from most others.

    Centre and spread are those of the shortest interval that holds half of the values, so that
    rows which stand apart widen the measure little while they are at most about a third of all;
    more of them than that may go unseen, as they are then nearly as usual as the others.
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
    """Return the share of (T,) deviations that are far above most of them."""
    middle, width = (float(part[0]) for part in _shortest_half(away[:, None]))
    return float(np.mean(away > middle + FAR * width)) if width > 0 else 0.0


def _shortest_half(
    table: NDArray[np.float64],
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """(V,) centre and spread of each variable, from the shortest interval with half its values."""
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


def _table(reference: Recording, step: int, left_out: set[str]) -> NDArray[np.float64]:
    """(T, V) every ``step``-th row, NaN where not observed; variables seen in most rows only."""
    counts = np.bincount(reference.codes, minlength=len(reference.names))
    is_usual = 2 * counts >= len(reference)
    chosen = [
        code for code, name in enumerate(reference.names) if is_usual[code] and name not in left_out
    ][:MAX_VARIABLES_LOOKED_AT]
    place = np.full(len(reference.names), -1)
    place[chosen] = np.arange(len(chosen))
    rows = reference.row_numbers
    is_in = (rows % step == 0) & (place[reference.codes] >= 0)
    table = np.full(((len(reference) + step - 1) // step, len(chosen)), np.nan)
    table[rows[is_in] // step, place[reference.codes[is_in]]] = reference.values[is_in]
    return table
