"""STUMPY: discords of the test part against the reference, dimension by dimension.

In: aligned columns. Out: how far the shapes that end at a row are from any in the reference.
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

    STUMPY's ``mstump`` compares one recording with itself and has no second one to compare with, so
    ``stump`` joins each column with its reference, and the columns' profiles are sorted and
    averaged afterwards. Columns are aligned as :mod:`benchmarks.real.peers.aligned` says.

    Parameters
    ----------
    window
        rows a shape; shapes are compared without their level and scale.
    largest
        how many columns are averaged, those with the largest distances.
    reference_size
        reference rows used at most, the latest, as shapes need rows in a row; the cost is that
        of test rows times these times columns.

    Notes
    -----
    S. M. Law, JOSS 4, 2019 (STUMPY). C.-C. M. Yeh, N. Kavantzas and E. Keogh, "Matrix profile VI",
    ICDM 2017, sort the distances of each pair of shapes before the nearest is sought; here the
    nearest is sought first.
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
        """Keep the reference's latest rows."""
        library("stumpy", "stumpy")
        self.aligned_ = AlignedRows(reference, self.window)
        return self

    def score(self, test: Recording) -> NDArray[np.float64]:
        """(T,) mean of the largest distances of the shapes that end at each row."""
        require_fitted(self, "aligned_")
        stumpy = library("stumpy", "stumpy")
        rows = self.aligned_.columns.filled(test)
        if len(rows) == 0:
            return np.empty(0)
        rows = np.concatenate([self.aligned_.before(test, rows), rows])
        kept = self.aligned_.rows[-max(self.reference_size, self.window) :]
        profiles = np.empty((rows.shape[1], len(test)))
        with warnings.catch_warnings(), _one_thread():
            # STUMPY warns of distances near 0, as columns that stand still have.
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
    """Keep compiled loops on one thread: on busy processors, threads wait for each other.

    On two busy ones a join of short columns took 450 ms with two threads and 4 ms with one.
    """
    before = numba.get_num_threads()
    numba.set_num_threads(1)
    try:
        yield
    finally:
        numba.set_num_threads(before)
