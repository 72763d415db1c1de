"""OTLP: every kind of metric as protobuf and as JSON, and refusals."""

import gzip
import json

import pytest
from google.protobuf import json_format
from opentelemetry.proto.collector.metrics.v1 import metrics_service_pb2 as service
from opentelemetry.proto.metrics.v1 import metrics_pb2
from tests.smkc.serve.decoding.refusals import refused

from smkc.serve.config import Limits
from smkc.serve.decoding.otlp import decode_otlp, encode_otlp_response

PROTOBUF, JSON = "application/x-protobuf", "application/json"
INSTANT = 1_700_000_000_250_000_000
TIME = 1_700_000_000_250
DELTA = metrics_pb2.AGGREGATION_TEMPORALITY_DELTA
CUMULATIVE = metrics_pb2.AGGREGATION_TEMPORALITY_CUMULATIVE


class Export:
    """A request under construction."""

    def __init__(self, **resource: str) -> None:
        self.request = service.ExportMetricsServiceRequest()
        self.group = self.request.resource_metrics.add()
        for key, value in resource.items():
            entry = self.group.resource.attributes.add(key=key.replace("__", "."))
            entry.value.string_value = value
        self.scope = self.group.scope_metrics.add()

    def gauge(self, name: str, **settings):
        shape = self.scope.metrics.add(name=name, unit="1", description="words").gauge
        return shape.data_points.add(**{"time_unix_nano": INSTANT, **settings})

    def sum(self, name: str, is_monotonic: bool, temporality: int, **settings):
        shape = self.scope.metrics.add(name=name).sum
        shape.is_monotonic, shape.aggregation_temporality = is_monotonic, temporality
        return shape.data_points.add(time_unix_nano=INSTANT, **settings)

    def histogram(self, name: str, temporality: int, **settings):
        shape = self.scope.metrics.add(name=name).histogram
        shape.aggregation_temporality = temporality
        return shape.data_points.add(time_unix_nano=INSTANT, **settings)

    def spread(self, name: str, **settings):
        shape = self.scope.metrics.add(name=name).exponential_histogram
        shape.aggregation_temporality = CUMULATIVE
        return shape.data_points.add(time_unix_nano=INSTANT, **settings)

    def summary(self, name: str, **settings):
        shape = self.scope.metrics.add(name=name).summary
        return shape.data_points.add(time_unix_nano=INSTANT, **settings)


def bodies(export: Export) -> list[tuple[bytes, str, str]]:
    """The same request in every way it can be sent."""
    packed = export.request.SerializeToString()
    text = json_format.MessageToJson(export.request).encode()
    return [
        (packed, PROTOBUF, ""),
        (gzip.compress(packed), PROTOBUF, "gzip"),
        (text, JSON, ""),
        (gzip.compress(text), "application/json; charset=utf-8", "gzip"),
    ]


def read(export: Export) -> dict[str, str]:
    """Values by name, the same whatever way they were sent."""
    found = []
    for body, kind, encoding in bodies(export):
        samples = decode_otlp(body, kind, encoding, Limits())
        assert set(samples.times.tolist()) <= {TIME}
        names = [samples.names[code] for code in samples.codes.tolist()]
        found.append(dict(zip(names, map(repr, samples.values.tolist()), strict=True)))
    assert all(one == found[0] for one in found)
    return found[0]


def test_gauges():
    export = Export()
    export.gauge("queue.length", as_int=-3)
    export.gauge("load", as_double=0.5)
    export.gauge("nothing")
    assert read(export) == {"queue_length": "-3.0", "load": "0.5"}


def test_sums_that_only_count_up_are_named_so():
    export = Export()
    export.sum("requests", True, CUMULATIVE, as_int=5)
    export.sum("errors_total", True, CUMULATIVE, as_int=6)
    export.sum("in.flight", False, CUMULATIVE, as_int=7)
    export.sum("new.requests", True, DELTA, as_int=8)
    assert read(export) == {
        "requests_total": "5.0",
        "errors_total": "6.0",
        "in_flight": "7.0",
        "new_requests": "8.0",
    }


def test_histograms_and_summaries_give_count_and_sum():
    export = Export()
    point = export.histogram("latency", CUMULATIVE, count=3, sum=1.5)
    point.bucket_counts.extend([1, 2])
    point.exemplars.add(span_id=b"12345678", trace_id=b"1" * 16, as_double=1)
    export.histogram("sizes", DELTA, count=2, sum=9)
    export.histogram("sumless", CUMULATIVE, count=4)
    export.spread("spread", count=5, sum=2.5, scale=3, zero_count=1)
    export.summary("older", count=6, sum=3.5).quantile_values.add(quantile=0.5, value=2)
    assert read(export) == {
        "latency_count": "3.0",
        "latency_sum": "1.5",
        "sizes_count_delta": "2.0",
        "sizes_sum_delta": "9.0",
        "sumless_count": "4.0",
        "spread_count": "5.0",
        "spread_sum": "2.5",
        "older_count": "6.0",
        "older_sum": "3.5",
    }


def test_a_point_that_went_stale_is_nan():
    export = Export()
    export.gauge("a", flags=1)
    export.histogram("b", CUMULATIVE, flags=1)
    quantiles = {f'b{{quantile="{q}"}}': "nan" for q in (0.5, 0.9, 0.99)}
    assert read(export) == {"a": "nan", "b_count": "nan", "b_sum": "nan", **quantiles}


def test_quantiles_of_a_span():
    export = Export()
    point = export.histogram("latency", DELTA, count=4, sum=5)
    point.explicit_bounds.extend([1.0, 2.0])
    point.bucket_counts.extend([0, 4, 0])
    spread = export.spread("sizes", count=4, scale=0)  # between 2 and 4
    spread.positive.offset = 1
    spread.positive.bucket_counts.extend([4])
    export.scope.metrics[-1].exponential_histogram.aggregation_temporality = DELTA
    assert read(export) == {
        "latency_count_delta": "4.0",
        "latency_sum_delta": "5.0",
        'latency{quantile="0.5"}': "1.5",
        'latency{quantile="0.9"}': "1.9",
        'latency{quantile="0.99"}': "1.99",
        "sizes_count_delta": "4.0",
        'sizes{quantile="0.5"}': "3.0",
        'sizes{quantile="0.9"}': "3.8",
        'sizes{quantile="0.99"}': "3.98",
    }


def test_attributes_and_resource_become_labels():
    export = Export(
        service__name="shop",
        service__instance__id="i-1",
        process__pid="7",
        telemetry__sdk__name="x",
        zone="outer",
    )
    point = export.gauge("load", as_int=1)
    point.attributes.add(key="http.route").value.string_value = '/a"b'
    point.attributes.add(key="zone").value.string_value = "inner"
    labels = r'http_route="/a\"b",service_instance_id="i-1",service_name="shop",zone="inner"'
    assert read(export) == {f"load{{{labels}}}": "1.0"}


def test_a_resource_may_follow_its_metrics():
    export = Export(service__name="shop")
    export.gauge("load", as_int=1)
    first = metrics_pb2.ResourceMetrics(scope_metrics=export.group.scope_metrics)
    second = metrics_pb2.ResourceMetrics(resource=export.group.resource)
    inner = first.SerializeToString() + second.SerializeToString()
    body = b"\x0a" + bytes([len(inner)]) + inner
    assert decode_otlp(body, PROTOBUF, "", Limits()).names == ('load{service_name="shop"}',)


def test_several_points_of_a_metric():
    export = Export()
    shape = export.scope.metrics.add(name="m").gauge
    for pod, value in (("a", 1), ("b", 2), ("a", 3)):
        point = shape.data_points.add(time_unix_nano=INSTANT, as_int=value)
        point.attributes.add(key="pod").value.string_value = pod
    samples = decode_otlp(export.request.SerializeToString(), PROTOBUF, "", Limits())
    assert samples.names == ('m{pod="a"}', 'm{pod="b"}')
    assert (samples.codes.tolist(), samples.values.tolist()) == ([0, 1, 0], [1, 2, 3])


def test_json_as_exporters_write_it():
    point = {
        "timeUnixNano": INSTANT,
        "asInt": "7",
        "exemplars": [
            {"traceId": "5b8efff798038103d269b633813fc60c", "spanId": "eee19b7ec3c1b174"}
        ],
        "somethingNew": {"x": 1},
    }
    shape = {"dataPoints": [point], "isMonotonic": True}
    names = ("AGGREGATION_TEMPORALITY_CUMULATIVE", 2, "AGGREGATION_TEMPORALITY_DELTA", 1)
    metrics = [
        {"name": f"m{at}", "sum": {**shape, "aggregationTemporality": name}}
        for at, name in enumerate(names)
    ]
    request = {"resourceMetrics": [{"resource": None, "scopeMetrics": [{"metrics": metrics}]}]}
    samples = decode_otlp(json.dumps(request).encode(), JSON, "", Limits())
    assert samples.names == ("m0_total", "m1_total", "m2", "m3")


@pytest.mark.parametrize("kind", [PROTOBUF, JSON])
def test_nothing_sent_is_nothing_read(kind):
    body = b"{}" if kind == JSON else b""
    assert len(decode_otlp(body, kind, "", Limits())) == 0


@pytest.mark.parametrize("kind", ["", "text/plain", "application/grpc"])
def test_what_is_not_known(kind):
    with refused(415, "Content-Type"):
        decode_otlp(b"", kind, "", Limits())


@pytest.mark.parametrize("encoding", ["snappy", "zstd"])
def test_encodings_that_are_not_known(encoding):
    with refused(415, "Content-Encoding"):
        decode_otlp(b"", PROTOBUF, encoding, Limits())


@pytest.mark.parametrize(
    "content",
    [
        [],
        5,
        {"resourceMetrics": 5},
        {"resourceMetrics": [5]},
        {"resourceMetrics": [{"resource": 5}]},
        {"resourceMetrics": [{"resource": {"attributes": 5}}]},
        {"resourceMetrics": [{"scopeMetrics": {}}]},
        {"resourceMetrics": [{"scopeMetrics": [{"metrics": [{"gauge": 5}]}]}]},
        {"resourceMetrics": [{"scopeMetrics": [{"metrics": [{"gauge": {"dataPoints": [5]}}]}]}]},
    ],
    ids=str,
)
def test_json_of_another_shape(content):
    with refused(400, "ExportMetricsServiceRequest"):
        decode_otlp(json.dumps(content).encode(), JSON, "", Limits())


@pytest.mark.parametrize(
    ("metric", "words"),
    [
        ({"name": "", "gauge": {"dataPoints": [{"asInt": 1}]}}, "no name"),
        ({"name": 5, "gauge": {"dataPoints": [{"asInt": 1}]}}, "not a string"),
        ({"name": "a", "gauge": {"dataPoints": [{"asInt": "x"}]}}, "asInt"),
        ({"name": "a", "gauge": {"dataPoints": [{"asInt": 1, "timeUnixNano": -1}]}}, "time"),
        ({"name": "a" * 20_000, "gauge": {"dataPoints": [{"asInt": 1}]}}, "16,384"),
    ],
    ids=["empty", "no text", "value", "time", "long"],
)
def test_metrics_that_are_refused(metric, words):
    request = {"resourceMetrics": [{"scopeMetrics": [{"metrics": [metric]}]}]}
    with refused(400, words):
        decode_otlp(json.dumps(request).encode(), JSON, "", Limits())


@pytest.mark.parametrize(
    "body",
    [b"\x0a\x05", b"\x0b", b"\x0a\x06\x12\x04\x12\x02\x0a\x09", b"\x0a\x02\x0a\x09"],
    ids=["cut", "group", "cut inside", "resource"],
)
def test_what_is_no_message(body):
    with refused(400, "body"):
        decode_otlp(body, PROTOBUF, "", Limits())


def test_a_name_must_be_text():
    inner = b"\x0a\x01\xff\x2a\x04\x0a\x02\x40\x01"  # name, gauge with a point
    scope = b"\x12" + bytes([len(inner)]) + inner
    group = b"\x12" + bytes([len(scope)]) + scope
    with refused(400, "utf-8"):
        decode_otlp(b"\x0a" + bytes([len(group)]) + group, PROTOBUF, "", Limits())


def test_so_many_samples_and_no_more():
    export = Export()
    for n in range(5):
        export.histogram(f"h{n}", CUMULATIVE, count=1, sum=1)
    body = export.request.SerializeToString()
    assert len(decode_otlp(body, PROTOBUF, "", Limits(samples_per_request=10))) == 10
    with refused(413, "9 samples"):
        decode_otlp(body, PROTOBUF, "", Limits(samples_per_request=9))


def test_the_answer_says_that_all_was_taken():
    answer = service.ExportMetricsServiceResponse.FromString(encode_otlp_response())
    assert not answer.HasField("partial_success")
