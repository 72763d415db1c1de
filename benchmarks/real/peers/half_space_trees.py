"""Half-space trees: River's streaming detector, which takes rows as dicts.

In: rows in order of time. Out: River's score, high in regions with few reference rows.
"""

from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from benchmarks.libraries import library
from benchmarks.real.peers.aligned import Columns, require_fitted
from smkc.recording import Recording

__all__ = ["HalfSpaceTrees"]

# Maximum number of reference rows learned, the latest: the trees count only the last window.
MOST_LEARNED = 4000


class HalfSpaceTrees:
    """River's ``HalfSpaceTrees`` with its default settings, learned on the reference alone.

    River accepts rows that lack a variable, so gaps in test rows are not filled. Its trees never
    use a variable that the first learned row lacks, so gaps in reference rows are filled as in
    :mod:`benchmarks.real.peers.aligned`, and new variables are ignored.

    Parameters
    ----------
    trees, height, window
        River's ``n_trees``, ``height`` and ``window_size``, with River's defaults. The window is at
        most as long as the reference, because otherwise every score would be the same.
    seed
        random seed of the trees.

    Notes
    -----
    River needs the limits of each variable: these are the reference's smallest and largest value,
    or one spread to either side of a constant.
    S. C. Tan, K. M. Ting and T. F. Liu, "Fast anomaly detection for streaming data", IJCAI 2011.
    """

    look_ahead = 0
    columns_: Columns
    trees_: Any

    def __init__(
        self, *, trees: int = 10, height: int = 8, window: int = 250, seed: int = 0
    ) -> None:
        self.trees = trees
        self.height = height
        self.window = window
        self.seed = seed

    def fit(self, reference: Recording) -> Self:
        """Learn the latest rows of the reference, one by one."""
        anomaly = library("river.anomaly", "river")
        self.columns_ = Columns.of(reference)
        names, rows = self.columns_.names, self.columns_.filled(reference)
        lowest, highest = rows.min(axis=0), rows.max(axis=0)
        margin = np.where(highest > lowest, 0.0, 1.0)
        limits = zip((lowest - margin).tolist(), (highest + margin).tolist(), strict=True)
        self.trees_ = anomaly.HalfSpaceTrees(
            n_trees=self.trees,
            height=self.height,
            window_size=min(self.window, len(rows)),
            limits=dict(zip(names, limits, strict=True)),
            seed=self.seed,
        )
        for row in rows[-MOST_LEARNED:].tolist():
            self.trees_.learn_one(dict(zip(names, row, strict=True)))
        return self

    def score(self, test: Recording) -> NDArray[np.float64]:
        """Return (T,) River's score of each row; NaN if it has no variable of the reference."""
        require_fitted(self, "trees_")
        rows = self.columns_.standardised(test)
        scores = np.full(len(rows), np.nan)
        for at, row in enumerate(rows.tolist()):
            observed = {
                name: value
                for name, value in zip(self.columns_.names, row, strict=True)
                if value == value  # not NaN
            }
            if observed:
                scores[at] = self.trees_.score_one(observed)
        return scores
