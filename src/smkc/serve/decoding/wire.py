"""Wire: the outer levels of a protobuf message, field by field, without making objects of them.

In: bytes. Out: where each field lies. A message of two bytes becomes an object of a hundred, so a
body within its limit could still fill the memory if it were parsed whole; here only one inner
message is parsed at a time, and the fields passed on the way are counted.
"""

from collections.abc import Iterator

from smkc.serve.decoding.unpacking import DecodeError

__all__ = ["LARGEST_MESSAGE", "Scan"]

LARGEST_MESSAGE = 1 << 20
"""Bytes of one series or data point with all it holds; some 60,000 samples."""

VARINT, FIXED_64, TEXT, FIXED_32 = 0, 1, 2, 5  # wire types of protobuf's encoding


class Scan:
    """Looks through one message.

    Parameters
    ----------
    data
        the whole message.
    most_fields
        that are looked at before it is refused.
    """

    def __init__(self, data: bytes, most_fields: int) -> None:
        self.data = data
        self._left = self._most = most_fields

    def parts(self, span: tuple[int, int]) -> Iterator[tuple[int, tuple[int, int]]]:
        """Yield number and span of each field that holds text or a message."""
        for number, kind, first, last in self._fields(span):
            if kind == TEXT:
                yield number, (first, last)

    def numbers(self, span: tuple[int, int]) -> dict[int, int]:
        """Return the whole numbers among the fields, by field number; the last one counts."""
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

    @property
    def whole(self) -> tuple[int, int]:
        """The span of the message itself."""
        return 0, len(self.data)

    def _fields(self, span: tuple[int, int]) -> Iterator[tuple[int, int, int, int]]:
        """Yield number, wire type, and either first and last byte or the value and 0."""
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
                raise DecodeError(f"the body is no such message: wire type {kind} at byte {at}")
            if length > end - at:
                raise DecodeError(f"the body breaks off: a field at byte {at} goes past its end")
            yield (number, kind, at, at + length) if kind == TEXT else (number, kind, value, 0)
            at += length

    def _varint(self, at: int, end: int) -> tuple[int, int]:
        """Return the number that starts at a byte, and where the next field goes on."""
        result = shift = 0
        for place in range(at, min(end, at + 10)):
            byte = self.data[place]
            result |= (byte & 0x7F) << shift
            if byte < 0x80:
                return result, place + 1
            shift += 7
        raise DecodeError(f"the body breaks off: the number at byte {at} has no end")
