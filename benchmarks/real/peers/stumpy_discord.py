"""STUMPY: discords of the test part against the reference, column by column.

In: aligned columns. Out: the distance of the shapes that end at a row to the nearest shapes in the
reference.
"""

import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Self

import numba
import numpy as np
from numpy.typing import NDArray

from benchmarks.libraries import library
from benchmarks.real.peers.aligned import AlignedRows, require_fitted
from smkc.errors import SettingError
from smkc.recording import Recording

__all__ = ["StumpyDiscord"]


class StumpyDiscord:
    """Mean of the largest few distances to the nearest reference shape over the columns.

    STUMPY's ``mstump`` compares a recording only with itself, so ``stump`` joins each column with
    its reference, and the columns' profiles are sorted and averaged afterwards. Columns are aligned
    as in :mod:`benchmarks.real.peers.aligned`.

    Parameters
    ----------
    window
        rows per shape; shapes are compared without their level and scale.
    largest
        number of columns averaged, those with the largest distances.
    reference_size
        maximum number of reference rows, the latest, because shapes need consecutive rows. The
        cost is proportional to test rows x reference rows x columns.

    Notes
    -----
    S. M. Law, JOSS 4, 2019 (STUMPY). C.-C. M. Yeh, N. Kavantzas and E. Keogh, "Matrix profile VI",
    ICDM 2017, sort the distances of each pair of shapes before they search the nearest; here the
    nearest is searched first.
    """

    look_ahead = 0
    aligned_: AlignedRows

    def __init__(self, *, window: int = 16, largest: int = 3, reference_size: int = 4000) -> None:
        if window < 3:
            raise SettingError(f"window={window!r} rows is no shape for STUMPY; give 3 or more")
        if largest < 1:
            raise SettingError(f"largest={largest!r} columns is none; give 1 or more")
        self.window = window
        self.largest = largest
        self.reference_size = reference_size

    def fit(self, reference: Recording) -> Self:
        """Keep the aligned rows of the reference."""
        library("stumpy", "stumpy")
        self.aligned_ = AlignedRows(reference, self.window)
        return self

    def score(self, test: Recording) -> NDArray[np.float64]:
        """Return (T,) the mean of the largest distances of the shapes that end at each row."""
        require_fitted(self, "aligned_")
        stumpy = library("stumpy", "stumpy")
        rows = self.aligned_.columns.filled(test)
        if len(rows) == 0:
            return np.empty(0)
        rows = np.concatenate([self.aligned_.before(test, rows), rows])
        kept = self.aligned_.rows[-max(self.reference_size, self.window) :]
        profiles = np.empty((rows.shape[1], len(test)))
        with warnings.catch_warnings(), _one_thread():
            # STUMPY warns of distances near 0, such as those of constant columns.
            warnings.simplefilter("ignore")
            for column in range(rows.shape[1]):
                joined = stumpy.stump(
                    np.ascontiguousarray(rows[:, column]),
                    self.window,
                    np.ascontiguousarray(kept[:, column]),
                    ignore_trivial=False,
                )
                profiles[column] = joined[:, 0].astype(np.float64)
        profiles[~np.isfinite(profiles)] = 0.0
        profiles.sort(axis=0)
        mean: NDArray[np.float64] = profiles[-self.largest :].mean(axis=0)
        return mean


@contextmanager
def _one_thread() -> Iterator[None]:
    """Run compiled loops on one thread, because threads wait for each other on busy processors.

    On 2 busy processors, a join of short columns took 450 ms with 2 threads and 4 ms with 1.
    """
    before = numba.get_num_threads()
    numba.set_num_threads(1)
    try:
        yield
    finally:
        numba.set_num_threads(before)
