"""Views: rows seen another way before their neighbours are sought.

In: rows of scaled values, NaN where a variable was not observed. Out: the same rows averaged over
the recent past (``Slow``), or by how much the whole system moves over several lags, whatever its
variables are called (``Pooled``).
"""

from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from smkc.evidence.reference._loops import pooled_lags, trailing_means

__all__ = ["Pooled", "Slow", "View", "spread_of"]

# A spread of fewer rows is not trusted.
LEAST_ROWS = 16

# A trailing mean needs this share of its rows.
LEAST_SHARE = 0.25

# Spread of a view's values: as in scaling, and not below this.
IQR_OF_UNIT_NORMAL, FEWEST_DEVIATIONS, LEAST_SPREAD = 1.349, 0.25, 0.02

# Quantiles of each lag's distances, and what is added to a distance before its logarithm.
SHARES = (0.5, 0.9, 1.0)
POOLED_CLIP = 8.0


class View(Protocol):
    """A way of seeing rows; it holds the recent past."""

    def push(self, rows: NDArray[np.float32]) -> NDArray[np.float32]:
        """Take (n, C) rows in; return (n, D)."""
        ...

    def to_arrays(self) -> dict[str, NDArray[Any]]:
        """Return what :meth:`restore` needs to go on exactly."""
        ...

    def restore(self, arrays: dict[str, NDArray[Any]]) -> None:
        """Take over what :meth:`to_arrays` gave."""
        ...


class Slow:
    """Rows as each variable's mean over the last rows; NaN if too few were observed."""

    def __init__(self, n_variables: int, length: int) -> None:
        self.length = length
        self.before = np.full((length - 1, n_variables), np.nan, np.float32)

    def push(self, rows: NDArray[np.float32]) -> NDArray[np.float32]:
        """Take (n, C) rows in; return (n, C) means."""
        covered = np.concatenate([self.before, rows])
        out = np.empty_like(rows)
        trailing_means(covered, self.length, max(1.0, LEAST_SHARE * self.length), out)
        self.before = covered[len(rows) :]
        return out

    def to_arrays(self) -> dict[str, NDArray[Any]]:
        """Return what :meth:`restore` needs to go on exactly."""
        return {"before": self.before}

    def restore(self, arrays: dict[str, NDArray[Any]]) -> None:
        """Take over what :meth:`to_arrays` gave."""
        self.before = arrays["before"].copy()


class Pooled:
    """How far states of the system lie apart over short lags, pooled over the last rows.

    Parameters
    ----------
    width
        of a state.
    length
        rows that are pooled.
    lags
        how many lags, from 1 on.
    centre, spread
        (F,) of the features in the reference; None to leave them as they are.
    """

    def __init__(
        self,
        width: int,
        length: int,
        lags: int,
        centre: NDArray[np.float32] | None = None,
        spread: NDArray[np.float32] | None = None,
    ) -> None:
        self.length, self.lags = length, lags
        self.centre, self.spread = centre, spread
        self.before = np.zeros((0, width), np.float32)
        self.n_seen = 0

    @property
    def n_before(self) -> int:
        """How many states before a row its features depend on."""
        return self.length + self.lags

    def push(self, rows: NDArray[np.float32]) -> NDArray[np.float32]:
        """Take (n, width) states in; return (n, F) features.

        Standardised ones are NaN until enough states have been seen: there is nothing to pool.
        """
        n = len(rows)
        n_lacking = max(0, self.n_before - self.n_seen)
        self.n_seen += n
        before = self.before
        if len(before) < self.n_before:  # before the first state there was the same
            first = before[:1] if len(before) else rows[:1]
            lacking = self.n_before - len(before)
            before = np.concatenate([np.repeat(first, lacking, axis=0), before])
        covered = np.ascontiguousarray(np.concatenate([before, rows]))
        out = np.empty((n, 3 * self.lags * len(SHARES)), np.float32)
        pooled_lags(covered, self.length, self.lags, np.array(SHARES), out)
        self.before = covered[-self.n_before :]
        if self.centre is None or self.spread is None:
            return out
        standard = (out - self.centre) / self.spread
        clipped: NDArray[np.float32] = np.clip(standard, -POOLED_CLIP, POOLED_CLIP)
        clipped[:n_lacking] = np.nan
        return clipped

    def to_arrays(self) -> dict[str, NDArray[Any]]:
        """Return what :meth:`restore` needs to go on exactly."""
        return {"before": self.before, "n_seen": np.array([self.n_seen])}

    def restore(self, arrays: dict[str, NDArray[Any]]) -> None:
        """Take over what :meth:`to_arrays` gave."""
        self.before = arrays["before"].copy()
        self.n_seen = int(arrays["n_seen"][0])


def spread_of(rows: NDArray[np.float32], least: float = LEAST_SPREAD) -> NDArray[np.float32]:
    """(D,) robust spread of (n, D) rows, NaN ignored; 1 where fewer than 16 are observed."""
    out = np.ones(rows.shape[1], np.float32)
    for j, column in enumerate(rows.T):
        seen = column[~np.isnan(column)]
        if len(seen) >= LEAST_ROWS:
            low, high = np.quantile(seen, (0.25, 0.75))
            spread = max((high - low) / IQR_OF_UNIT_NORMAL, FEWEST_DEVIATIONS * seen.std())
            out[j] = max(spread, least)
    return out
