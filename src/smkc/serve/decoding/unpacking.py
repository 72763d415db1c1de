"""Unpacking: compressed request bodies -> plain bytes, within limits.

In: a body, its headers and limits. Out: bytes, or a ``DecodeError`` with the HTTP status of the
response. The size that a sender claims is never trusted. The API has limited the size of the body.
"""

import zlib

import cramjam

from smkc.errors import InputError
from smkc.serve.config import Limits

# A snappy element of 3 bytes decodes to at most 64 bytes; a larger claimed ratio is invalid.
MOST_SNAPPY_GAIN = 22

SNAPPY_FRAMES = b"\xff\x06\x00\x00sNaPpY"  # start of snappy's framing format
GZIP_FORMAT = 16 + zlib.MAX_WBITS
PIECE = 1 << 20  # bytes


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


def _too_long(length: str, limits: Limits) -> DecodeError:
    return DecodeError(
        f"the body unpacks to {length} bytes, and {limits.decoded_bytes:,} are allowed; send it in "
        "smaller parts, or raise decoded_bytes under [limits]",
        413,
    )
