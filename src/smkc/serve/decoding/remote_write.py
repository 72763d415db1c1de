"""Remote write: Prometheus' push protocol, versions 1.0 and 2.0.

In: a body with its headers. Out: samples. Native histograms, exemplars and metadata are skipped.

The protocol: https://prometheus.io/docs/specs/remote_write_spec and remote_write_spec_2_0. The
schemas are prometheus/prompb/types.proto and prompb/io/prometheus/write/v2/types.proto.
"""

from collections.abc import Iterator
from typing import Any

from google.protobuf import descriptor_pb2, descriptor_pool, message_factory
from google.protobuf.message import DecodeError as ProtobufError

from smkc.serve.config import Limits
from smkc.serve.decoding.collecting import Collector, series_name
from smkc.serve.decoding.unpacking import DecodeError, Scan, media_type, unsnapped
from smkc.serve.intake.samples import Samples

PROTOBUF = "application/x-protobuf"
V1, V2 = "prometheus.WriteRequest", "io.prometheus.write.v2.Request"

SYMBOLS = 4  # number of this field of the request message of 2.0

ROOM_FOR_OTHERS = 10_000  # fields other than series and symbols, such as metadata

_Field = descriptor_pb2.FieldDescriptorProto

# A field is "name number type". "*" marks a repeated field; a message type is given by its name.
# Protobuf skips the fields that are left out here.
_SCHEMAS: dict[str, dict[str, tuple[str, ...]]] = {
    "prometheus": {
        "Label": ("name 1 string", "value 2 string"),
        "Sample": ("value 1 double", "timestamp 2 int64"),
        "TimeSeries": ("labels 1 Label*", "samples 2 Sample*"),
        "WriteRequest": ("timeseries 1 TimeSeries*",),
    },
    "io.prometheus.write.v2": {
        "Sample": ("value 1 double", "timestamp 2 int64"),
        "TimeSeries": ("labels_refs 1 uint32*", "samples 2 Sample*"),
        "Request": ("symbols 4 string*", "timeseries 5 TimeSeries*"),
    },
}

_TYPES = {
    "double": _Field.TYPE_DOUBLE,
    "int64": _Field.TYPE_INT64,
    "string": _Field.TYPE_STRING,
    "uint32": _Field.TYPE_UINT32,
}


def _classes(package: str) -> dict[str, Any]:
    """Return the message classes of a package, in a pool of their own."""
    file = descriptor_pb2.FileDescriptorProto(
        name=f"smkc/{package}.proto", package=package, syntax="proto3"
    )
    for name, fields in _SCHEMAS[package].items():
        message = file.message_type.add(name=name)
        for text in fields:
            field_name, number, kind = text.split()
            field = message.field.add(name=field_name, number=int(number))
            field.label = _Field.LABEL_REPEATED if kind[-1] == "*" else _Field.LABEL_OPTIONAL
            kind = kind.rstrip("*")
            field.type = _TYPES.get(kind, _Field.TYPE_MESSAGE)
            if kind not in _TYPES:
                field.type_name = f".{package}.{kind}"
    pool = descriptor_pool.DescriptorPool()
    pool.Add(file)
    return {
        name: message_factory.GetMessageClass(pool.FindMessageTypeByName(f"{package}.{name}"))
        for name in _SCHEMAS[package]
    }


_v1, _v2 = _classes("prometheus"), _classes("io.prometheus.write.v2")
TimeSeries, WriteRequest, RequestV2 = _v1["TimeSeries"], _v1["WriteRequest"], _v2["Request"]

# Number of the request's field that holds the series, and the class of a series.
_SERIES: dict[str, tuple[int, Any]] = {V1: (1, TimeSeries), V2: (5, _v2["TimeSeries"])}


def decode_remote_write(body: bytes, content_type: str, encoding: str, limits: Limits) -> Samples:
    """Read a remote-write request: a protobuf message in snappy's block format.

    The parameter ``proto`` of the content type gives the version, by default 1.0. A staleness
    marker, which is a special NaN, means that the variable is gone; it stays a NaN.
    """
    kind, parameters = media_type(content_type)
    schema = parameters.get("proto", V1)
    if kind != PROTOBUF or schema not in _SERIES:
        raise DecodeError(
            f"Content-Type {content_type[:200]!r} is not known; send {PROTOBUF}, with proto={V1} "
            f"or proto={V2} if you like",
            415,
        )
    if encoding.strip().lower() not in ("", "snappy"):
        raise DecodeError(f"Content-Encoding {encoding[:80]!r} is not known; send snappy", 415)
    collector = Collector(limits)
    scan = Scan(unsnapped(body, limits), 4 * limits.samples_per_request + ROOM_FOR_OTHERS)
    of_series, message = _SERIES[schema]
    try:
        symbols = [] if schema == V1 else list(_symbols(scan))
        for number, span in scan.parts(scan.whole):
            if number == of_series:
                series = message.FromString(scan.message(span))
                if not series.samples:  # a native histogram, or only metadata
                    continue
                code = collector.code(series_name(_labels(series, symbols, schema)))
                for point in series.samples:
                    collector.add(code, point.timestamp, point.value)
    except ProtobufError as error:
        raise DecodeError(f"the body is not a {schema} ({error}); send one") from None
    return collector.samples()


def _symbols(scan: Scan) -> Iterator[str]:
    """Yield the texts that series of version 2.0 refer to by number."""
    for number, span in scan.parts(scan.whole):
        if number == SYMBOLS:
            try:
                yield scan.data[slice(*span)].decode()
            except UnicodeDecodeError:
                raise DecodeError("a symbol is not UTF-8 text; send UTF-8") from None


def _labels(series: Any, symbols: list[str], schema: str) -> Iterator[tuple[str, str]]:
    """Yield names and values of a series' labels."""
    if schema == V1:
        yield from ((label.name, label.value) for label in series.labels)
        return
    refs = series.labels_refs
    if len(refs) % 2 or max(refs, default=0) >= len(symbols):
        raise DecodeError(
            f"a series refers to {len(refs)} symbols, up to number {max(refs, default=0)}, in a "
            f"body that holds {len(symbols)}; send pairs of symbols that are there"
        )
    for name, value in zip(refs[::2], refs[1::2], strict=True):
        yield symbols[name], symbols[value]
