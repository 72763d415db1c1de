"""Contract: what an evidence against a reference offers, and what it is given.

In: blocks of rows. Out: one statistic a row, and how much of it each variable made.
"""

from collections.abc import Mapping
from typing import Any, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

__all__ = ["Block", "Evidence", "Part", "Ring"]


class Block(NamedTuple):
    """Consecutive rows, all within one block of the grid.

    ``rows`` (n, C) float32, scaled values of the variables that the reference knows, NaN where not
    observed; ``fresh`` (n, F) float32, scaled values of variables that the reference does not know;
    ``values`` (n, A) float32, what is asked of single columns: scaled values of known variables,
    not clipped, then for roles the middle of their members and how far one stands apart;
    ``fresh_values`` (n, F) float32, not clipped; ``clocks`` (n,) the rows' times, in seconds for
    dates.
    """

    rows: NDArray[np.float32]
    fresh: NDArray[np.float32]
    values: NDArray[np.float32]
    fresh_values: NDArray[np.float32]
    clocks: NDArray[np.float64]

    def part(self, rows: slice) -> "Block":
        """Return some of the rows."""
        return Block(*(array[rows] for array in self))  # type: ignore[arg-type]


class Ring:
    """The places of the latest rows, of which it can be said who made their scores.

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
        """(n,) where the next rows go."""
        return (self.n_rows + np.arange(n)) % self.size


class Part(Protocol):
    """One evidence at one moment of a recording."""

    def push(self, block: Block) -> NDArray[np.float64]:
        """Take rows in; return (n,) statistics.

        Higher = more unusual, NaN where there is nothing to say.
        """
        ...

    def made(self, places: NDArray[np.int64]) -> NDArray[np.float64]:
        """(n, V) what each variable made of the statistics of rows in the ring, not negative.

        V is C, or F for an evidence about variables that the reference does not know.
        """
        ...

    def to_arrays(self) -> dict[str, NDArray[Any]]:
        """Return what :meth:`restore` needs to go on exactly."""
        ...

    def restore(self, arrays: Mapping[str, NDArray[Any]]) -> None:
        """Take over what :meth:`to_arrays` gave."""
        ...


class Evidence(Protocol):
    """One question, fitted on a reference: a frozen dataclass of arrays, numbers and texts."""

    @property
    def name(self) -> str:
        """As shown in alerts."""
        ...

    @property
    def is_about_newcomers(self) -> bool:
        """Whether it speaks of variables that the reference does not know."""
        ...

    def start(self, before: Block, ring: Ring) -> Part:
        """Return the evidence at the moment after the rows ``before``; there may be none."""
        ...
