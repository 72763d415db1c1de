"""Samples: readings as they arrive, flat and in any order.

In: names, times and values. Out: the same, checked in shape, with the parts that others ask for.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

__all__ = ["Samples"]


@dataclass(frozen=True, kw_only=True, eq=False)
class Samples:
    """N readings of V variables.

    Parameters
    ----------
    names
        (V,) identifiers in canonical form, each once: ``metric{a="x",b="y"}``.
    codes
        (N,) which variable, an index into names.
    times
        (N,) milliseconds since 1970, UTC.
    values
        (N,) what was read; NaN says that the variable is gone (Prometheus' staleness marker).
    """

    names: tuple[str, ...]
    codes: NDArray[np.int64]
    times: NDArray[np.int64]
    values: NDArray[np.float64]

    def __len__(self) -> int:
        return len(self.codes)

    def take(self, chosen: NDArray[np.bool_] | NDArray[np.int64]) -> "Samples":
        """Return some of the readings, with only the names that they need."""
        used, codes = np.unique(self.codes[chosen], return_inverse=True)
        return Samples(
            names=tuple(self.names[code] for code in used),
            codes=codes.astype(np.int64),
            times=self.times[chosen],
            values=self.values[chosen],
        )
