"""HeldOut: the part of a recording that is judged, ready to have things planted in it.

In: the reference and the rows after it. Out: each variable's observations at hand, and in what
measure it can be changed: its own spread, its kind, whether it moves with others.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from smkc.recording import Recording, Scaling
from smkc.recording.counters import clock

__all__ = ["HeldOut", "hold_out"]

# Variables with a correlation of at least this much move together.
TOGETHER = 0.5

# Relations are sought among so many variables at most, and in so many rows.
MOST_COMPARED = 400
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
    is_counter, is_whole, has_partner
        (V,) whether it only counts up, holds whole numbers only, moves with another one.
    clock
        (T,) time since the first row, in seconds for dates.
    """

    recording: Recording
    spread: NDArray[np.float64]
    is_counter: NDArray[np.bool_]
    is_whole: NDArray[np.bool_]
    has_partner: NDArray[np.bool_]
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


def hold_out(reference: Recording, recording: Recording, length: int) -> HeldOut:
    """Prepare the held-out rows; ``length`` is the rows over which relations are looked for."""
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
    return HeldOut(
        recording=recording,
        spread=spread,
        is_counter=is_counter,
        is_whole=broken == 0,
        has_partner=_with_partners(recording, (spread > 0) & ~is_counter, length),
        clock=clock(recording.times, recording.times[0]),
        by_variable=order,
        starts=np.concatenate([[0], np.cumsum(counts)]),
        rows=recording.row_numbers,
    )


def _with_partners(recording: Recording, may: NDArray[np.bool_], length: int) -> NDArray[np.bool_]:
    """(V,) whether another variable moves with this one, stretch by stretch of ``length`` rows.

    The mean of each stretch is taken out: a common trend over days is no relation that a fault
    of some rows could break.
    """
    n_rows = min(len(recording), MOST_ROWS_COMPARED) // length * length
    counts = np.bincount(recording.codes, minlength=len(may))
    chosen = np.flatnonzero(may & (2 * counts >= len(recording)))
    if len(chosen) > MOST_COMPARED:
        chosen = chosen[np.linspace(0, len(chosen) - 1, MOST_COMPARED).astype(np.int64)]
    found = np.zeros(len(may), bool)
    if n_rows == 0 or len(chosen) < 2:
        return found
    part = recording.rows(0, n_rows)
    place = np.full(len(may), -1)
    place[chosen] = np.arange(len(chosen))
    is_in = place[part.codes] >= 0
    table = np.full((n_rows, len(chosen)), np.nan)
    table[part.row_numbers[is_in], place[part.codes[is_in]]] = part.values[is_in]
    stretches = table.reshape(-1, length, len(chosen))
    n_seen = np.maximum((~np.isnan(stretches)).sum(axis=1, keepdims=True), 1)
    stretches = stretches - np.nansum(stretches, axis=1, keepdims=True) / n_seen
    flat = np.nan_to_num(stretches.reshape(n_rows, -1))
    norms = np.sqrt((flat**2).sum(axis=0))
    flat = flat / np.where(norms > 0, norms, 1.0)
    likeness = np.abs(flat.T @ flat)
    np.fill_diagonal(likeness, 0.0)
    found[chosen] = likeness.max(axis=1) >= TOGETHER
    return found
