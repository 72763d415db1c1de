"""Samples: readings in flat arrays and in any order, and their packed form in the inbox.

In: names, codes, times and values. Out: the same, selections of them, and bytes that restore them
exactly; damaged bytes raise InputError.
"""

import json
import zlib
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from smkc.errors import InputError

LEVEL = 1  # compression level of zlib: the fastest

_LENGTH = np.dtype("<i8")
_COLUMNS = (("codes", np.dtype("<i8")), ("times", np.dtype("<i8")), ("values", np.dtype("<f8")))


@dataclass(frozen=True, kw_only=True, eq=False)
class Samples:
    """N readings of V variables.

    ``names`` are (V,) identifiers in canonical form, each once: ``metric{a="x",b="y"}``. ``codes``,
    ``times`` (milliseconds since 1970, UTC) and ``values`` are (N,) each; a code is an index into
    names, and NaN means that the variable is gone (Prometheus' staleness marker).
    """

    names: tuple[str, ...]
    codes: NDArray[np.int64]
    times: NDArray[np.int64]
    values: NDArray[np.float64]

    def __len__(self) -> int:
        return len(self.codes)

    def take(self, chosen: NDArray[np.bool_] | NDArray[np.int64]) -> "Samples":
        """Return some of the readings, with only the names that they use."""
        used, codes = np.unique(self.codes[chosen], return_inverse=True)
        return Samples(
            names=tuple(self.names[code] for code in used),
            codes=codes.astype(np.int64),
            times=self.times[chosen],
            values=self.values[chosen],
        )


def pack_samples(samples: Samples) -> bytes:
    """Pack samples into bytes; NaN values and lone surrogates in names are preserved.

    Examples
    --------
    >>> two = {"codes": np.zeros(2, int), "times": np.array([5, 6]), "values": np.array([2.0, 3.0])}
    >>> one = Samples(names=("a",), **two)
    >>> again = unpack_samples(pack_samples(one))
    >>> again.names, again.times.tolist(), again.values.tolist()
    (('a',), [5, 6], [2.0, 3.0])
    """
    names = json.dumps(list(samples.names)).encode("ascii")
    head = np.array([len(names), len(samples)], _LENGTH).tobytes()
    columns = [
        np.ascontiguousarray(getattr(samples, name)).astype(kind, copy=False).tobytes()
        for name, kind in _COLUMNS
    ]
    return zlib.compress(b"".join([head, names, *columns]), LEVEL)


def unpack_samples(body: bytes) -> Samples:
    """Return the samples that :func:`pack_samples` packed."""
    try:
        plain = zlib.decompress(body)
        n_letters, n = np.frombuffer(plain, _LENGTH, 2).tolist()
        at = 2 * _LENGTH.itemsize
        names = json.loads(plain[at : at + n_letters])
        at += n_letters
        arrays: dict[str, Any] = {}
        for name, kind in _COLUMNS:
            arrays[name] = np.frombuffer(plain, kind, n, at)
            at += n * kind.itemsize
    except (zlib.error, ValueError) as error:
        raise InputError(
            f"a body in the inbox is damaged ({error}); it is left out: send it again"
        ) from None
    return Samples(names=tuple(names), **arrays)
