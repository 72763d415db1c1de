"""Contract: what an evidence against a reference offers, and what it is given.

In: blocks of rows. Out: one statistic a row in two readings, against the reference alone and
against what is normal by now, and how much of it each variable made.
"""

from collections.abc import Mapping
from typing import Any, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from smkc.evidence.reference.memory import Memory

__all__ = ["Block", "Evidence", "Ledger", "Part"]

# Growth is told from the latest rows, twice as many as quarantine has, after every so many blocks;
# so many of them are looked at. A change of less than this, in logarithms, is left alone.
GROWTH_BLOCKS, LOOKED_AT, LEAST_CHANGE = 4, 200, 0.25

# What has grown is half of it after so many memories' worth of rows.
HALVED_AFTER = 4


class Block(NamedTuple):
    """Consecutive rows, all within one block of the grid.

    ``rows`` (n, C) float32, scaled values of the variables that the reference knows, NaN where not
    observed; ``states`` (n, M) float32, sketches of those and of members of known roles;
    ``fresh`` (n, F) float32, scaled values of variables that the reference does not know;
    ``counts`` (n,) how many variables were sketched; ``values`` (n, A) float32, what is asked of
    single columns: scaled values of known variables, not clipped, then for roles the middle of
    their members and how far one stands apart; ``fresh_values`` (n, F) float32, not clipped;
    ``clocks`` (n,) the rows' times, in seconds for dates.
    """

    rows: NDArray[np.float32]
    states: NDArray[np.float32]
    fresh: NDArray[np.float32]
    counts: NDArray[np.float32]
    values: NDArray[np.float32]
    fresh_values: NDArray[np.float32]
    clocks: NDArray[np.float64]

    def part(self, rows: slice) -> "Block":
        """Return some of the rows."""
        return Block(*(array[rows] for array in self))  # type: ignore[arg-type]


class Part(Protocol):
    """One evidence at one moment of a recording."""

    def push(self, block: Block) -> NDArray[np.float64]:
        """Take rows in; return (n, 2) statistics, the frozen and the adaptive reading.

        Higher = more unusual, NaN where there is nothing to say.
        """
        ...

    def made(self, places: NDArray[np.int64]) -> NDArray[np.float64]:
        """(n, V) what each variable made of the statistics of rows in memory, not negative.

        V is C, or F for an evidence about variables that the reference does not know.
        """
        ...

    def refresh(self) -> None:
        """Take over what the memory admitted at the end of a block."""
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
        """What an alert says that spoke."""
        ...

    def start(self, before: Block, memory: Memory) -> Part:
        """Return the evidence at the moment after the rows ``before``; there may be none."""
        ...


class Ledger:
    """What variables made of a statistic, for the rows in memory; and by how much that has grown.

    Parameters
    ----------
    memory
        whose ring this one is parallel to.
    usual
        (C,) upper quartile in the reference. A variable has grown if most of the latest rows,
        far more than a fault has, lie above it.
    """

    def __init__(self, memory: Memory, usual: NDArray[np.float64]) -> None:
        self.memory = memory
        self.usual = usual
        self.parts = np.zeros((memory.size, len(usual)), np.float32)
        self.growth = np.ones(len(usual))
        self.held = np.ones(len(usual))

    def take(self, parts: NDArray[np.float32]) -> None:
        """Write down (n, C) what variables made of the next rows."""
        self.parts[self.memory.places(len(parts))] = parts

    def grown(self) -> bool:
        """Look at growth after a whole block; tell whether ``growth`` (C,) is another now."""
        memory = self.memory
        n, length = memory.n_rows, 2 * memory.quarantine
        if n % (GROWTH_BLOCKS * memory.block) or 2 * n < length:
            return False
        step = max(1, length // LOOKED_AT)
        rows = np.arange(n - step, n - length - 1, -step)
        latest = np.nan_to_num(self.parts[rows % memory.size])
        latest[rows < 0] = 0.0
        # Once a new state is normal its rows are near one another, and to the reference alone they
        # would be strange again: what has grown shrinks slowly.
        passed = GROWTH_BLOCKS * memory.block / (HALVED_AFTER * memory.size)
        now = np.median(latest, axis=0) / self.usual
        self.held = np.maximum(1.0, np.maximum(now, self.held * 0.5**passed))
        growth = self.held
        if not (np.abs(np.log(growth / self.growth)) > LEAST_CHANGE).any():
            return False
        self.growth = growth.copy()
        return True

    def to_arrays(self) -> dict[str, NDArray[Any]]:
        """Return what :meth:`restore` needs to go on exactly."""
        return {"parts": self.parts, "growth": self.growth, "held": self.held}

    def restore(self, arrays: Mapping[str, NDArray[Any]]) -> None:
        """Take over what :meth:`to_arrays` gave."""
        self.parts, self.growth = arrays["parts"].copy(), arrays["growth"].copy()
        self.held = arrays["held"].copy()
