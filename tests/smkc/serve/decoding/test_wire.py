"""The outer levels of a message: what protobuf writes is found, and nothing else is believed."""

import pytest
from opentelemetry.proto.metrics.v1 import metrics_pb2

from smkc.serve.decoding.unpacking import LARGEST_MESSAGE, DecodeError, Scan


def scan(data: bytes, most_fields: int = 100) -> Scan:
    return Scan(data, most_fields)


def test_fields_of_a_message_that_protobuf_wrote():
    shape = metrics_pb2.Sum(is_monotonic=True, aggregation_temporality=2)
    points = [shape.data_points.add(as_int=n, time_unix_nano=5) for n in (1, 2**40)]
    found = scan(shape.SerializeToString())
    assert found.numbers(found.whole) == {2: 2, 3: 1}
    parts = [(number, found.message(span)) for number, span in found.parts(found.whole)]
    assert parts == [(1, point.SerializeToString()) for point in points]


def test_numbers_of_fixed_length_are_passed_over():
    point = metrics_pb2.NumberDataPoint(as_double=1.5, flags=1, time_unix_nano=2**60)
    found = scan(point.SerializeToString() + b"\x7d\x01\x02\x03\x04")
    assert found.numbers(found.whole) == {8: 1}


@pytest.mark.parametrize(
    "data",
    [
        b"\x0a",
        b"\x0a\x01",
        b"\x08",
        b"\x08" + b"\xff" * 10,
        b"\x09\x00",
        b"\x0d\x00\x00",
        b"\x0b",
        b"\x0c",
        b"\x0e",
        b"\x0a\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01a",
    ],
    ids=["length", "text", "number", "endless", "64", "32", "group", "end", "type 6", "huge"],
)
def test_what_is_no_message(data):
    found = scan(data)
    with pytest.raises(DecodeError, match="body"):
        list(found.parts(found.whole))


def test_an_inner_field_stays_inside():
    found = scan(b"\x0a\x02\x0a\x05abcde")  # the inner text would go past its message
    inside = next(found.parts(found.whole))[1]
    with pytest.raises(DecodeError, match="past its end"):
        list(found.parts(inside))


def test_so_many_fields_and_no_more():
    assert len(list(scan(b"\x0a\x00" * 5, 5).parts((0, 10)))) == 5
    with pytest.raises(DecodeError, match="5 fields", check=lambda error: error.status == 413):
        list(scan(b"\x0a\x00" * 6, 5).parts((0, 12)))


def test_a_message_may_be_so_large():
    found = scan(bytes(LARGEST_MESSAGE + 1))
    assert len(found.message((0, LARGEST_MESSAGE))) == LARGEST_MESSAGE
    with pytest.raises(DecodeError, match="allowed", check=lambda error: error.status == 413):
        found.message(found.whole)
