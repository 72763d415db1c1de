"""Random scores: a baseline without any information.

In: anything. Out: numbers from a seeded generator.
"""

from typing import Self

import numpy as np
from numpy.typing import NDArray

from smkc.recording import Recording

__all__ = ["RandomScores"]


class RandomScores:
    """Uniform random numbers, the same for the same seed.

    Compare every metric with that of random scores: if half of the rows are anomalous, their area
    under the precision-recall curve is 0.5, and their volume under the surface is larger.

    Examples
    --------
    >>> rows = Recording.from_rows(range(3), [{"cpu": 0.1}] * 3)
    >>> RandomScores(seed=0).fit(rows).score(rows).round(2).tolist()
    [0.64, 0.27, 0.04]
    """

    look_ahead = 0

    def __init__(self, *, seed: int = 0) -> None:
        self.seed = seed

    def fit(self, reference: Recording) -> Self:
        """Learn nothing."""
        return self

    def score(self, test: Recording) -> NDArray[np.float64]:
        """Return (T,) random numbers from 0 to 1."""
        return np.random.default_rng(self.seed).random(len(test))

    def blame(self, test: Recording, row: int) -> list[str]:
        """Return the variables in random order."""
        order = np.random.default_rng((self.seed, row)).permutation(len(test.names))
        return [test.names[j] for j in order]
