"""Remote write: Prometheus' push protocol, versions 1.0 and 2.0.

In: a body with its headers. Out: samples; native histograms become counts, sums and quantiles.
Exemplars and metadata are skipped.

The protocol: https://prometheus.io/docs/specs/remote_write_spec and remote_write_spec_2_0. The
schemas are prometheus/prompb/types.proto and prompb/io/prometheus/write/v2/types.proto.
"""

import math
from collections.abc import Iterator
from itertools import accumulate
from typing import Any

from google.protobuf import descriptor_pb2, descriptor_pool, message_factory
from google.protobuf.message import DecodeError as ProtobufError

from smkc.serve.config import Limits
from smkc.serve.decoding.collecting import Collector, series_name
from smkc.serve.decoding.differences import Differences
from smkc.serve.decoding.unpacking import DecodeError, Scan, media_type, unsnapped
from smkc.serve.intake.histograms import MOST_BUCKETS, Histogram, explicit, exponential
from smkc.serve.intake.samples import Samples

PROTOBUF = "application/x-protobuf"
V1, V2 = "prometheus.WriteRequest", "io.prometheus.write.v2.Request"

SYMBOLS = 4  # number of this field of the request message of 2.0

ROOM_FOR_OTHERS = 10_000  # fields other than series and symbols, such as metadata

GAUGE = 3  # ResetHint of a histogram that counts the observations of a span
CUSTOM_BOUNDS = -53  # schema of a histogram that lists the bounds of its buckets

_Field = descriptor_pb2.FieldDescriptorProto

# Messages that are the same in both versions. An enum is a number on the wire, and the members of a
# oneof are fields.
_HISTOGRAM = {
    "BucketSpan": ("offset 1 sint32", "length 2 uint32"),
    "Histogram": (
        *("count_int 1 uint64", "count_float 2 double", "sum 3 double", "schema 4 sint32"),
        *("zero_threshold 5 double", "zero_count_int 6 uint64", "zero_count_float 7 double"),
        *("negative_spans 8 BucketSpan*", "negative_deltas 9 sint64*"),
        *("negative_counts 10 double*", "positive_spans 11 BucketSpan*"),
        *("positive_deltas 12 sint64*", "positive_counts 13 double*", "reset_hint 14 uint32"),
        *("timestamp 15 int64", "custom_values 16 double*"),
    ),
}

# A field is "name number type". "*" marks a repeated field; a message type is given by its name.
# Protobuf skips the fields that are left out here.
_SCHEMAS: dict[str, dict[str, tuple[str, ...]]] = {
    "prometheus": {
        "Label": ("name 1 string", "value 2 string"),
        "Sample": ("value 1 double", "timestamp 2 int64"),
        **_HISTOGRAM,
        "TimeSeries": ("labels 1 Label*", "samples 2 Sample*", "histograms 4 Histogram*"),
        "WriteRequest": ("timeseries 1 TimeSeries*",),
    },
    "io.prometheus.write.v2": {
        "Sample": ("value 1 double", "timestamp 2 int64"),
        **_HISTOGRAM,
        "TimeSeries": ("labels_refs 1 uint32*", "samples 2 Sample*", "histograms 3 Histogram*"),
        "Request": ("symbols 4 string*", "timeseries 5 TimeSeries*"),
    },
}

_TYPES = {
    "double": _Field.TYPE_DOUBLE,
    "int64": _Field.TYPE_INT64,
    "sint32": _Field.TYPE_SINT32,
    "sint64": _Field.TYPE_SINT64,
    "string": _Field.TYPE_STRING,
    "uint32": _Field.TYPE_UINT32,
    "uint64": _Field.TYPE_UINT64,
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


def decode_remote_write(
    body: bytes,
    content_type: str,
    encoding: str,
    limits: Limits,
    differences: Differences | None = None,
) -> Samples:
    """Read a remote-write request: a protobuf message in snappy's block format.

    The parameter ``proto`` of the content type gives the version, by default 1.0. A staleness
    marker, which is a special NaN, means that the variable is gone; it stays a NaN.
    ``differences`` compares native histograms with those of earlier requests.
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
    differences = differences or Differences()
    try:
        symbols = [] if schema == V1 else list(_symbols(scan))
        for number, span in scan.parts(scan.whole):
            if number == of_series:
                series = message.FromString(scan.message(span))
                if not series.samples and not series.histograms:  # only metadata
                    continue
                labels = list(_labels(series, symbols, schema))
                name = series_name(labels)
                for point in series.samples:
                    collector.add(collector.code(name), point.timestamp, point.value)
                for one in series.histograms:
                    differences.add(
                        collector,
                        dict(labels),
                        one.timestamp,
                        _histogram(one),
                        is_delta=one.reset_hint == GAUGE,
                    )
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


def _histogram(one: Any) -> Histogram | None:
    """Return a native histogram; None if it is the staleness marker of its series."""
    count = float(one.count_float or one.count_int)
    if math.isnan(one.sum) and not count:
        return None
    negative = _buckets(one.negative_spans, one.negative_deltas, one.negative_counts)
    positive = _buckets(one.positive_spans, one.positive_deltas, one.positive_counts)
    if one.schema == CUSTOM_BOUNDS:
        counts = dict(positive)
        all_counts = [counts.get(at, 0.0) for at in range(len(one.custom_values) + 1)]
        return explicit(count, one.sum, one.custom_values, all_counts)
    zero = one.zero_threshold, float(one.zero_count_float or one.zero_count_int)
    return exponential(count, one.sum, one.schema, zero, negative, positive)


def _buckets(spans: Any, deltas: Any, counts: Any) -> list[tuple[int, float]]:
    """Return index and count of each bucket; spans are runs of indices, deltas differences."""
    n_counts = len(counts) or len(deltas)
    n_indices = sum(span.length for span in spans)
    if n_indices != n_counts or n_indices > MOST_BUCKETS:
        raise DecodeError(
            f"a native histogram has {n_counts:,} counts for {n_indices:,} buckets, and up to "
            f"{MOST_BUCKETS:,} are allowed; send one count for each bucket, and fewer buckets"
        )
    indices: list[int] = []
    at = 0
    for span in spans:
        at += span.offset
        indices += range(at, at + span.length)
        at += span.length
    values = counts or accumulate(deltas)
    return [(index, float(value)) for index, value in zip(indices, values, strict=True)]
