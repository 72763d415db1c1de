"""HeldOut: the part of a recording that is judged, ready to have things planted in it.

In: the reference and the rows after it. Out: each variable's observations at hand, and in what
measure it can be changed: its own spread, its kind, whether it moves with others.
"""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from smkc.recording import Recording, Scaling
from smkc.recording.counters import clock

__all__ = ["HeldOut", "hold_out"]

# Variables with a correlation of at least this much move together: from row to row, or in their
# means over stretches of rows, in both halves of the recording (two drifts may agree by chance).
TOGETHER, TOGETHER_SLOWLY = 0.5, 0.8

# Limits of the search for relations: the largest number of variables and of rows, and the smallest
# number of stretches in either half of the rows, for relations over longer times.
MOST_COMPARED = 400
FEWEST_STRETCHES = 12
MOST_ROWS_COMPARED = 20_000


@dataclass(frozen=True, kw_only=True, eq=False)
class HeldOut:
    """Rows to judge, and what is known of their variables.

    Parameters
    ----------
    recording
        the held-out rows.
    spread
        (V,) a variable's robust spread in the reference; of its rate, for a counter; 0 if it
        never changes or was seen too rarely to say.
    is_counter, is_whole
        (V,) whether it only counts up, holds whole numbers only.
    has_partner, has_slow_partner
        (V,) whether another one moves with it from row to row, or over longer times.
    period
        (V,) of its season, in the unit of ``clock``; NaN where the detector found none.
    clock
        (T,) time since the first row, in seconds for dates.
    """

    recording: Recording
    spread: NDArray[np.float64]
    is_counter: NDArray[np.bool_]
    is_whole: NDArray[np.bool_]
    has_partner: NDArray[np.bool_]
    has_slow_partner: NDArray[np.bool_]
    period: NDArray[np.float64]
    clock: NDArray[np.float64]
    by_variable: NDArray[np.int64]
    starts: NDArray[np.int64]
    rows: NDArray[np.int64]

    def all_of(self, variable: int) -> NDArray[np.int64]:
        """(n,) the numbers of a variable's observations, in order of time."""
        return self.by_variable[self.starts[variable] : self.starts[variable + 1]]

    def between(self, variable: int, first: int, last: int) -> tuple[int, int]:
        """Return the part of :meth:`all_of` that lies in rows first to last, as in slicing."""
        rows = self.rows[self.all_of(variable)]
        begin, end = np.searchsorted(rows, [first, last + 1])
        return int(begin), int(end)

    def observed(self, first: int, last: int) -> NDArray[np.int64]:
        """(n,) variables that are observed in at least half of the rows first to last."""
        span = slice(
            int(self.recording.indptr[first]), int(self.recording.indptr[min(last + 1, len(self))])
        )
        counts = np.bincount(self.recording.codes[span], minlength=len(self.recording.names))
        return np.flatnonzero(2 * counts >= last + 1 - first)

    def __len__(self) -> int:
        return len(self.recording)


def hold_out(
    reference: Recording, recording: Recording, length: int, seasons: Mapping[str, float]
) -> HeldOut:
    """Prepare the held-out rows.

    Parameters
    ----------
    length
        rows over which relations are looked for.
    seasons
        period of each variable that has a season.
    """
    scaling = Scaling.fit(reference).update(recording)
    place = {name: at for at, name in enumerate(scaling.names)}
    known = np.array([place.get(name, -1) for name in recording.names], np.int64)
    is_known = known >= 0
    spread = np.zeros(len(known))
    is_counter = np.zeros(len(known), bool)
    if len(scaling.names):
        moves = is_known & ~scaling.constant[known]
        spread[moves] = scaling.spread[known[moves]]
        is_counter[is_known] = scaling.counter[known[is_known]]
    order = np.argsort(recording.codes, kind="stable")
    counts = np.bincount(recording.codes, minlength=len(recording.names))
    broken = np.bincount(
        recording.codes[recording.values != np.round(recording.values)], minlength=len(counts)
    )
    partners, slow_partners = _partners(recording, (spread > 0) & ~is_counter, length)
    return HeldOut(
        recording=recording,
        spread=spread,
        is_counter=is_counter,
        is_whole=broken == 0,
        has_partner=partners,
        has_slow_partner=slow_partners,
        period=np.array([seasons.get(name, np.nan) for name in recording.names]),
        clock=clock(recording.times, recording.times[0]),
        by_variable=order,
        starts=np.concatenate([[0], np.cumsum(counts)]),
        rows=recording.row_numbers,
    )


def _partners(
    recording: Recording, may: NDArray[np.bool_], length: int
) -> tuple[NDArray[np.bool_], NDArray[np.bool_]]:
    """(V,) whether another variable moves with this one within stretches of rows, and over them."""
    n_rows = min(len(recording), MOST_ROWS_COMPARED) // length * length
    counts = np.bincount(recording.codes, minlength=len(may))
    chosen = np.flatnonzero(may & (2 * counts >= len(recording)))
    if len(chosen) > MOST_COMPARED:
        chosen = chosen[np.linspace(0, len(chosen) - 1, MOST_COMPARED).astype(np.int64)]
    quick, slow = np.zeros(len(may), bool), np.zeros(len(may), bool)
    if n_rows == 0 or len(chosen) < 2:
        return quick, slow
    part = recording.rows(0, n_rows)
    place = np.full(len(may), -1)
    place[chosen] = np.arange(len(chosen))
    is_in = place[part.codes] >= 0
    table = np.full((n_rows, len(chosen)), np.nan)
    table[part.row_numbers[is_in], place[part.codes[is_in]]] = part.values[is_in]
    stretches = table.reshape(-1, length, len(chosen))
    n_seen = np.maximum((~np.isnan(stretches)).sum(axis=1, keepdims=True), 1)
    means = np.nansum(stretches, axis=1, keepdims=True) / n_seen
    within = np.nan_to_num((stretches - means).reshape(n_rows, -1))
    quick[chosen] = np.abs(_likeness(within)).max(axis=1) >= TOGETHER
    first, last = np.array_split(means[:, 0], 2)
    if len(last) >= FEWEST_STRETCHES:
        agreed = [_likeness(half - half.mean(axis=0)) for half in (first, last)]
        both = np.maximum(np.minimum(*agreed), np.minimum(*(-one for one in agreed)))
        slow[chosen] = both.max(axis=1) >= TOGETHER_SLOWLY
    return quick, slow


def _likeness(table: NDArray[np.float64]) -> NDArray[np.float64]:
    """(V, V) correlations of the columns of a table with zero means; 0 of each with itself."""
    norms = np.sqrt((table**2).sum(axis=0))
    scaled = table / np.where(norms > 0, norms, 1.0)
    found: NDArray[np.float64] = scaled.T @ scaled
    np.fill_diagonal(found, 0.0)
    return found
