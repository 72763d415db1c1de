"""Remote write: Prometheus' push protocol, version 1.0.

In: a body with its headers. Out: samples. Native histograms, exemplars and metadata are skipped.

The protocol: https://prometheus.io/docs/specs/remote_write_spec. The schema of its messages is
prometheus/prompb/types.proto.
"""

from typing import Any

from google.protobuf import descriptor_pb2, descriptor_pool, message_factory
from google.protobuf.message import DecodeError as ProtobufError

from smkc.serve.config import Limits
from smkc.serve.decoding.collecting import Collector, series_name
from smkc.serve.decoding.unpacking import DecodeError, Scan, media_type, unsnapped
from smkc.serve.intake.samples import Samples

PROTOBUF = "application/x-protobuf"
SCHEMA = "prometheus.WriteRequest"

TIMESERIES = 1  # number of this field of the request message

ROOM_FOR_OTHERS = 10_000  # fields other than series, such as metadata

_Field = descriptor_pb2.FieldDescriptorProto

# A field is "name number type". "*" marks a repeated field; a message type is given by its name.
# Protobuf skips the fields that are left out here.
_SCHEMA = {
    "Label": ("name 1 string", "value 2 string"),
    "Sample": ("value 1 double", "timestamp 2 int64"),
    "TimeSeries": ("labels 1 Label*", "samples 2 Sample*"),
    "WriteRequest": ("timeseries 1 TimeSeries*",),
}

_TYPES = {
    "double": _Field.TYPE_DOUBLE,
    "int64": _Field.TYPE_INT64,
    "string": _Field.TYPE_STRING,
}


def _classes() -> dict[str, Any]:
    """Return the message classes, in a pool of their own."""
    file = descriptor_pb2.FileDescriptorProto(
        name="smkc/prometheus.proto", package="prometheus", syntax="proto3"
    )
    for name, fields in _SCHEMA.items():
        message = file.message_type.add(name=name)
        for text in fields:
            field_name, number, kind = text.split()
            field = message.field.add(name=field_name, number=int(number))
            field.label = _Field.LABEL_REPEATED if kind[-1] == "*" else _Field.LABEL_OPTIONAL
            kind = kind.rstrip("*")
            field.type = _TYPES.get(kind, _Field.TYPE_MESSAGE)
            if kind not in _TYPES:
                field.type_name = f".prometheus.{kind}"
    pool = descriptor_pool.DescriptorPool()
    pool.Add(file)
    return {
        name: message_factory.GetMessageClass(pool.FindMessageTypeByName(f"prometheus.{name}"))
        for name in _SCHEMA
    }


_found = _classes()
TimeSeries: Any = _found["TimeSeries"]
WriteRequest: Any = _found["WriteRequest"]


def decode_remote_write(body: bytes, content_type: str, encoding: str, limits: Limits) -> Samples:
    """Read a remote-write request: a protobuf message in snappy's block format.

    A staleness marker, which is a special NaN, means that the variable is gone; it stays a NaN.
    """
    kind, parameters = media_type(content_type)
    if kind != PROTOBUF or parameters.get("proto", SCHEMA) != SCHEMA:
        raise DecodeError(
            f"Content-Type {content_type[:200]!r} is not known; send remote write 1.0: {PROTOBUF}, "
            f"with proto={SCHEMA} if you like",
            415,
        )
    if encoding.strip().lower() not in ("", "snappy"):
        raise DecodeError(f"Content-Encoding {encoding[:80]!r} is not known; send snappy", 415)
    collector = Collector(limits)
    scan = Scan(unsnapped(body, limits), limits.samples_per_request + ROOM_FOR_OTHERS)
    try:
        for number, span in scan.parts(scan.whole):
            if number == TIMESERIES:
                series = TimeSeries.FromString(scan.message(span))
                if not series.samples:  # a native histogram, or only metadata
                    continue
                labels = ((label.name, label.value) for label in series.labels)
                code = collector.code(series_name(labels))
                for point in series.samples:
                    collector.add(code, point.timestamp, point.value)
    except ProtobufError as error:
        raise DecodeError(f"the body is not a {SCHEMA} ({error}); send one") from None
    return collector.samples()
