"""Contract: the interface of an evidence.

In: blocks of rows. Out: one statistic per row, and the contribution of each variable to it.
"""

from collections.abc import Mapping
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from smkc.evidence.columns.block import Block


class Ring:
    """Positions of the latest rows in a ring buffer, for rows whose scores can be explained.

    Examples
    --------
    >>> ring = Ring(4)
    >>> ring.n_rows = 3
    >>> ring.places(2).tolist()
    [3, 0]
    """

    def __init__(self, size: int) -> None:
        self.size = size
        self.n_rows = 0

    def places(self, n: int) -> NDArray[np.int64]:
        """Return (n,) the positions of the next n rows."""
        return (self.n_rows + np.arange(n)) % self.size


class Part(Protocol):
    """The state of one evidence at one moment of a recording."""

    def push(self, block: Block) -> NDArray[np.float64]:
        """Return (n,) statistics of the next rows.

        Higher = more unusual, NaN where there is no statistic.
        """
        ...

    def made(self, places: NDArray[np.int64]) -> NDArray[np.float64]:
        """Return (n, V) the contribution of each variable to the statistics, not negative.

        ``places`` (n,) are positions of rows in the ring. V is C, or F for an evidence about
        newcomers.
        """
        ...

    def to_arrays(self) -> dict[str, NDArray[Any]]:
        """Return the arrays that :meth:`restore` needs to continue exactly."""
        ...

    def restore(self, arrays: Mapping[str, NDArray[Any]]) -> None:
        """Restore the state that :meth:`to_arrays` returned."""
        ...


class Evidence(Protocol):
    """One evidence, fitted on a reference: a frozen dataclass of arrays, numbers and texts."""

    @property
    def name(self) -> str:
        """Name of the evidence, as shown in alerts."""
        ...

    @property
    def is_about_newcomers(self) -> bool:
        """Whether it is about variables that the reference does not know."""
        ...

    def start(self, before: Block, ring: Ring) -> Part:
        """Return a state that continues after the rows ``before``, which may be none."""
        ...
