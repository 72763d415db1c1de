"""Unpacking: compressed request bodies -> plain bytes, and the outer levels of protobuf messages.

In: a body, its headers and limits. Out: bytes and positions of fields, or a ``DecodeError`` with
the HTTP status of the response. The size that a sender claims is never trusted. The API has limited
the size of the body.
"""

import zlib
from collections.abc import Iterator

import cramjam

from smkc.errors import InputError
from smkc.serve.config import Limits

# A snappy element of 3 bytes decodes to at most 64 bytes; a larger claimed ratio is invalid.
MOST_SNAPPY_GAIN = 22

SNAPPY_FRAMES = b"\xff\x06\x00\x00sNaPpY"  # start of snappy's framing format
GZIP_FORMAT = 16 + zlib.MAX_WBITS
PIECE = 1 << 20  # bytes

LARGEST_MESSAGE = 1 << 20
"""Maximum size in bytes of one series or data point; some 60,000 samples."""

VARINT, FIXED_64, TEXT, FIXED_32 = 0, 1, 2, 5  # wire types of protobuf's encoding


class DecodeError(InputError):
    """A body cannot be decoded.

    ``status`` is 400 (malformed), 413 (too large) or 415 (unknown content type or encoding).
    """

    def __init__(self, sentence: str, status: int = 400) -> None:
        super().__init__(sentence)
        self.status = status


def media_type(content_type: str) -> tuple[str, dict[str, str]]:
    """Split a Content-Type into the media type, in lower case, and its parameters.

    Examples
    --------
    >>> media_type("Application/JSON; charset=utf-8")
    ('application/json', {'charset': 'utf-8'})
    """
    kind, _, rest = content_type.partition(";")
    parameters = {}
    for one in rest.split(";"):
        name, _, value = one.partition("=")
        if name.strip():
            parameters[name.strip().lower()] = value.strip().strip('"')
    return kind.strip().lower(), parameters


def unsnapped(body: bytes, limits: Limits) -> bytes:
    """Decompress snappy's block format; check the claimed length first."""
    if body.startswith(SNAPPY_FRAMES):
        raise DecodeError("the body is framed snappy; remote write uses snappy's block format")
    try:
        length = cramjam.snappy.decompress_raw_len(body)
    except cramjam.DecompressionError as error:
        raise DecodeError(f"the body is not snappy ({error}); send snappy's block format") from None
    if length > limits.decoded_bytes:
        raise _too_long(f"{length:,}", limits)
    if length > MOST_SNAPPY_GAIN * len(body):
        raise DecodeError(
            f"the body of {len(body):,} bytes claims to hold {length:,}, more than snappy can "
            "pack; send snappy's block format"
        )
    try:
        return bytes(cramjam.snappy.decompress_raw(body)) if length else b""
    except cramjam.DecompressionError as error:
        raise DecodeError(f"the body is damaged snappy ({error}); send it again") from None


def ungzipped(body: bytes, encoding: str, limits: Limits) -> bytes:
    """Decompress a plain or gzipped body, piece by piece up to the limit."""
    encoding = encoding.strip().lower()
    if encoding in ("", "identity"):
        return body
    if encoding != "gzip":
        raise DecodeError(f"Content-Encoding {encoding!r} is not known; send gzip or plain", 415)
    pieces: list[bytes] = []
    room = limits.decoded_bytes
    rest = body
    while rest:  # a body may consist of several gzip members
        unpacker = zlib.decompressobj(GZIP_FORMAT)
        while not unpacker.eof:
            try:
                piece = unpacker.decompress(rest, min(PIECE, room + 1))
            except zlib.error as error:
                raise DecodeError(f"the body is damaged gzip ({error}); send it again") from None
            if not piece and not unpacker.unconsumed_tail and not unpacker.eof:
                raise DecodeError("the body is gzip that breaks off; send it again")
            room -= len(piece)
            if room < 0:
                raise _too_long(f"more than {limits.decoded_bytes:,}", limits)
            pieces.append(piece)
            rest = unpacker.unconsumed_tail
        rest = unpacker.unused_data
    return b"".join(pieces)


class Scan:
    """Scanner of the outer levels of one protobuf message, field by field without objects.

    A message of 2 bytes becomes an object of 100 bytes, so a body within its limit could exhaust
    the memory if it were parsed as a whole. With this scan only one inner message is parsed at a
    time. A message with more than ``most_fields`` scanned fields is refused.
    """

    def __init__(self, data: bytes, most_fields: int) -> None:
        self.data = data
        self.whole = 0, len(data)  # the span of the message itself
        self._left = self._most = most_fields

    def parts(self, span: tuple[int, int]) -> Iterator[tuple[int, tuple[int, int]]]:
        """Yield the number and span of each field that is a string or a message."""
        for number, kind, first, last in self._fields(span):
            if kind == TEXT:
                yield number, (first, last)

    def numbers(self, span: tuple[int, int]) -> dict[int, int]:
        """Return field number -> value of the varint fields; the last value of a field is used."""
        fields = self._fields(span)
        return {number: value for number, kind, value, _ in fields if kind == VARINT}

    def message(self, span: tuple[int, int]) -> bytes:
        """Return the bytes of an inner message, to be parsed."""
        first, last = span
        if last - first > LARGEST_MESSAGE:
            raise DecodeError(
                f"one series in the body takes {last - first:,} bytes, and {LARGEST_MESSAGE:,} are "
                "allowed; send its samples in several requests",
                413,
            )
        return self.data[first:last]

    def _fields(self, span: tuple[int, int]) -> Iterator[tuple[int, int, int, int]]:
        """Yield number and wire type, then start and end of a string, or the value and 0."""
        at, end = span
        while at < end:
            self._left -= 1
            if self._left < 0:
                raise DecodeError(
                    f"the body holds more than {self._most:,} fields; send it in smaller parts, "
                    "or raise samples_per_request under [limits]",
                    413,
                )
            tag, at = self._varint(at, end)
            number, kind = tag >> 3, tag & 7
            value, length = 0, 0
            if kind == TEXT:
                length, at = self._varint(at, end)
            elif kind == VARINT:
                value, at = self._varint(at, end)
            elif kind in (FIXED_64, FIXED_32):
                length = 8 if kind == FIXED_64 else 4
            else:
                raise DecodeError(f"the body is not a valid message: wire type {kind} at byte {at}")
            if length > end - at:
                raise DecodeError(f"the body breaks off: a field at byte {at} goes past its end")
            yield (number, kind, at, at + length) if kind == TEXT else (number, kind, value, 0)
            at += length

    def _varint(self, at: int, end: int) -> tuple[int, int]:
        """Return the varint that starts at byte ``at``, and the position after it."""
        result = shift = 0
        for place in range(at, min(end, at + 10)):
            byte = self.data[place]
            result |= (byte & 0x7F) << shift
            if byte < 0x80:
                return result, place + 1
            shift += 7
        raise DecodeError(f"the body breaks off: the number at byte {at} has no end")


def _too_long(length: str, limits: Limits) -> DecodeError:
    return DecodeError(
        f"the body unpacks to {length} bytes, and {limits.decoded_bytes:,} are allowed; send it in "
        "smaller parts, or raise decoded_bytes under [limits]",
        413,
    )
