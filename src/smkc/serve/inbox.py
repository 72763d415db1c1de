"""Inbox: samples that were pushed <-> the bytes in which they wait until their rows close.

In: samples. Out: few bytes that hold them exactly; other bytes are refused.
"""

import json
import zlib
from typing import Any

import numpy as np

from smkc.errors import InputError
from smkc.serve.intake.samples import Samples

__all__ = ["pack_samples", "unpack_samples"]

LEVEL = 1  # of zlib: the fastest

_LENGTH = np.dtype("<i8")
_COLUMNS = (("codes", np.dtype("<i8")), ("times", np.dtype("<i8")), ("values", np.dtype("<f8")))


def pack_samples(samples: Samples) -> bytes:
    """Pack samples, NaN and lone surrogates included.

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
    """Return the samples that :func:`pack_samples` was given."""
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
