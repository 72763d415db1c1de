"""Components: the part of a row that the reference's principal components do not explain.

In: rows of scaled values, NaN where a variable was not observed. Out: the size of the residual
after regressing the observed entries on the components, in units of its usual size, and the
residual of each variable.
"""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from smkc.evidence.columns.block import Block
from smkc.evidence.saving import SavedState
from smkc.evidence.settings import SETTINGS
from smkc.evidence.system._loops import component_residuals
from smkc.evidence.system.contract import Ring
from smkc.evidence.system.neighbours import carried_forward
from smkc.parallel import products_on_one_thread

# Upper limit for the number of components, as the time per row grows with its square. With more
# than WIDE variables, and fewer rows than variables, components are found from at most WIDE rows.
MOST_COMPONENTS, WIDE = 128, 1024
TINY = float(np.finfo(np.float64).tiny)


@dataclass(frozen=True, kw_only=True, eq=False)
class Components:
    """Principal components of the reference.

    Parameters
    ----------
    centre
        (C,) mean row.
    loadings
        (k, C) components.
    prior
        (k,) ridge on the components' values, smaller for components with more variance.
    expected
        (C,) mean squared residual, from rows of the half that components were not fitted on.
    """

    is_about_newcomers: ClassVar[bool] = False

    centre: NDArray[np.float64]
    loadings: NDArray[np.float64]
    prior: NDArray[np.float64]
    expected: NDArray[np.float64]

    @classmethod
    def fit(cls, rows: NDArray[np.float32]) -> "Components":
        """Fit to the reference's rows (n, C), NaN where not observed."""
        filled = carried_forward(rows).astype(np.float64)
        centre = filled.mean(axis=0)
        half = len(filled) // 2
        parts = []
        for known, other in ((filled[:half], filled[half:]), (filled[half:], filled[:half])):
            if len(known) > 1 and len(other):
                loadings, prior = _components(known - centre)
                parts.append(_residuals(other, centre, loadings, prior) ** 2)
        loadings, prior = _components(filled - centre)
        if not parts:
            parts = [_residuals(filled, centre, loadings, prior) ** 2]
        squared = np.minimum(np.concatenate(parts), SETTINGS.clip**2)
        expected = np.maximum(squared.mean(axis=0), SETTINGS.same_share**2)
        return cls(centre=centre, loadings=loadings, prior=prior, expected=expected)

    @property
    def name(self) -> str:
        """Name of the evidence, as shown in alerts."""
        return "relation"

    def residuals(self, rows: NDArray[np.float32]) -> NDArray[np.float64]:
        """Return (n, C) the residual of each observed entry; NaN where not observed."""
        return _residuals(rows, self.centre, self.loadings, self.prior)

    def start(self, before: Block, ring: Ring) -> "ComponentsPart":
        """Return a new state; earlier rows have no effect."""
        return ComponentsPart(self, ring)


class ComponentsPart(SavedState):
    """The squared residuals of the rows in the ring."""

    saved = ("squared",)

    def __init__(self, fitted: Components, ring: Ring) -> None:
        self.fitted = fitted
        self.ring = ring
        self.squared = np.zeros((ring.size, len(fitted.expected)), np.float32)
        # (n, C) of the latest block.
        self.residuals = np.empty((0, len(fitted.expected)), np.float32)

    def push(self, block: Block) -> NDArray[np.float64]:
        """Return (n,) the size of the residual of each of the next rows."""
        residuals = self.fitted.residuals(block.rows)
        self.residuals = residuals.astype(np.float32)
        squared = np.minimum(residuals**2, SETTINGS.clip**2)
        n_seen = np.maximum((~np.isnan(squared)).sum(axis=1), 1)
        squared = np.where(np.isnan(squared), 0.0, squared)
        self.squared[self.ring.places(len(squared))] = squared
        return np.asarray(np.sqrt((squared / self.fitted.expected).sum(axis=1) / n_seen))

    def made(self, places: NDArray[np.int64]) -> NDArray[np.float64]:
        """Return (n, C) squared residuals of rows in the ring, in units of the usual ones."""
        made: NDArray[np.float64] = self.squared[places] / self.fitted.expected
        return made


def _components(
    centred: NDArray[np.float64],
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return (k, C) components that explain most of the variance, and (k,) the ridge of each."""
    n_variables = centred.shape[1]
    if n_variables < 2:
        return np.zeros((0, n_variables)), np.zeros(0)
    values, vectors = _axes(centred)
    total = values.sum()
    if total <= 0:
        return np.zeros((0, n_variables)), np.zeros(0)
    k = int(np.searchsorted(np.cumsum(values) / total, SETTINGS.nearly_all)) + 1
    k = max(1, min(k, n_variables - 1, MOST_COMPONENTS))
    loadings = np.ascontiguousarray(vectors[:, :k].T)
    return loadings, SETTINGS.tiny_share / np.maximum(values[:k], 1e-6)


def _axes(
    centred: NDArray[np.float64],
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return (r,) variances along the principal axes, the largest first, and (C, r) the axes.

    The product of variables and that of rows have the same variances; the smaller one is used.
    """
    n, n_variables = centred.shape
    with products_on_one_thread():
        if n_variables <= max(n, WIDE):
            values, vectors = np.linalg.eigh(centred.T @ centred / n)
            return np.maximum(values[::-1], 0.0), vectors[:, ::-1]
        some = centred[np.linspace(0, n - 1, min(n, WIDE)).astype(np.int64)]
        values, rows = np.linalg.eigh(some @ some.T / len(some))
        values, rows = np.maximum(values[::-1], 0.0), rows[:, ::-1][:, :MOST_COMPONENTS]
        axes = some.T @ rows
        return values, axes / np.maximum(np.sqrt((axes**2).sum(axis=0)), TINY)


def _residuals(
    rows: NDArray[np.float32] | NDArray[np.float64],
    centre: NDArray[np.float64],
    loadings: NDArray[np.float64],
    prior: NDArray[np.float64],
) -> NDArray[np.float64]:
    """Return (n, C) the residual of each observed entry; NaN where not observed."""
    out = np.empty(rows.shape)
    component_residuals(np.ascontiguousarray(rows - centre), loadings, prior, out)
    return out
