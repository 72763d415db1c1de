"""Independent windows of a benchmark, with the truth about each.

In: arrays from a generator. Out: a container that gives padded arrays to models of sets and tables,
and a recording to methods that start from the sketch.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from smkc.errors import InputError
from smkc.recording import Recording

__all__ = ["KINDS", "NORMAL", "PADDING", "Windows"]

# The paper's anomaly types, in its order; ``Windows.kinds`` holds an index into them, or NORMAL.
KINDS = (
    "factor spike",
    "coupling change",
    "sparse spikes",
    "channel reassignment",
    "lag copy",
    "regime switch",
)
NORMAL = -1

# Marks an unused place in a window with fewer than C variables.
PADDING = -1


@dataclass(frozen=True, eq=False)
class Windows:
    """B independent windows of L time steps, padded to C variables.

    Parameters
    ----------
    values
        (B, L, C) float32: values; 0 where nothing was observed.
    observed
        (B, L, C) bool: whether a value was observed.
    variables
        (B, C) int32: which variable, an index into ``names``; PADDING, always last, where the
        window has fewer than C. A padded place is never observed.
    names
        variable identifiers, sorted and unique.
    kinds
        (B,) int8: the type of anomaly, an index into KINDS, or NORMAL.
    segments
        (B, 2) int32: first step of the anomaly and the step after its last; 0, 0 if normal.
    """

    values: NDArray[np.float32]
    observed: NDArray[np.bool_]
    variables: NDArray[np.int32]
    names: tuple[str, ...]
    kinds: NDArray[np.int8]
    segments: NDArray[np.int32]

    def __len__(self) -> int:
        return len(self.values)

    def __repr__(self) -> str:
        n_windows, length, n_places = self.values.shape
        n_anomalous = int(self.is_anomalous.sum())
        return (
            f"Windows({n_windows} of {length} steps, up to {n_places} variables, "
            f"{n_anomalous} anomalous)"
        )

    @property
    def length(self) -> int:
        """L, the number of time steps per window."""
        return int(self.values.shape[1])

    @property
    def cardinality(self) -> NDArray[np.int64]:
        """(B,) number of variables in each window."""
        n: NDArray[np.int64] = (self.variables != PADDING).sum(axis=1)
        return n

    @property
    def is_anomalous(self) -> NDArray[np.bool_]:
        """(B,) whether each window holds an anomaly."""
        is_anomalous: NDArray[np.bool_] = self.kinds != NORMAL
        return is_anomalous

    @property
    def with_gaps(self) -> NDArray[np.float64]:
        """(B, L, C) values, NaN where nothing was observed."""
        return np.where(self.observed, self.values.astype(np.float64), np.nan)

    def take(self, which: NDArray[np.integer] | NDArray[np.bool_] | slice) -> "Windows":
        """Return some of the windows, by index, mask or slice."""
        return Windows(
            self.values[which],
            self.observed[which],
            self.variables[which],
            self.names,
            self.kinds[which],
            self.segments[which],
        )

    def normal(self) -> "Windows":
        """Return the windows without an anomaly."""
        return self.take(~self.is_anomalous)

    def padded_to(self, n_places: int) -> "Windows":
        """Return the windows with places for at least ``n_places`` variables."""
        more = n_places - self.values.shape[2]
        if more <= 0:
            return self
        return Windows(
            np.pad(self.values, ((0, 0), (0, 0), (0, more))),
            np.pad(self.observed, ((0, 0), (0, 0), (0, more))),
            np.pad(self.variables, ((0, 0), (0, more)), constant_values=PADDING),
            self.names,
            self.kinds,
            self.segments,
        )

    @staticmethod
    def concat(parts: "Sequence[Windows]") -> "Windows":
        """Join windows of equal length over the same names; pad those with fewer places."""
        first = parts[0]
        for part in parts:
            if part.names != first.names or part.length != first.length:
                raise InputError(
                    f"windows of {first.length} steps over {len(first.names)} names and of "
                    f"{part.length} steps over {len(part.names)} cannot be joined; make them with "
                    "one length from one pool of variables"
                )
        widest = max(part.values.shape[2] for part in parts)
        parts = [part.padded_to(widest) for part in parts]
        return Windows(
            np.concatenate([part.values for part in parts]),
            np.concatenate([part.observed for part in parts]),
            np.concatenate([part.variables for part in parts]),
            first.names,
            np.concatenate([part.kinds for part in parts]),
            np.concatenate([part.segments for part in parts]),
        )

    def recording(self) -> Recording:
        """Return a recording of B * L rows: window b is the L rows from row b * L on."""
        n_windows, length, _ = self.values.shape
        window, step, place = np.nonzero(self.observed)
        return Recording.from_observations(
            np.arange(n_windows * length),
            window * length + step,
            self.variables[window, place],
            self.values[window, step, place],
            self.names,
        )

    def starts(self) -> NDArray[np.int64]:
        """Return the (B,) start rows of the windows in :meth:`recording`."""
        return np.arange(len(self), dtype=np.int64) * self.length
