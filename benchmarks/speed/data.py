"""Synthetic telemetry for timing: smooth variables with gaps, in two layouts.

In: sizes and a seed. Out: the same observations as a Recording and as the paper's (X, M), so that
smkc and the anchor read the same numbers.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from smkc.recording import Recording

Window = tuple[NDArray[np.float64], NDArray[np.bool_]]

MISSING_SHARE = 0.05


@dataclass(frozen=True)
class Telemetry:
    """The same observations in two layouts: a recording, and X (T, C) with M (T, C)."""

    recording: Recording
    values: NDArray[np.float64]
    observed: NDArray[np.bool_]
    names: list[str]

    def window(self, start: int, length: int) -> Window:
        """Return (L, C) values and their mask (L, C) of one window."""
        return self.values[start : start + length], self.observed[start : start + length]


def telemetry(n_rows: int, n_variables: int, seed: int = 0) -> Telemetry:
    """Return sine waves of various periods with noise; 5 % of the values are missing."""
    rng = np.random.default_rng(seed)
    time = np.arange(n_rows)[:, None]
    period = rng.uniform(10, 200, n_variables)
    phase = rng.uniform(0, 2 * np.pi, n_variables)
    values = np.sin(2 * np.pi * time / period + phase)
    values += 0.2 * rng.normal(size=values.shape)
    values = values.astype(np.float32)
    observed = rng.random(values.shape) >= MISSING_SHARE
    names = [f'load{{pod="pod-{j:04d}"}}' for j in range(n_variables)]
    rows, codes = np.nonzero(observed)
    recording = Recording.from_observations(
        np.arange(n_rows, dtype=np.int64), rows, codes, values[observed], names
    )
    return Telemetry(recording, values.astype(np.float64), observed, names)
