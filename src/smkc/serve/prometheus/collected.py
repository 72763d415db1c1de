"""Collected: a buffer that collects the samples of several responses.

In: codes, times and values. Out: samples. The samples of an incomplete response can be removed
again. The buffer takes little more memory than the samples.
"""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from smkc.serve.intake.samples import Samples

GROWTH = 1.25


class Collected:
    """A growing buffer of samples; callers of :meth:`add` must add names to ``codes`` themselves.

    Examples
    --------
    >>> collected = Collected()
    >>> collected.codes["up"] = 0
    >>> collected.add(np.array([0]), np.array([15_000]), np.array([1.0]))
    >>> len(collected.samples())
    1
    """

    def __init__(self) -> None:
        self.codes: dict[str, int] = {}
        self._n_samples = 0
        self._columns: tuple[NDArray[Any], ...] = (
            np.empty(0, np.int64),
            np.empty(0, np.int64),
            np.empty(0, np.float64),
        )

    def __len__(self) -> int:
        return self._n_samples

    def add(
        self, codes: NDArray[np.int64], times: NDArray[np.int64], values: NDArray[np.float64]
    ) -> None:
        """Append samples, (n,) each."""
        start, end = self._n_samples, self._n_samples + len(values)
        room = len(self._columns[0])
        if end > room:
            self._resize(max(end, int(room * GROWTH)))
        for column, part in zip(self._columns, (codes, times, values), strict=True):
            column[start:end] = part
        self._n_samples = end

    def cut(self, n_samples: int) -> None:
        """Remove all but the first ``n_samples`` samples."""
        self._n_samples = min(n_samples, self._n_samples)

    def samples(self) -> Samples:
        """Return all samples, with only the names that have samples.

        Nothing can be added afterwards.
        """
        self._resize(self._n_samples)
        codes, times, values = self._columns
        self._columns = ()  # the returned samples use these arrays: never resize them again
        names = tuple(self.codes)
        found = Samples(names=names, codes=codes, times=times, values=values)
        if np.bincount(codes, minlength=len(names)).all():
            return found
        return found.take(np.ones(len(codes), np.bool_))

    def _resize(self, room: int) -> None:
        for column in self._columns:
            column.resize(room, refcheck=False)  # in place: nothing else refers to the column
