"""PyOD: the two detectors that it recommends, on aligned columns.

In: rows of aligned columns. Out: PyOD's ``decision_function``.

For tables of the benchmark's sizes, the planner of PyOD 3.6.7 (``pyod.utils.ad_engine.ADEngine``,
with rules from ADBench, Han et al., NeurIPS 2022) ranks IForest first and ECOD second, with two
exceptions: for SKAB and for cloudmon's purchase, with fewer than 20 columns and 5,000 rows, it
ranks KNN first and IForest second. IForest and ECOD are run on all datasets; another peer is a kNN.
For time series, the planner proposes KShape, whose loops in Python are too slow here, and
SpectralResidual, which transforms the whole recording at once and so looks ahead to its end.
"""

from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from threadpoolctl import threadpool_limits

from benchmarks.libraries import library
from benchmarks.real.peers.aligned import AlignedRows, guiltiest, require_fitted
from smkc.errors import SettingError
from smkc.recording import Recording

__all__ = ["PyodEcod", "PyodIForest"]


class PyodIForest:
    """PyOD's ``IForest`` on rows, with its default settings.

    Parameters
    ----------
    seed
        random seed of the trees.
    reference_size
        how many of the reference's rows are used at most, evenly spread.
    """

    look_ahead = 0
    aligned_: AlignedRows
    model_: Any

    def __init__(self, *, seed: int = 0, reference_size: int = 4000) -> None:
        self.seed = seed
        self.reference_size = reference_size

    def fit(self, reference: Recording) -> Self:
        """Fit PyOD's detector."""
        models = library("pyod.models.iforest", "pyod")
        self.aligned_ = AlignedRows(reference)
        with threadpool_limits(limits=1):
            self.model_ = models.IForest(random_state=self.seed).fit(
                self.aligned_.reference_windows(self.reference_size)
            )
        return self

    def score(self, test: Recording) -> NDArray[np.float64]:
        """Return (T,) PyOD's score of each row."""
        require_fitted(self, "model_")
        rows = self.aligned_.windows(test)
        if len(rows) == 0:
            return np.empty(0)
        with threadpool_limits(limits=1):
            return np.asarray(self.model_.decision_function(rows), np.float64)


class PyodEcod:
    """PyOD's ``ECOD`` on blocks of rows, as it would be used on a stream.

    Parameters
    ----------
    block
        rows per call. ECOD ranks the rows of a call together with the reference's, so a score also
        depends on later rows of its block; a single call for the whole recording would let it look
        ahead to the end.
    reference_size
        how many of the reference's rows are used at most, evenly spread.

    Notes
    -----
    Z. Li et al., "ECOD: unsupervised outlier detection using empirical cumulative distribution
    functions", TKDE 2022.
    """

    aligned_: AlignedRows
    model_: Any

    def __init__(self, *, block: int = 64, reference_size: int = 4000) -> None:
        if block < 1:
            raise SettingError(f"block={block!r} rows is none; give 1 or more")
        self.block = block
        self.reference_size = reference_size

    @property
    def look_ahead(self) -> int:
        """Number of rows of a block that may come after a row."""
        return self.block - 1

    def fit(self, reference: Recording) -> Self:
        """Fit PyOD's detector."""
        models = library("pyod.models.ecod", "pyod")
        self.aligned_ = AlignedRows(reference)
        self.model_ = models.ECOD().fit(self.aligned_.reference_windows(self.reference_size))
        return self

    def score(self, test: Recording) -> NDArray[np.float64]:
        """Return (T,) PyOD's score of each row within its block."""
        require_fitted(self, "model_")
        rows = self.aligned_.windows(test)
        scores = np.empty(len(rows))
        for start in range(0, len(rows), self.block):
            part = slice(start, start + self.block)
            scores[part] = self.model_.decision_function(rows[part])
        return scores

    def blame(self, test: Recording, row: int) -> list[str]:
        """Return the columns by their terms in the sum that is ECOD's score (its ``O``)."""
        require_fitted(self, "model_")
        first = row - row % self.block
        rows = self.aligned_.windows(test.rows(0, first + self.block))[first:]
        self.model_.decision_function(rows)
        parts = np.asarray(self.model_.O[row - first - len(rows)], np.float64)
        return guiltiest(self.aligned_.columns.names, parts)
