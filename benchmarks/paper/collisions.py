"""Collision fractions: how often two variables of a window share a bucket.

In: windows and a number of buckets. Out: one fraction for each of the sketch's two streams.
"""

import numpy as np
from numpy.typing import NDArray

from benchmarks.windows import PADDING, Windows
from smkc.errors import InputError
from smkc.paper.sketch import hash_names

__all__ = ["collision_fractions"]


def collision_fractions(windows: Windows, buckets: int) -> tuple[float, float]:
    """Return the collision fractions of the value and of the presence stream.

    A window's fraction is 1 - (distinct buckets / variables); the result is the mean over windows.

    Notes
    -----
    The paper, section on hash width. Its column has the training cardinalities of ``holdout_C``;
    variables of test windows collide about 3 times as often.
    """
    if len(windows) == 0:
        raise InputError("no windows to count collisions in; give at least one")
    hashes = hash_names(windows.names, buckets)
    return (
        _mean_fraction(windows, hashes.value_bucket),
        _mean_fraction(windows, hashes.presence_bucket),
    )


def _mean_fraction(windows: Windows, bucket_of: NDArray[np.uint32]) -> float:
    is_padding = windows.variables == PADDING
    # Each padded position gets a unique negative number, so that it never collides.
    own = -1 - np.arange(windows.variables.shape[1])
    places = np.where(is_padding, own, bucket_of.astype(np.int64)[windows.variables])
    places.sort(axis=1)
    n_repeated = np.count_nonzero(np.diff(places, axis=1) == 0, axis=1)
    return float(np.mean(n_repeated / np.maximum(windows.cardinality, 1)))
