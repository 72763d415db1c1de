"""PCA: the residual of a row outside the reference's principal components.

In: aligned columns. Out: the mean squared residual of each row.
"""

from typing import Self

import numpy as np
from numpy.typing import NDArray

from benchmarks.real.peers.aligned import AlignedRows, guiltiest, require_fitted
from smkc.errors import SettingError
from smkc.parallel import products_on_one_thread
from smkc.recording import Recording

__all__ = ["PrincipalComponents"]


class PrincipalComponents:
    """Residual of a row outside the space of the reference's first principal components.

    Columns are aligned as in :mod:`benchmarks.real.peers.aligned`.

    Parameters
    ----------
    explained
        share of the reference's variance that the components kept must explain. At most C - 1
        components are kept for C columns, so that there is a residual.

    Notes
    -----
    J. E. Jackson and G. S. Mudholkar, "Control procedures for residuals associated with principal
    component analysis", Technometrics 21, 1979: the statistic Q.
    """

    look_ahead = 0
    aligned_: AlignedRows
    mean_: NDArray[np.float64]
    components_: NDArray[np.float64]

    def __init__(self, *, explained: float = 0.9) -> None:
        if not 0.0 < explained <= 1.0:
            raise SettingError(f"explained={explained!r} is no share of variance; give 0 to 1")
        self.explained = explained

    def fit(self, reference: Recording) -> Self:
        """Learn the components."""
        self.aligned_ = AlignedRows(reference)
        rows = self.aligned_.rows
        self.mean_ = rows.mean(axis=0)
        with products_on_one_thread():
            _, strength, components = np.linalg.svd(rows - self.mean_, full_matrices=False)
        variance = np.cumsum(strength**2)
        n_kept = 0
        if variance[-1] > 0:
            n_kept = int(np.searchsorted(variance / variance[-1], self.explained)) + 1
        self.components_ = components[: min(n_kept, rows.shape[1] - 1)]  # (k, C)
        return self

    def score(self, test: Recording) -> NDArray[np.float64]:
        """Return (T,) the mean squared residual over the columns."""
        require_fitted(self, "components_")
        squares: NDArray[np.float64] = np.mean(self._residual(test) ** 2, axis=1)
        return squares

    def blame(self, test: Recording, row: int) -> list[str]:
        """Return the columns by the size of their residuals in a row, largest first."""
        require_fitted(self, "components_")
        residual = self._residual(test.rows(0, row + 1))[-1]
        return guiltiest(self.aligned_.columns.names, np.abs(residual))

    def _residual(self, test: Recording) -> NDArray[np.float64]:
        """Return (T, C) residuals outside the components."""
        rows = self.aligned_.windows(test) - self.mean_
        with products_on_one_thread():
            residual: NDArray[np.float64] = rows - (rows @ self.components_.T) @ self.components_
        return residual
