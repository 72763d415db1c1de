"""Jitted loops of the stream: one row's values -> its state."""

from typing import Any

import numpy as np
from numba import njit
from numpy.typing import NDArray

from smkc.paper.sketch import Hashed
from smkc.paper.sketch._loops import fill_states

__all__ = ["observed_state"]


@njit(cache=True, nogil=True)
def observed_state(
    values: NDArray[np.float32],
    hashes: tuple[NDArray[Any], ...],
    switches: tuple[bool, bool, bool],
    state: NDArray[np.float32],
) -> int:
    """Fill ``state`` (2m, 1) from (n,) values; return how many were observed.

    Values that are not finite were not. ``hashes`` are buckets and signs, (n,) each;
    ``switches`` say whether there is a presence stream, saturated, and whether states are
    normalised.
    """
    codes = np.empty(values.size, np.uint32)
    observed = np.empty(values.size, np.float32)
    n = 0
    for i in range(values.size):
        if np.isfinite(values[i]):
            codes[n] = i
            observed[n] = values[i]
            n += 1
    ends = np.array([0, n])
    value_bucket, value_sign, presence_bucket, presence_sign = hashes
    presence, saturate, normalise = switches
    row = Hashed(
        ends,
        codes[:n],
        observed[:n],
        value_bucket,
        value_sign,
        presence_bucket,
        presence_sign,
        presence,
        saturate,
        normalise,
    )
    everywhere = np.arange(state.shape[0]).astype(np.uint32)
    state[:] = np.float32(0.0)
    fill_states(row, 0, 1, everywhere, state)
    return n
