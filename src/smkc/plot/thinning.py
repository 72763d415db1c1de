"""Reduction of long recordings to a number of points and cells that can be drawn.

In: scores or a recording of any length. Out: selected rows that keep the peaks, or binned presence.
"""

from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from smkc.recording import Recording

MAX_POINTS = 2000
MAX_VARIABLES = 300
MAX_BINS = 480  # about the width of a page in points


def thin(values: NDArray[Any], max_points: int = MAX_POINTS) -> NDArray[np.int64]:
    """Choose rows to draw from (T,) values: the lowest and the highest of each bin of rows.

    A bin without any value keeps its first row, so that gaps remain visible.

    Examples
    --------
    >>> thin(np.array([0.0, 9.0, 1.0, 2.0, 3.0, -5.0]), max_points=4).tolist()
    [0, 1, 4, 5]
    """
    rows = len(values)
    if rows <= max_points:
        return np.arange(rows)
    edges = np.linspace(0, rows, max(max_points // 2, 1) + 1).astype(np.int64)
    chosen: set[int] = set()
    for first, last in pairwise(edges.tolist()):
        part = np.asarray(values[first:last], np.float64)
        if np.isnan(part).all():
            chosen.add(first)
            continue
        chosen.update((first + int(np.nanargmin(part)), first + int(np.nanargmax(part))))
    return np.array(sorted(chosen), np.int64)


@dataclass(frozen=True, kw_only=True)
class PresenceGrid:
    """Presence over time, binned."""

    names: tuple[str, ...]  # (V,) drawn variables, by first appearance
    times: NDArray[Any]  # (B,) first time of each bin
    share: NDArray[np.uint8]  # (V, B) percentage of a bin's rows that have the variable
    n_variables: int  # all variables, drawn or not
    rows_per_bin: int  # the last bin may hold fewer


def presence_grid(
    recording: Recording, max_variables: int = MAX_VARIABLES, max_bins: int = MAX_BINS
) -> PresenceGrid:
    """Bin presence over time; if there are too many variables, draw an evenly spaced selection."""
    recording = recording.canonical()
    n_rows, n_names = len(recording), len(recording.names)
    per_bin = max(1, -(-n_rows // max_bins))
    n_bins = -(-n_rows // per_bin)
    first_row = np.full(n_names, n_rows, np.int64)
    row_numbers = recording.row_numbers
    np.minimum.at(first_row, recording.codes, row_numbers)
    by_appearance = np.lexsort((np.arange(n_names), first_row))
    if n_names > max_variables:
        picked = np.linspace(0, n_names - 1, max_variables).round().astype(np.int64)
        by_appearance = by_appearance[np.unique(picked)]
    place = np.full(n_names, -1, np.int64)
    place[by_appearance] = np.arange(len(by_appearance))
    where = place[recording.codes]
    is_drawn = where >= 0
    cells = where[is_drawn] * n_bins + row_numbers[is_drawn] // per_bin
    counts = np.bincount(cells, minlength=len(by_appearance) * n_bins)
    lengths = np.diff(np.append(np.arange(n_bins) * per_bin, n_rows))
    share = 100 * counts.reshape(len(by_appearance), n_bins) / np.maximum(lengths, 1)
    return PresenceGrid(
        names=tuple(recording.names[code] for code in by_appearance),
        times=recording.times[::per_bin],
        share=share.round().astype(np.uint8),
        n_variables=n_names,
        rows_per_bin=per_bin,
    )
