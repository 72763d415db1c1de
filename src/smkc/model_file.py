"""Model files: named arrays and a JSON header in one safetensors file, never pickle.

Writing is atomic: the file is written whole or not at all. Reading returns exactly what was
written; a damaged or foreign file raises ModelFileError before any of its content is used.
"""

import contextlib
import hashlib
import io
import json
import math
import os
import secrets
import stat
import zlib
from collections.abc import Mapping
from pathlib import Path
from typing import Any, BinaryIO, NoReturn

import numpy as np
from numpy.typing import NDArray
from safetensors.numpy import save

from smkc.errors import ModelFileError
from smkc.version import VERSION

FORMAT = "smkc-model"
FORMAT_VERSION = 1

# Limits far above any real model; a file that claims more is not read.
MAX_FILE_BYTES = 4 * 1024**3
MAX_HEADER_BYTES = 256 * 1024**2
MAX_DIMENSIONS = 8

_METADATA = "__metadata__"  # safetensors' name for the texts beside the arrays
_KEY = "smkc"  # ours among those texts
_LENGTH_BYTES = 8  # safetensors starts with the length of its own header, little-endian

# First bytes of a packed file. Read as safetensors' header length they are far beyond
# MAX_HEADER_BYTES, so that no safetensors file starts with them.
_PACKED = b"SMKCZLIB"
_PACKING_LEVEL = 1  # of zlib: the fastest; higher ones gain little on telemetry
_PIECE_BYTES = 1 << 22

_DTYPES = {
    "BOOL": np.dtype(np.bool_),
    "U8": np.dtype(np.uint8),
    "I8": np.dtype(np.int8),
    "I16": np.dtype("<i2"),
    "I32": np.dtype("<i4"),
    "I64": np.dtype("<i8"),
    "F32": np.dtype("<f4"),
    "F64": np.dtype("<f8"),
}

PathLike = str | os.PathLike[str]


def write(
    path: PathLike,
    arrays: Mapping[str, NDArray[Any]],
    header: Mapping[str, Any],
    *,
    is_packed: bool = False,
) -> None:
    """Write arrays and a header to one file; an existing one is replaced once it is complete.

    Arrays are bool, uint8, int8 to int64, float32 or float64, of any shape. The header is JSON
    without NaN and infinity; tuples are read back as lists. ``is_packed`` compresses the file with
    zlib, which :func:`read` must then allow.
    """
    target = Path(os.path.realpath(path))
    if target.exists() and not target.is_file():
        raise ModelFileError(f"{target} is not a file; choose another path for the model")
    plain = {name: _writable(target, name, array) for name, array in arrays.items()}
    try:
        envelope = {
            "format": FORMAT,
            "version": FORMAT_VERSION,
            "smkc": VERSION,
            "header": _as_read(header),
        }
        envelope["sha256"] = _checksum(plain, envelope)
        content = save(plain, metadata={_KEY: json.dumps(envelope)})
    except (TypeError, ValueError, RecursionError) as error:
        raise ModelFileError(
            f"{target}: the header cannot be written as JSON ({error}); "
            "keep to text, finite numbers, lists and mappings"
        ) from None
    try:
        if is_packed:
            content = _PACKED + zlib.compress(content, _PACKING_LEVEL)
        _replace(target, content)
    except OSError as error:
        raise ModelFileError(
            f"{target} cannot be written ({error.strerror or error}); "
            "choose a folder that exists, is writable and has room"
        ) from error


def read(
    path: PathLike, *, may_be_packed: bool = False
) -> tuple[dict[str, NDArray[Any]], dict[str, Any]]:
    """Read the arrays and the header that :func:`write` wrote, bit for bit.

    Nothing in the file is executed, and memory use is bounded by the length of the file. A packed
    file may expand to a thousand times its length: allow packed files only from trusted sources.
    """
    try:
        if not stat.S_ISREG(os.stat(path).st_mode):
            raise ModelFileError(f"{path} is not a file; give the path of a saved model")
        with open(path, "rb") as file:
            if may_be_packed and file.read(len(_PACKED)) == _PACKED:
                return _Reader(path, _unpacked(path, file)).read()
            file.seek(0)
            return _Reader(path, file).read()
    except OSError as error:
        raise ModelFileError(
            f"{path} cannot be read ({error.strerror or error}); give the path of a saved model"
        ) from error
    except MemoryError:
        raise ModelFileError(f"{path} needs more memory than there is; free some") from None


def below(arrays: Mapping[str, NDArray[Any]], prefix: str) -> dict[str, NDArray[Any]]:
    """Return the arrays whose names begin with a prefix, with the prefix removed."""
    return {
        name.removeprefix(prefix): array
        for name, array in arrays.items()
        if name.startswith(prefix)
    }


class _Reader:
    """Reader of one open file; its errors name the path."""

    def __init__(self, path: PathLike, file: BinaryIO) -> None:
        self._path = path
        self._file = file
        self._n_bytes = file.seek(0, os.SEEK_END)
        file.seek(0)

    def read(self) -> tuple[dict[str, NDArray[Any]], dict[str, Any]]:
        described = self._described()
        envelope = self._envelope(described.pop(_METADATA, None))
        start = self._file.tell()
        plans = self._plans(described, self._n_bytes - start)
        arrays = {name: self._array(name, *plan) for name, plan in plans.items()}
        claimed = envelope.pop("sha256", None)
        if claimed != _checksum(arrays, envelope):
            self._damaged("its checksum does not match its content")
        header = envelope.get("header")
        if not isinstance(header, dict):
            self._damaged("it has no header")
        return arrays, header

    def _described(self) -> dict[str, Any]:
        """Return the safetensors header: the file's description of its content."""
        if self._n_bytes > MAX_FILE_BYTES:
            self._foreign(f"it is {self._n_bytes:,} bytes long")
        length = int.from_bytes(self._file.read(_LENGTH_BYTES), "little")
        if self._n_bytes <= _LENGTH_BYTES or length > MAX_HEADER_BYTES:
            self._foreign("it is no safetensors file")
        if length > self._n_bytes - _LENGTH_BYTES:
            self._foreign("its beginning promises more than the file holds")
        return self._json(self._file.read(length))

    def _envelope(self, metadata: object) -> dict[str, Any]:
        """Return smkc's part of the safetensors header; check its format and version."""
        text = metadata.get(_KEY) if isinstance(metadata, dict) else None
        if not isinstance(text, str):
            self._foreign("it is a safetensors file, but not one of smkc")
        envelope = self._json(text)
        found = envelope.get("version")
        if envelope.get("format") != FORMAT or type(found) is not int or found < 1:
            self._foreign(f"its format is {envelope.get('format')!r}, version {found!r}")
        if found > FORMAT_VERSION:
            raise ModelFileError(
                f"{self._path} has format version {found}, written by smkc "
                f"{envelope.get('smkc')!r}; this smkc reads up to {FORMAT_VERSION}: "
                "upgrade smkc, or fit and save the model with this version"
            )
        return envelope

    def _plans(
        self, described: dict[str, Any], n_bytes: int
    ) -> dict[str, tuple[np.dtype[Any], tuple[int, ...]]]:
        """Return dtype and shape of each array in file order; check that they fill the file."""
        plans = {}
        end = 0
        for name, entry in described.items():
            if not _is_array(entry, end):
                self._damaged(f"array {name!r} is described as {entry!r:.120}")
            end = entry["data_offsets"][1]
            plans[name] = (_DTYPES[entry["dtype"]], tuple(entry["shape"]))
        if end != n_bytes:
            self._damaged(f"it holds {n_bytes:,} bytes of arrays, not {end:,}")
        return plans

    def _array(self, name: str, dtype: np.dtype[Any], shape: tuple[int, ...]) -> NDArray[Any]:
        content = np.empty(math.prod(shape) * dtype.itemsize, np.uint8)
        if self._file.readinto(content) != content.size:  # type: ignore[attr-defined]
            self._damaged("it became shorter while it was read")
        if dtype.kind == "b" and (content > 1).any():
            self._damaged(f"array {name!r} holds bytes that are neither true nor false")
        return content.view(dtype).reshape(shape)

    def _json(self, text: str | bytes) -> dict[str, Any]:
        try:
            found = json.loads(
                text,
                object_pairs_hook=_without_repeats,
                parse_constant=_finite,
                parse_float=_finite,
            )
        except (ValueError, RecursionError) as error:
            self._damaged(f"its header is no JSON that smkc writes ({error})")
        if not isinstance(found, dict):
            self._damaged("its header is not a JSON object")
        return found

    def _damaged(self, what: str) -> NoReturn:
        raise ModelFileError(
            f"{self._path} is damaged: {what}; restore it from a copy, or fit and save again"
        )

    def _foreign(self, what: str) -> NoReturn:
        raise ModelFileError(
            f"{self._path} is not a model file of smkc, or it was cut: {what}; "
            "give a file that Detector.save wrote"
        )


def _unpacked(path: PathLike, file: BinaryIO) -> BinaryIO:
    """Decompress the rest of a packed file in memory."""
    unpacker = zlib.decompressobj()
    plain = io.BytesIO()
    try:
        while piece := file.read(_PIECE_BYTES):
            while piece:
                plain.write(unpacker.decompress(piece, _PIECE_BYTES))
                piece = unpacker.unconsumed_tail
            if plain.tell() > MAX_FILE_BYTES:
                raise ModelFileError(
                    f"{path} holds more than {MAX_FILE_BYTES:,} bytes; give another"
                )
        plain.write(unpacker.flush())
        if not unpacker.eof or unpacker.unused_data:
            raise zlib.error("it does not end where it should")
    except zlib.error as error:
        raise ModelFileError(
            f"{path} is damaged: it cannot be unpacked ({error}); restore it from a copy, or make "
            "it again"
        ) from None
    return plain


def _writable(target: Path, name: str, array: NDArray[Any]) -> NDArray[Any]:
    array = np.asarray(array)
    if name == _METADATA or not isinstance(name, str):
        raise ModelFileError(f"{target}: {name!r} cannot name an array; choose another name")
    if array.dtype.newbyteorder("<") not in _DTYPES.values() or array.ndim > MAX_DIMENSIONS:
        raise ModelFileError(
            f"{target}: array {name!r} of type {array.dtype} with {array.ndim} dimensions cannot "
            "be written; use bool, uint8, int8 to int64, float32 or float64"
        )
    little = array.astype(array.dtype.newbyteorder("<"), copy=False)
    return np.ascontiguousarray(little).reshape(array.shape)


def _checksum(arrays: Mapping[str, NDArray[Any]], envelope: Mapping[str, Any]) -> str:
    """Return SHA-256 over the envelope and every array's name, type, shape and bytes."""
    digest = hashlib.sha256()
    kinds = [[name, arrays[name].dtype.str, list(arrays[name].shape)] for name in sorted(arrays)]
    digest.update(json.dumps([kinds, envelope], sort_keys=True, allow_nan=False).encode())
    for name in sorted(arrays):
        digest.update(arrays[name].data if arrays[name].size else b"")
    return digest.hexdigest()


def _replace(target: Path, content: bytes) -> None:
    """Write a temporary file beside the target, then rename it to the target."""
    beside = target.parent / f".smkc-{secrets.token_hex(8)}.tmp"
    try:
        with open(beside, "xb") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        os.replace(beside, target)
    except BaseException:
        with contextlib.suppress(OSError):
            beside.unlink(missing_ok=True)
        raise
    if os.name == "posix":  # sync the folder too, so that the rename survives a power cut
        folder = os.open(target.parent, os.O_RDONLY)
        try:
            with contextlib.suppress(OSError):
                os.fsync(folder)
        finally:
            os.close(folder)


def _is_array(entry: object, start: int) -> bool:
    """Return whether this describes an array that can be read from byte ``start`` on."""
    if not isinstance(entry, dict) or set(entry) != {"dtype", "shape", "data_offsets"}:
        return False
    dtype, shape = _DTYPES.get(str(entry["dtype"])), entry["shape"]
    if dtype is None or not isinstance(shape, list) or len(shape) > MAX_DIMENSIONS:
        return False
    if not all(type(length) is int and length >= 0 for length in shape):
        return False
    if math.prod(max(length, 1) for length in shape) > MAX_FILE_BYTES:
        return False
    end = start + math.prod(shape) * dtype.itemsize
    return bool(entry["data_offsets"] == [start, end])


def _as_read(header: Mapping[str, Any]) -> Any:
    """Return the header as it will be read back: tuples as lists, keys as text."""
    text = json.dumps(dict(header), allow_nan=False)
    return json.loads(text, object_pairs_hook=_without_repeats)


def _without_repeats(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) < len(pairs):
        raise ValueError("a name occurs twice")
    return found


def _finite(text: str) -> float:
    number = float(text)
    if not math.isfinite(number):
        raise ValueError(f"{text} is no finite number")
    return number
