"""Random numbers that are the same on every machine.

In: the purpose of the numbers, and a seed. Out: uniform and normal numbers, permutations and signs,
made from the raw bits of PCG64 by exact arithmetic. NumPy's distributions are not used, because
their streams may change.
"""

from zlib import crc32

import numpy as np
from numpy.typing import NDArray

from benchmarks.world._random import normal
from smkc.errors import SettingError

__all__ = ["Draws"]


class Draws:
    """A separate stream of random numbers for each purpose and seed.

    Parameters
    ----------
    purpose
        texts that identify the stream, such as "churn" and "smd/machine-2-1".
    seed
        a non-negative integer.

    Examples
    --------
    >>> Draws("churn", "smd/machine-2-1", seed=0).order(5).tolist()
    [1, 2, 4, 0, 3]
    """

    def __init__(self, *purpose: str, seed: int) -> None:
        if isinstance(seed, bool) or not isinstance(seed, int | np.integer) or seed < 0:
            raise SettingError(f"seed={seed!r} must be a whole number, 0 or more")
        keys = [crc32(text.encode()) for text in purpose]
        self._bits = np.random.PCG64(np.random.SeedSequence([*keys, int(seed)]))

    def bits(self, n: int) -> NDArray[np.uint64]:
        """Return (n,) words of 64 random bits."""
        return np.asarray(self._bits.random_raw(n), np.uint64)

    def uniform(self, n: int) -> NDArray[np.float64]:
        """Return (n,) numbers between 0 and 1, both excluded."""
        return ((self.bits(n) >> np.uint64(12)).astype(np.float64) + 0.5) * 2.0**-52

    def between(self, span: tuple[float, float], n: int) -> NDArray[np.float64]:
        """Return (n,) numbers between the two ends of ``span``."""
        low, high = span
        return low + (high - low) * self.uniform(n)

    def order(self, n: int) -> NDArray[np.int64]:
        """Return (n,) the numbers 0..n-1 in random order."""
        return np.argsort(self.bits(n), kind="stable")

    def signs(self, n: int) -> NDArray[np.float64]:
        """Return (n,) numbers that are +1 or -1."""
        return np.where(self.bits(n) >> np.uint64(63), 1.0, -1.0)

    def normal(self, n: int) -> NDArray[np.float64]:
        """Return (n,) standard normal numbers."""
        state = self.bits(1)
        return np.fromiter((normal(state) for _ in range(n)), np.float64, n)
