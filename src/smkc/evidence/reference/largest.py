"""Largest: the size that stands out most among all variables of a row, in usual largest sizes.

In: sizes of what each variable did, NaN where it was not observed. Out: one number a row, which one
variable makes, however many others there are. What a size is of, ``jump`` and ``alone`` say.
"""

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from smkc.evidence.reference.contract import Block, Ledger
from smkc.evidence.reference.memory import Memory

__all__ = ["LargestPart", "usual_sizes"]

# A variable's usual largest size: this quantile, but at least so many mean sizes and this.
SHARE, MEANS, LEAST = 0.99, 3.0, 0.05


def usual_sizes(
    sizes: NDArray[np.floating[Any]],
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return each variable's usual largest size, and its usual one, from sizes (n, C)."""
    n_variables = sizes.shape[1]
    scale, usual = np.full(n_variables, LEAST), np.full(n_variables, LEAST)
    for j in range(n_variables):
        seen = sizes[~np.isnan(sizes[:, j]), j]
        if len(seen):
            mean = float(seen.mean())
            scale[j] = max(float(np.quantile(seen, SHARE)), MEANS * mean, LEAST)
            usual[j] = max(float(np.quantile(seen, 0.75)), 0.5 * mean, LEAST / MEANS)
    return scale, usual


class LargestPart:
    """The latest rows, and how the usual sizes have grown.

    Parameters
    ----------
    sizes_of
        (k + n, C) rows, k of them the past -> (n, C) sizes.
    n_past
        k.
    scale, usual
        (C,) of :func:`usual_sizes`.
    before
        rows before the first; there may be none.
    memory
        which of the latest rows count as normal.
    """

    def __init__(
        self,
        sizes_of: Callable[[NDArray[np.float32]], NDArray[np.floating[Any]]],
        n_past: int,
        scale: NDArray[np.float64],
        usual: NDArray[np.float64],
        before: Block,
        memory: Memory,
    ) -> None:
        self.sizes_of, self.scale = sizes_of, scale
        self.ledger = Ledger(memory, usual)
        nothing = np.full((n_past, len(scale)), np.nan, np.float32)
        self.past = _last(np.concatenate([nothing, before.rows]), n_past)

    def push(self, block: Block) -> NDArray[np.float64]:
        """Take rows in; return (n, 2) largest sizes, in reference units and grown ones."""
        covered = np.concatenate([self.past, block.rows])
        sizes = self.sizes_of(covered)
        known = np.where(np.isnan(sizes), 0.0, sizes) / self.scale
        grown = known / self.ledger.growth
        statistics = np.empty((len(known), 2))
        statistics[:, 0] = known.max(axis=1, initial=0.0)
        statistics[:, 1] = grown.max(axis=1, initial=0.0)
        self.past = _last(covered, len(self.past))
        self.ledger.take(sizes.astype(np.float32))
        return statistics

    def made(self, places: NDArray[np.int64]) -> NDArray[np.float64]:
        """(n, C) squared sizes: what stands out is one variable's, the others have little."""
        sizes = np.nan_to_num(self.ledger.parts[places]).astype(np.float64)
        return (sizes / (self.scale * self.ledger.growth)) ** 2

    def refresh(self) -> None:
        """Look at growth."""
        self.ledger.grown()

    def to_arrays(self) -> dict[str, NDArray[Any]]:
        """Return what :meth:`restore` needs to go on exactly."""
        return {"past": self.past, **self.ledger.to_arrays()}

    def restore(self, arrays: Mapping[str, NDArray[Any]]) -> None:
        """Take over what :meth:`to_arrays` gave."""
        self.past = arrays["past"].copy()
        self.ledger.restore(arrays)


def _last(rows: NDArray[np.float32], n: int) -> NDArray[np.float32]:
    return rows[len(rows) - n :].copy()
