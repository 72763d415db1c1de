"""OTLP: OpenTelemetry's metrics over HTTP, as protobuf or JSON -> samples.

In: an ExportMetricsServiceRequest with its headers. Out: samples. A gauge or a sum is one variable;
a histogram or a summary gives its count and its sum, and a histogram also quantiles. Names follow
Prometheus: invalid characters become underscores, and a cumulative monotonic sum ends in
``_total``.

The protocol: https://opentelemetry.io/docs/specs/otlp; the names follow OpenTelemetry's "Prometheus
and OpenMetrics compatibility".
"""

import json
import re
from base64 import b64encode
from collections.abc import Iterable, Iterator
from math import nan
from typing import Any, NamedTuple

from google.protobuf import json_format
from google.protobuf.message import DecodeError as ProtobufError
from opentelemetry.proto.collector.metrics.v1 import metrics_service_pb2 as service
from opentelemetry.proto.metrics.v1 import metrics_pb2 as metrics
from opentelemetry.proto.resource.v1 import resource_pb2 as resources

from smkc.serve.config import Limits
from smkc.serve.decoding.collecting import (
    LONGEST_NAME,
    METRIC_LABEL,
    Collector,
    series_name,
    too_long,
)
from smkc.serve.decoding.differences import Differences
from smkc.serve.decoding.observations import read_json
from smkc.serve.decoding.unpacking import DecodeError, Scan, media_type, ungzipped
from smkc.serve.intake.histograms import Histogram, explicit, exponential, with_ending
from smkc.serve.intake.samples import Samples

PROTOBUF, JSON = "application/x-protobuf", "application/json"

DELTA, CUMULATIVE = 1, 2  # AggregationTemporality
NO_RECORDED_VALUE = 1  # DataPointFlags: the series is stale
NANOSECONDS_PER_MILLISECOND = 1_000_000

# Limit of protobuf fields scanned to find the data points; a metric with one point takes 11.
FIELDS_A_SAMPLE, ROOM_FOR_OTHERS = 4, 10_000

UNTOLD_RESOURCES = ("telemetry.", "process.", "os.")
"""Prefixes of resource attributes that do not become labels: they describe the build."""


class Kind(NamedTuple):
    """A kind of metric: its field's number and name, and the class of its data points."""

    number: int
    name: str
    point: Any


KINDS = (
    Kind(5, "gauge", metrics.NumberDataPoint),
    Kind(7, "sum", metrics.NumberDataPoint),
    Kind(9, "histogram", metrics.HistogramDataPoint),
    Kind(10, "exponentialHistogram", metrics.ExponentialHistogramDataPoint),
    Kind(11, "summary", metrics.SummaryDataPoint),
)
BY_NUMBER = {kind.number: kind for kind in KINDS}

STRANGE_IN_LABELS = re.compile(r"[^a-zA-Z0-9_]+")
STRANGE_IN_METRICS = re.compile(r"[^a-zA-Z0-9_:]+")
MOST_DEPTH = 16  # levels of nesting in an attribute's value

Labels = dict[str, str]


class Metric(NamedTuple):
    """A metric without its data points; ``resource`` are the labels of its sender."""

    kind: Kind
    name: str
    resource: Labels
    temporality: int
    is_monotonic: bool


def decode_otlp(
    body: bytes,
    content_type: str,
    encoding: str,
    limits: Limits,
    differences: Differences | None = None,
) -> Samples:
    """Read a request of an OpenTelemetry exporter or collector, plain or gzipped.

    ``differences`` compares cumulative histograms with those of earlier requests.

    Examples
    --------
    >>> point = '{"timeUnixNano": "15000000000", "asDouble": 0.5}'
    >>> scope = '{"metrics": [{"name": "queue.length", "gauge": {"dataPoints": [%s]}}]}' % point
    >>> body = ('{"resourceMetrics": [{"scopeMetrics": [%s]}]}' % scope).encode()
    >>> samples = decode_otlp(body, "application/json", "", Limits())
    >>> samples.names, samples.times.tolist(), samples.values.tolist()
    (('queue_length',), [15000], [0.5])
    """
    kind, _ = media_type(content_type)
    if kind not in (PROTOBUF, JSON):
        raise DecodeError(
            f"Content-Type {content_type[:200]!r} is not known; send {PROTOBUF} or {JSON}", 415
        )
    data = ungzipped(body, encoding, limits)
    collector, differences = Collector(limits), differences or Differences()
    try:
        if kind == JSON:
            points = _json_points(read_json(data, limits))
        else:
            most = FIELDS_A_SAMPLE * limits.samples_per_request + ROOM_FOR_OTHERS
            points = _protobuf_points(Scan(data, most))
        for metric, point in points:
            _add(collector, differences, metric, point)
    except (ProtobufError, json_format.ParseError, UnicodeError) as error:
        raise DecodeError(
            f"the body is not an ExportMetricsServiceRequest ({error}); send one"
        ) from None
    return collector.samples()


def encode_otlp_response(refused: int = 0, refusal: str = "", *, as_json: bool = False) -> bytes:
    """Return the response to a request: full success, or the number and reason of refusals."""
    response = service.ExportMetricsServiceResponse()
    if refused:
        response.partial_success.rejected_data_points = refused
        response.partial_success.error_message = refusal
    if as_json:
        return str(json_format.MessageToJson(response, indent=None)).encode()
    return bytes(response.SerializeToString())


# ---------------------------------------------------------------------- the two encodings


def _protobuf_points(scan: Scan) -> Iterator[tuple[Metric, Any]]:
    """Yield each data point with its metric; the numbers are field numbers of the schema."""
    for number, group in scan.parts(scan.whole):
        if number != 1:  # ExportMetricsServiceRequest.resource_metrics
            continue
        resource: Labels = {}
        for part, span in scan.parts(group):
            if part == 1:  # ResourceMetrics.resource
                resource = _resource(resources.Resource.FromString(scan.message(span)))
        for part, scope in scan.parts(group):
            if part != 2:  # ResourceMetrics.scope_metrics
                continue
            for field, span in scan.parts(scope):
                if field == 2:  # ScopeMetrics.metrics
                    yield from _protobuf_metric(scan, span, resource)


def _protobuf_metric(
    scan: Scan, span: tuple[int, int], resource: Labels
) -> Iterator[tuple[Metric, Any]]:
    name = ""
    for number, part in scan.parts(span):
        if number == 1:  # Metric.name
            name = scan.message(part).decode()
    for number, part in scan.parts(span):
        kind = BY_NUMBER.get(number)
        if kind is None:
            continue
        # Field 2 is aggregation_temporality (Sum, Histogram); field 3 is Sum.is_monotonic.
        settings = scan.numbers(part)
        metric = Metric(kind, name, resource, settings.get(2, 0), bool(settings.get(3, 0)))
        for field, point in scan.parts(part):
            if field == 1:  # data_points, in all of them
                yield metric, kind.point.FromString(scan.message(point))


def _json_points(content: Any) -> Iterator[tuple[Metric, Any]]:
    for group in _children(content, "resourceMetrics"):
        resource = _resource(_message(group.get("resource") or {}, resources.Resource()))
        for scope in _children(group, "scopeMetrics"):
            for one in _children(scope, "metrics"):
                for kind in KINDS:
                    if kind.name in one:
                        yield from _json_metric(one, kind, resource)


def _json_metric(one: Any, kind: Kind, resource: Labels) -> Iterator[tuple[Metric, Any]]:
    content = one[kind.name]
    points = _children(content, "dataPoints")
    temporality, name = content.get("aggregationTemporality", 0), one.get("name", "")
    if not isinstance(name, str):
        raise DecodeError("a metric's name is not a string; give one")
    if isinstance(temporality, str):
        temporality = {"AGGREGATION_TEMPORALITY_DELTA": DELTA}.get(temporality, CUMULATIVE)
    metric = Metric(kind, name, resource, temporality, content.get("isMonotonic") is True)
    for point in points:
        point.pop("exemplars", None)  # their ids are hexadecimal, which protobuf cannot parse
        yield metric, _message(point, kind.point())


def _children(content: Any, key: str) -> list[dict[str, Any]]:
    found = content.get(key, []) if isinstance(content, dict) else None
    if not isinstance(found, list) or not all(isinstance(one, dict) for one in found):
        raise DecodeError(f"{key} is not a list of objects; send an ExportMetricsServiceRequest")
    return found


def _message(content: Any, message: Any) -> Any:
    if not isinstance(content, dict):
        raise DecodeError("a resource is not an object; send an ExportMetricsServiceRequest")
    return json_format.ParseDict(content, message, ignore_unknown_fields=True)


# ---------------------------------------------------------------------- names and values


def _resource(resource: Any) -> Labels:
    told = [one for one in resource.attributes if not one.key.startswith(UNTOLD_RESOURCES)]
    return attribute_labels(told)


def _add(collector: Collector, differences: Differences, metric: Metric, point: Any) -> None:
    time = point.time_unix_nano // NANOSECONDS_PER_MILLISECOND
    is_gone = bool(point.flags & NO_RECORDED_VALUE)
    is_delta = metric.temporality == DELTA
    if metric.kind.point is metrics.NumberDataPoint:
        field = point.WhichOneof("value")
        if field is None and not is_gone:
            return
        only_counts = metric.kind.name == "sum" and metric.is_monotonic and not is_delta
        code = collector.code(_name(metric, "_total" if only_counts else "", point))
        collector.add(code, time, nan if is_gone else float(getattr(point, field)))
        return
    if metric.kind.name == "summary":
        for ending, value in (("_count", point.count), ("_sum", point.sum)):
            code = collector.code(_name(metric, ending, point))
            collector.add(code, time, nan if is_gone else float(value))
        return
    histogram = None if is_gone else _histogram(metric.kind, point)
    labels = _labels(metric, "", point)
    differences.add(collector, labels, time, histogram, is_delta=is_delta)


def _histogram(kind: Kind, point: Any) -> Histogram:
    count, total = float(point.count), point.sum if point.HasField("sum") else nan
    if kind.name == "histogram":
        return explicit(count, total, point.explicit_bounds, point.bucket_counts)
    # OpenTelemetry counts buckets by their lower end, Prometheus by their upper one.
    negative, positive = (
        enumerate(side.bucket_counts, side.offset + 1) for side in (point.negative, point.positive)
    )
    zero = point.zero_threshold, point.zero_count
    return exponential(count, total, point.scale, zero, negative, positive)


def _labels(metric: Metric, ending: str, point: Any) -> Labels:
    if len(metric.name) > LONGEST_NAME:
        raise too_long(len(metric.name), metric.name)
    labels = metric.resource | attribute_labels(point.attributes)
    return labels | {METRIC_LABEL: metric_name(metric.name, ending)}


def _name(metric: Metric, ending: str, point: Any) -> str:
    return series_name(_labels(metric, ending, point).items())


def metric_name(name: str, ending: str) -> str:
    """Return a metric's name as Prometheus would write it; append ``ending`` if it is missing.

    Examples
    --------
    >>> metric_name("http.server.requests", "_total"), metric_name("disk io_total", "_total")
    ('http_server_requests_total', 'disk_io_total')
    """
    known = STRANGE_IN_METRICS.sub("_", name)
    if not known:
        raise DecodeError("a metric has no name; give it one")
    if known[0].isdigit():
        known = f"_{known}"
    return with_ending(known, ending)


def attribute_labels(attributes: Iterable[Any]) -> Labels:
    """Return attributes as labels.

    If several names map to the same label, their values are joined by ``;``. An attribute without a
    name is left out.
    """
    labels: Labels = {}
    for one in sorted(attributes, key=lambda one: str(one.key)):
        label = STRANGE_IN_LABELS.sub("_", one.key)
        if not label:
            continue
        if label[0].isdigit():
            label = f"_{label}"
        text = _text(one.value)
        labels[label] = f"{labels[label]};{text}" if label in labels else text
    return labels


def _text(value: Any) -> str:
    plain = _plain(value, 0)
    return plain if isinstance(plain, str) else json.dumps(plain, ensure_ascii=False)


def _plain(value: Any, depth: int) -> Any:
    """Return an attribute's value as a JSON-serializable value."""
    if depth > MOST_DEPTH:
        raise DecodeError(f"an attribute nests more than {MOST_DEPTH} levels; send plain text")
    kind = value.WhichOneof("value")
    if kind is None:
        return ""
    if kind == "array_value":
        return [_plain(one, depth + 1) for one in value.array_value.values]
    if kind == "kvlist_value":
        return {one.key: _plain(one.value, depth + 1) for one in value.kvlist_value.values}
    found = getattr(value, kind)
    return b64encode(found).decode() if isinstance(found, bytes) else found
