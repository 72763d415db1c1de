"""Hashing: a variable's identifier -> its bucket and sign in each of the two streams.

In: identifiers. Out: arrays of buckets and signs. The hashes are part of the file format: golden
vectors in the tests keep them fixed.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from hashlib import md5
from typing import Any

import numpy as np
from numpy.typing import NDArray

# Names come and go as long as a system runs: the cache evicts the least recently used.
CACHED_IDENTIFIERS = 65_536


@dataclass(frozen=True)
class Hashes:
    """Buckets of V variables, (V,) uint32 from 0, and their signs, (V,) float32, per stream."""

    value_bucket: NDArray[np.uint32]
    value_sign: NDArray[np.float32]
    presence_bucket: NDArray[np.uint32]
    presence_sign: NDArray[np.float32]

    @property
    def arrays(self) -> tuple[NDArray[Any], NDArray[Any], NDArray[Any], NDArray[Any]]:
        """The four arrays, in the order of the fields."""
        return self.value_bucket, self.value_sign, self.presence_bucket, self.presence_sign


def digest(identifier: str, suffix: str) -> int:
    """Return the MD5 of identifier + suffix, in UTF-8, as a big-endian integer."""
    text = (identifier + suffix).encode("utf-8", "surrogatepass")
    return int.from_bytes(md5(text, usedforsecurity=False).digest(), "big")


@lru_cache(maxsize=CACHED_IDENTIFIERS)
def hash_identifier(identifier: str, buckets: int) -> tuple[int, int, int, int]:
    """Return value bucket, value sign, presence bucket and presence sign of one variable.

    Notes
    -----
    Paper, section 3.2.1, "Implementation details"; its buckets start at 1, ours at 0.

    Examples
    --------
    >>> hash_identifier("cpu", 128)
    (15, 1, 116, -1)
    """
    return (
        digest(identifier, "#val") % buckets,
        1 - 2 * (digest(identifier, "#val_sign") % 2),
        digest(identifier, "#pres") % buckets,
        1 - 2 * (digest(identifier, "#pres_sign") % 2),
    )


def hash_names(names: Sequence[str], buckets: int) -> Hashes:
    """Hash (V,) names into ``buckets`` buckets per stream."""
    table = np.array([hash_identifier(name, buckets) for name in names], np.int64).reshape(-1, 4)
    return Hashes(
        table[:, 0].astype(np.uint32),
        table[:, 1].astype(np.float32),
        table[:, 2].astype(np.uint32),
        table[:, 3].astype(np.float32),
    )
