"""Collected: samples of several responses, to be joined once they are all there.

In: arrays of codes, times and values. Out: samples.
"""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from smkc.serve.intake.samples import Samples


class Collected:
    """Samples of several responses; callers of :meth:`add` must add names to ``codes``."""

    def __init__(self) -> None:
        self.codes: dict[str, int] = {}
        self._columns: tuple[list[NDArray[Any]], ...] = ([], [], [])

    def __len__(self) -> int:
        return sum(map(len, self._columns[0]))

    def add(
        self, codes: NDArray[np.int64], times: NDArray[np.int64], values: NDArray[np.float64]
    ) -> None:
        """Append samples, (n,) each."""
        for column, part in zip(self._columns, (codes, times, values), strict=True):
            column.append(part)

    def cut(self, n_samples: int) -> None:
        """Remove what was added after the first ``n_samples`` samples."""
        while len(self) > n_samples:
            for column in self._columns:
                column.pop()

    def samples(self) -> Samples:
        """Return all samples, with only the names that have samples; nothing is left here."""
        joined = []
        for column, kind in zip(self._columns, (np.int64, np.int64, np.float64), strict=True):
            joined.append(np.concatenate([np.empty(0, kind), *column]))
            column.clear()  # so that at most one column is in memory twice
        codes, times, values = joined
        names = tuple(self.codes)
        found = Samples(names=names, codes=codes, times=times, values=values)
        if np.bincount(codes, minlength=len(names)).all():
            return found
        return found.take(np.ones(len(codes), np.bool_))
