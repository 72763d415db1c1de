"""Pools: the variables that windows are drawn from, each with its own group and loading.

In: a pool's name and size. Out: identifiers, and groups and sizes derived from them by hashing.
"""

from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from smkc.errors import SettingError
from smkc.paper.sketch.hashing import digest

__all__ = ["EVALUATION", "NOISE_ONLY", "POOLS", "TRAINING", "Pool", "make_pool"]

# Groups 0 and 1 follow the first factor, with signs + and -; group 2 the second; group 3 none.
N_GROUPS = 4
NOISE_ONLY = 3

TRAINING, EVALUATION = POOLS = ("train", "eval")


@dataclass(frozen=True)
class Pool:
    """V variables: sorted ``names``, (V,) int64 ``groups``, (V,) float64 ``sizes`` in 0..1."""

    names: tuple[str, ...]
    groups: NDArray[np.int64]
    sizes: NDArray[np.float64]


@lru_cache(maxsize=8)
def make_pool(name: str, size: int) -> Pool:
    """Return the variables ``name_0000`` to ``name_<size - 1>``.

    Notes
    -----
    Paper, "Implementation details": the group is MD5(id + "#group") mod 4.

    Examples
    --------
    >>> make_pool("train", 256).groups[:6]
    array([0, 2, 0, 0, 2, 0])
    """
    if name not in POOLS:
        raise SettingError(f"pool {name!r} is not known; there are {' and '.join(POOLS)}")
    names = tuple(f"{name}_{number:04d}" for number in range(size))
    groups = [digest(identifier, "#group") % N_GROUPS for identifier in names]
    sizes = [digest(identifier, "#load") % 10**6 / 1e6 for identifier in names]
    return Pool(names, np.array(groups, np.int64), np.array(sizes))
