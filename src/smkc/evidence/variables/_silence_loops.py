"""Loop over rows and variables that tells which of them fell silent.

In: arrays and scalars. Out: arrays that the caller provides.
"""

import numpy as np
from numba import njit
from numpy.typing import NDArray


@njit(cache=True)
def fall_silent(
    values: NDArray[np.float32],
    has_newcomer: NDArray[np.bool_],
    is_resident: NDArray[np.bool_],
    silent_rows: int,
    recent_rows: int,
    lasting_rows: int,
    n_certain: int,
    asks_one: bool,
    skips_gaps: bool,
    n_silent_rows: NDArray[np.int64],
    is_gone: NDArray[np.bool_],
    counts: NDArray[np.float64],
    trouble: NDArray[np.int8],
) -> int:
    """Fill (n,) with whether residents are gone; return the most that fell silent at once.

    1 stands for many that are gone, 2 for a single one.

    A resident has just fallen silent if it was last observed ``silent_rows`` to ``recent_rows``
    rows ago. Trouble begins when ``n_certain`` + 4 ``counts[0]`` residents have; ``counts[0]`` is
    the moving average of that number in rows without trouble. Trouble ends when half of the
    residents that are gone are back, or after ``lasting_rows`` rows; ``counts[1]`` is the number of
    rows that it has lasted.

    If ``asks_one``, a single resident is trouble when it has been silent for twice
    ``recent_rows``, if it was the only one that was silent in the last ``lasting_rows`` rows, and
    if no new variable came that may be its successor (``has_newcomer``) from ``recent_rows`` before
    it fell silent on. ``counts[2]`` counts rows with at most one silent resident, ``counts[3]``
    rows since the latest newcomer. Residents that have been silent for longer than ``lasting_rows``
    do not count. If ``skips_gaps``, rows without any resident change nothing but ``trouble``, which
    goes on. The state arrays are updated.
    """
    n, n_columns = values.shape
    n_most = 0
    for i in range(n):
        if skips_gaps:
            n_seen = 0
            for j in range(n_columns):
                n_seen += is_resident[j] and not np.isnan(values[i, j])
            if n_seen == 0:
                n_gone = 0
                for j in range(n_columns):
                    n_gone += is_gone[j]
                trouble[i] = 0 if n_gone == 0 else 1 if n_gone > 1 else 2
                continue
        n_recent, n_gone, n_back, n_silent, alone = 0, 0, 0, 0, -1
        for j in range(n_columns):
            if not is_resident[j]:
                continue
            n_silent_rows[j] = n_silent_rows[j] + 1 if np.isnan(values[i, j]) else 0
            n_recent += silent_rows <= n_silent_rows[j] <= recent_rows
            if silent_rows <= n_silent_rows[j] <= lasting_rows:
                n_silent += 1
                alone = j
            n_gone += is_gone[j]
            n_back += is_gone[j] and n_silent_rows[j] == 0
        n_most = max(n_most, n_recent)
        if n_gone > 0 and (2 * n_back >= n_gone or counts[1] >= lasting_rows):
            is_gone[:] = False
            n_gone = 0
        if n_recent >= n_certain + 4.0 * counts[0]:
            for j in range(n_columns):
                if is_resident[j] and silent_rows <= n_silent_rows[j] <= recent_rows:
                    n_gone += not is_gone[j]
                    is_gone[j] = True
        counts[2] = counts[2] + 1.0 if n_silent <= 1 else 0.0
        counts[3] = 0.0 if has_newcomer[i] else counts[3] + 1.0
        is_lone = asks_one and n_silent == 1 and counts[2] > lasting_rows
        is_lone = is_lone and counts[3] > 3 * recent_rows
        if is_lone and n_silent_rows[alone] == 2 * recent_rows:
            n_gone += not is_gone[alone]
            is_gone[alone] = True
        if n_gone > 0:
            trouble[i] = 1 if n_gone > 1 else 2
            counts[1] += 1.0
        else:
            counts[0] += (n_recent - counts[0]) / lasting_rows
            counts[1] = 0.0
    return n_most
