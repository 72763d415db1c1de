"""Order: observations in any order -> by row and by variable, each once.

In: flat arrays of rows, codes and values. Out: the same, sorted, the last of equal ones kept.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from smkc.errors import InputError
from smkc.recording.times import show_time

__all__ = ["canonical_codes", "require_increasing", "sorted_last"]


def canonical_codes(codes: NDArray[Any], names: Sequence[str]) -> NDArray[Any]:
    """Renumber codes so that they index the sorted, distinct names."""
    position = {name: code for code, name in enumerate(sorted(set(names)))}
    renumber = np.fromiter((position[name] for name in names), np.int32, len(names))
    if np.array_equal(renumber, np.arange(len(names))):
        return codes
    renumbered: NDArray[np.int32] = renumber[codes]
    return renumbered


def sorted_last(
    rows: NDArray[np.integer[Any]],
    codes: NDArray[np.integer[Any]],
    values: NDArray[np.float32],
    n_names: int,
) -> tuple[NDArray[Any], NDArray[Any], NDArray[np.float32], int]:
    """Sort observations by (row, code), keep the last of equal ones, count the others."""
    key = rows.astype(np.int64) * max(n_names, 1) + codes
    if len(key) > 1 and not (np.diff(key) > 0).all():
        order = np.argsort(key, kind="stable")
        key = key[order]
        is_last = np.ones(len(key), bool)
        is_last[:-1] = key[1:] != key[:-1]
        order = order[is_last]
        n_twice = len(key) - len(order)
        return rows[order], codes[order], values[order], n_twice
    return rows, codes, values, 0


def require_increasing(stamps: NDArray[Any]) -> None:
    """Refuse times that stand still or go back."""
    if len(stamps) > 1:
        backwards = np.flatnonzero(stamps[1:] <= stamps[:-1])
        if len(backwards):
            at = int(backwards[0]) + 1
            raise InputError(
                f"times must increase: row {at} is at {show_time(stamps[at])}, not after "
                f"{show_time(stamps[at - 1])}; sort the rows or read them with smkc.read"
            )
