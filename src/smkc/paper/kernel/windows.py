"""Windows: a start row and a length, not a copy of rows.

In: the number of rows, a window length and a stride. Out: starts, and segments of windows that
share rows.
"""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from smkc.errors import WindowError
from smkc.recording import Recording

# Windows per segment; they share states and distances. Longer segments waste less on the rows
# before their first window is full; shorter ones keep more threads busy and stay in cache.
WINDOWS_PER_SEGMENT = 128


def window_starts(n_rows: int, window: int, stride: int = 1) -> NDArray[np.int64]:
    """Return (B,) start rows of all full windows.

    Examples
    --------
    >>> window_starts(7, window=4, stride=2)
    array([0, 2])
    """
    if n_rows < window:
        raise WindowError(
            f"the recording has {n_rows} rows, the window needs {window}: give a longer recording "
            f"or a window of at most {max(n_rows, 1)}"
        )
    return np.arange(0, n_rows - window + 1, stride, dtype=np.int64)


def filled_share(
    recording: Recording, starts: NDArray[np.int64], window: int
) -> NDArray[np.float64]:
    """Return (B,) shares of each window's rows that have an observation."""
    filled = np.concatenate([[0], np.cumsum(recording.cardinality > 0)])
    share: NDArray[np.float64] = (filled[starts + window] - filled[starts]) / window
    return share


def window_observations(
    recording: Recording, starts: NDArray[np.int64], window: int
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return (B * L,) numbers of observations by row of B windows, and their places, in order."""
    rows = (starts[:, None] + np.arange(window)).ravel()
    counts = recording.indptr[rows + 1] - recording.indptr[rows]
    shift = recording.indptr[rows] - (np.cumsum(counts) - counts)
    return counts, np.arange(counts.sum()) + np.repeat(shift, counts)


def segments(starts: NDArray[np.int64], window: int, sharing: int) -> NDArray[np.int64]:
    """Return (S+1,) offsets into ``starts``: runs of windows at most ``sharing`` rows apart.

    Runs are also cut every WINDOWS_PER_SEGMENT windows, counted from the first window, so that the
    cuts do not depend on later windows.

    Examples
    --------
    >>> segments(np.array([0, 1, 2, 40, 41]), window=8, sharing=7)
    array([0, 3, 5])
    """
    n: Any = len(starts)
    steps = np.diff(starts)
    is_cut = (steps > min(sharing, window)) | (steps < 0)
    is_cut |= np.arange(1, n) % WINDOWS_PER_SEGMENT == 0
    return np.concatenate([[0], np.flatnonzero(is_cut) + 1, [n]]).astype(np.int64)
