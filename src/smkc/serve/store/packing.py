"""Packing: rows and evidences <-> compressed bytes.

In: arrays. Out: bytes, from which the same arrays can be read; damaged bytes are refused.

The codes of a row are mostly consecutive, so their differences, mostly 1, are stored. The bytes of
32-bit numbers are stored plane by plane (all first bytes, then all second bytes, ...), which zlib
compresses better. zlib's checksum detects a damaged row.
"""

import zlib

import numpy as np
from numpy.typing import NDArray

LEVEL = 1  # zlib's fastest level; higher levels gain little on telemetry

_CODE = np.dtype("<i4")
_VALUE = np.dtype("<f4")
_EVIDENCE = np.dtype([("code", "<u2"), ("nats", "<f8")])


def pack_row(codes: NDArray[np.int32], values: NDArray[np.float32]) -> bytes:
    """Pack a row's (n,) codes and (n,) values."""
    steps = np.diff(codes.astype(_CODE, copy=False), prepend=_CODE.type(0))  # wraps around: exact
    return zlib.compress(_by_place(steps.astype(_CODE)) + _by_place(values.astype(_VALUE)), LEVEL)


def unpack_row(content: bytes, n: int) -> tuple[NDArray[np.int32], NDArray[np.float32]]:
    """Return the (n,) codes and (n,) values that :func:`pack_row` was given."""
    reader = zlib.decompressobj()
    plain = reader.decompress(content, 8 * n + 1)  # bounds the memory that damaged bytes can take
    if len(plain) != 8 * n or not reader.eof:
        raise ValueError(f"a row of {n} observations holds {len(plain)} bytes")
    places = np.frombuffer(plain, np.uint8).reshape(8, n)
    steps = np.ascontiguousarray(places[:4].T).view(_CODE).ravel()
    values = np.ascontiguousarray(places[4:].T).view(_VALUE).ravel()
    codes = np.cumsum(steps, dtype=np.int32)
    return codes, values.astype(np.float32, copy=False)


def pack_evidences(codes: list[int], nats: list[float]) -> bytes:
    """Pack the codes of a row's evidences and their nats."""
    table = np.empty(len(codes), _EVIDENCE)
    table["code"], table["nats"] = codes, nats
    return table.tobytes()


def unpack_evidences(content: bytes) -> tuple[list[int], list[float]]:
    """Return the codes and nats that :func:`pack_evidences` was given."""
    table = np.frombuffer(content, _EVIDENCE)
    return table["code"].tolist(), table["nats"].tolist()


def to_bytes(text: str) -> bytes:
    """Encode any text, lone surrogates included."""
    return text.encode("utf-8", "surrogatepass")


def from_bytes(content: bytes) -> str:
    """Return the text that :func:`to_bytes` was given."""
    return str(content, "utf-8", "surrogatepass")


def _by_place(numbers: NDArray[np.int32] | NDArray[np.float32]) -> bytes:
    """Return all first bytes, all second bytes, and so on, of 32-bit numbers."""
    return np.ascontiguousarray(numbers).view(np.uint8).reshape(-1, 4).T.tobytes()
