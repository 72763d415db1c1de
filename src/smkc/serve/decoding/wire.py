"""Wire: the outer levels of a protobuf message, scanned field by field without creating objects.

In: bytes. Out: the position of each field. A message of 2 bytes becomes an object of 100 bytes, so
a body within its limit could exhaust the memory if it were parsed as a whole. With this scan only
one inner message is parsed at a time, and the number of scanned fields is limited.
"""

from collections.abc import Iterator

from smkc.serve.decoding.unpacking import DecodeError

LARGEST_MESSAGE = 1 << 20
"""Maximum size in bytes of one series or data point; some 60,000 samples."""

VARINT, FIXED_64, TEXT, FIXED_32 = 0, 1, 2, 5  # wire types of protobuf's encoding


class Scan:
    """Scanner of one message; refuses a message with more than ``most_fields`` scanned fields."""

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
