"""Aligned columns: the usual workaround for methods that need the same columns in every row.

In: a reference, then recordings with any variables. Out: tables of standardised values, one column
for each variable of the reference.

A variable of the reference that is missing in a row keeps its last value in the recording; before
its first value, it has the reference's median. Variables that the reference lacks are always
ignored. To such a method, a renamed variable becomes a constant, and its new name is ignored. Every
peer that needs a table uses this module, so that none has a better workaround than another.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from smkc.errors import InputError, NotFittedError, SettingError
from smkc.recording import Recording

__all__ = [
    "CLIP",
    "AlignedRows",
    "Columns",
    "evenly",
    "follows_on",
    "guiltiest",
    "require_fitted",
    "sliding",
    "values_by_name",
]

# Standardised values are clipped to -CLIP..CLIP, so that one extreme value does not dominate.
CLIP = 10.0

# A variable with fewer observations in the reference has no column, because its spread is unknown.
FEWEST_OBSERVATIONS = 16

IQR_OF_UNIT_NORMAL = 1.349
FEWEST_DEVIATIONS = 0.25  # smallest spread, in standard deviations, for variables with rare bursts

# The spread of a variable that is constant in the reference is this share of its value, and at
# least SMALLEST_SPREAD.
SHARE_OF_CONSTANT = 0.1
SMALLEST_SPREAD = 0.01
CONSTANT = 1e-9  # with a spread up to this share of its median, a variable counts as constant

# The test part continues the reference if it starts within this many of the reference's steps.
MOST_STEPS_BETWEEN = 5.0


@dataclass(frozen=True, kw_only=True, eq=False)
class Columns:
    """Columns learned from a reference: (C,) names, medians and robust spreads.

    A spread is the larger of IQR / 1.349 and a quarter of the standard deviation.

    Examples
    --------
    >>> reference = Recording.from_rows(range(32), [{"cpu": t % 8} for t in range(32)])
    >>> columns = Columns.of(reference)
    >>> live = Recording.from_rows([0, 1], [{"new": 3.0}, {"cpu": 7.0, "new": 3.0}])
    >>> columns.filled(live).round(3).tolist()
    [[0.0], [1.349]]
    """

    names: tuple[str, ...]
    centre: NDArray[np.float64]
    spread: NDArray[np.float64]

    @classmethod
    def of(cls, reference: Recording) -> "Columns":
        """Learn columns from a reference."""
        counts = np.bincount(reference.codes, minlength=len(reference.names))
        names = tuple(
            name
            for name, count in zip(reference.names, counts.tolist(), strict=True)
            if count >= FEWEST_OBSERVATIONS
        )
        if not names:
            raise InputError(
                f"none of the reference's {len(reference.names)} variables has "
                f"{FEWEST_OBSERVATIONS} observations in its {len(reference)} rows; "
                "give a longer reference"
            )
        table = values_by_name(reference, names)
        low, centre, high = np.nanquantile(table, (0.25, 0.5, 0.75), axis=0)
        spread = np.maximum(
            (high - low) / IQR_OF_UNIT_NORMAL, FEWEST_DEVIATIONS * np.nanstd(table, axis=0)
        )
        is_constant = spread <= CONSTANT * np.maximum(1.0, np.abs(centre))
        usual = np.maximum(SHARE_OF_CONSTANT * np.abs(centre), SMALLEST_SPREAD)
        return cls(names=names, centre=centre, spread=np.where(is_constant, usual, spread))

    def standardised(self, recording: Recording) -> NDArray[np.float64]:
        """Return (T, C) standardised and clipped values, NaN where a variable was not observed."""
        table = values_by_name(recording, self.names)
        standard: NDArray[np.float64] = np.clip((table - self.centre) / self.spread, -CLIP, CLIP)
        return standard

    def filled(self, recording: Recording) -> NDArray[np.float64]:
        """Return (T, C) standardised values; gaps get the last value, or else the median."""
        table = self.standardised(recording)
        rows = np.arange(len(table))[:, None]
        latest = np.maximum.accumulate(np.where(np.isnan(table), -1, rows), axis=0)
        carried = np.take_along_axis(table, np.maximum(latest, 0), axis=0)
        return np.where(latest < 0, 0.0, carried)


class AlignedRows:
    """Windows over aligned columns, of a reference and of test parts.

    Parameters
    ----------
    reference
        rows to learn columns from.
    window
        rows per window; a row's window ends at the row.
    """

    def __init__(self, reference: Recording, window: int = 1) -> None:
        if window < 1:
            raise SettingError(f"window={window!r} rows is none; give 1 or more")
        if len(reference) < window:
            raise InputError(
                f"a reference of {len(reference)} rows has no window of {window}; give more rows "
                "or a shorter window"
            )
        self.columns = Columns.of(reference)
        self.window = window
        self.rows = self.columns.filled(reference)  # (R, C)
        self._times = reference.times

    def reference_windows(self, at_most: int | None = None) -> NDArray[np.float64]:
        """Return (n, C * window) reference windows, at most ``at_most``, evenly spread."""
        windows = sliding(self.rows, self.window)
        return windows if at_most is None else windows[evenly(len(windows), at_most)]

    def windows(self, test: Recording) -> NDArray[np.float64]:
        """Return (T, C * window) the window that ends at each row of a test part.

        The rows before the first one are the reference's last rows if the test part continues it,
        otherwise copies of the first row.
        """
        rows = self.columns.filled(test)
        return sliding(np.concatenate([self.before(test, rows), rows]), self.window)

    def before(self, test: Recording, rows: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return (window - 1, C) rows to put before a test part's rows."""
        n_before = self.window - 1
        if n_before and follows_on(self._times, test.times):
            return self.rows[-n_before:]
        return np.repeat(rows[:1], n_before, axis=0)


def values_by_name(recording: Recording, names: Sequence[str]) -> NDArray[np.float64]:
    """Return (T, C) values of a recording, one column per name, NaN where not observed."""
    column_of = {name: column for column, name in enumerate(names)}
    column = np.array([column_of.get(name, -1) for name in recording.names], np.int64)
    columns = column[recording.codes]
    is_known = columns >= 0
    table = np.full((len(recording), len(names)), np.nan)
    table[recording.row_numbers[is_known], columns[is_known]] = recording.values[is_known]
    return table


def follows_on(earlier: NDArray[Any], later: NDArray[Any]) -> bool:
    """Tell whether the times ``later`` continue the times ``earlier``.

    Examples
    --------
    >>> follows_on(np.arange(10), np.arange(10, 20)), follows_on(np.arange(10), np.arange(50, 60))
    (True, False)
    """
    if len(earlier) < 2 or len(later) == 0:
        return False
    if (earlier.dtype.kind == "M") != (later.dtype.kind == "M"):
        return False
    step = np.median(np.diff(earlier).astype(np.float64))
    gap = float((later[0] - earlier[-1]).astype(np.float64))
    return bool(0 < gap <= MOST_STEPS_BETWEEN * step)


def sliding(rows: NDArray[np.float64], window: int) -> NDArray[np.float64]:
    """Return (T - window + 1, C * window) windows of (T, C) rows; none if there are too few."""
    if len(rows) < window:
        return np.empty((0, rows.shape[1] * window))
    windows = np.lib.stride_tricks.sliding_window_view(rows, window, axis=0)
    return windows.reshape(len(windows), -1)


def evenly(n: int, at_most: int) -> NDArray[np.int64]:
    """Return at most ``at_most`` of n positions, evenly spread, with the first and the last.

    Examples
    --------
    >>> evenly(9, 3).tolist(), evenly(3, 9).tolist()
    ([0, 4, 8], [0, 1, 2])
    """
    return np.unique(np.linspace(0, n - 1, min(n, at_most)).astype(np.int64))


def require_fitted(peer: object, learned: str) -> None:
    """Raise NotFittedError unless a peer has the attribute ``learned``, which fitting sets."""
    if not hasattr(peer, learned):
        raise NotFittedError(f"{type(peer).__name__} has seen no reference; call fit first")


def guiltiest(names: Sequence[str], parts: NDArray[np.float64]) -> list[str]:
    """Return names by their (C,) contributions to a score, largest first, without NaN.

    Examples
    --------
    >>> guiltiest(["cpu", "mem", "net"], np.array([0.1, np.nan, 0.5]))
    ['net', 'cpu']
    """
    return [names[j] for j in np.argsort(-parts, kind="stable") if not np.isnan(parts[j])]
