"""The rows to judge, prepared for planting anomalies.

In: the reference and the rows after it. Out: each variable's observations, its spread, whether it
is a counter, its season, and whether it moves together with other variables.
"""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from smkc.recording import Recording, Scaling
from smkc.recording.counters import clock

# Variables move together if their correlation is at least this: from row to row, or between their
# means over blocks of rows. The latter must hold in both halves of the rows, because two drifts may
# agree by chance.
TOGETHER, TOGETHER_SLOWLY = 0.5, 0.8

# Limits of the search for relations: the largest number of variables and of rows, and the smallest
# number of blocks in each half of the rows for relations between block means.
MOST_COMPARED = 400
FEWEST_STRETCHES = 12
MOST_ROWS_COMPARED = 20_000


@dataclass(frozen=True, kw_only=True, eq=False)
class HeldOut:
    """Rows to judge, with properties of their V variables.

    Parameters
    ----------
    recording
        the held-out rows.
    spread
        (V,) robust spread of a variable in the reference, or in the held-out rows if it is new;
        for a counter, of its rate. 0 if it never changes or was observed too rarely.
    is_counter, is_whole
        (V,) whether it only counts up, and whether it holds only whole numbers.
    has_partner, has_slow_partner
        (V,) whether another variable moves with it from row to row, or in means over blocks of
        rows.
    period
        (V,) period of its season, in the unit of ``clock``; NaN where the detector found none.
    clock
        (T,) time since the first row, in seconds for dates.
    by_variable, starts
        (N,) numbers of the observations sorted by variable, and (V + 1,) where each variable's
        begin.
    rows
        (N,) row number of each observation.
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
        """Return the (n,) numbers of a variable's observations, in order of time."""
        return self.by_variable[self.starts[variable] : self.starts[variable + 1]]

    def between(self, variable: int, first: int, last: int) -> tuple[int, int]:
        """Return the slice of :meth:`all_of` for rows first to last, both included."""
        rows = self.rows[self.all_of(variable)]
        begin, end = np.searchsorted(rows, [first, last + 1])
        return int(begin), int(end)

    def observed(self, first: int, last: int) -> NDArray[np.int64]:
        """Return the (n,) variables observed in at least half of the rows first to last."""
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
        rows per block in the search for relations.
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
    """Return two (V,) masks: whether another variable moves with this one, by rows and by blocks.

    Correlations by rows are taken after subtracting the mean of each block of ``length`` rows.
    Only variables in ``may`` that are observed in at least half of the rows are compared.
    """
    n_rows = min(len(recording), MOST_ROWS_COMPARED) // length * length
    counts = np.bincount(recording.codes, minlength=len(may))
    chosen = np.flatnonzero(may & (2 * counts >= len(recording)))
    if len(chosen) > MOST_COMPARED:
        chosen = chosen[np.linspace(0, len(chosen) - 1, MOST_COMPARED).astype(np.int64)]
    quick, slow = np.zeros(len(may), bool), np.zeros(len(may), bool)
    if n_rows == 0 or len(chosen) < 2:
        return quick, slow
    table = recording.rows(0, n_rows).table(chosen).astype(np.float64)
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
    """Return (V, V) correlations of columns that have zero mean, with 0 on the diagonal."""
    norms = np.sqrt((table**2).sum(axis=0))
    scaled = table / np.where(norms > 0, norms, 1.0)
    found: NDArray[np.float64] = scaled.T @ scaled
    np.fill_diagonal(found, 0.0)
    return found
