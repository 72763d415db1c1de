"""Signature matrices: inner products of a window's variables, at several scales and times.

In: values (B, L, C), 0 where missing. Out: for several time steps and scales, the inner products of
all pairs of columns over the segment that ends there.
"""

import numpy as np
from numpy.typing import NDArray

from smkc.errors import SettingError

__all__ = ["N_SCALES", "N_STEPS", "segment_ends", "segment_lengths", "signatures"]

# Segments are 1/8, 1/4 and 1/2 of a window long: 4, 8 and 16 of 32 steps. MSCRED's lengths of 10,
# 30 and 60 are meant for one long series.
SCALES = (8, 4, 2)
N_SCALES = len(SCALES)

# MSCRED uses 5 successive signature matrices (its h). Here their ends are evenly spaced from the
# middle of the window to its end, so that the longest segments cover the whole window.
N_STEPS = 5


def segment_lengths(window: int) -> tuple[int, ...]:
    """Return the lengths of segments, shortest first.

    Examples
    --------
    >>> segment_lengths(32)
    (4, 8, 16)
    """
    if window < max(SCALES):
        raise SettingError(
            f"window={window} is too short for segments of its eighth part; give at least "
            f"{max(SCALES)} steps"
        )
    return tuple(window // scale for scale in SCALES)


def segment_ends(window: int) -> tuple[int, ...]:
    """Return the (exclusive) ends of segments, the earliest first.

    Examples
    --------
    >>> segment_ends(32)
    (16, 20, 24, 28, 32)
    """
    return tuple(np.linspace(window // 2, window, N_STEPS).round().astype(int).tolist())


def signatures(values: NDArray[np.float32]) -> NDArray[np.float32]:
    """(B, T, S, C, C) signature matrices at T times and S scales of values (B, L, C).

    Notes
    -----
    Zhang et al., AAAI 2019, equation 1: the inner product of two series over a segment, divided by
    the segment's length.

    Examples
    --------
    >>> ramp = np.arange(8, dtype=np.float32).reshape(1, 8, 1)
    >>> signatures(ramp)[0, :, 1, 0, 0]  # segments of two steps that end with steps 3 to 7
    array([ 6.5, 12.5, 20.5, 30.5, 42.5], dtype=float32)
    """
    n_windows, window, n_places = values.shape
    lengths, ends = segment_lengths(window), segment_ends(window)
    out = np.empty((n_windows, len(ends), len(lengths), n_places, n_places), np.float32)
    for t, end in enumerate(ends):
        for s, length in enumerate(lengths):
            segment = values[:, end - length : end]
            out[:, t, s] = segment.transpose(0, 2, 1) @ segment / np.float32(length)
    return out
