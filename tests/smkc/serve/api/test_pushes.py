"""Pushes: samples in each of the three forms reach the inbox, or the sender hears why not."""

import gzip
import json

import numpy as np
import pytest
from google.protobuf import json_format
from opentelemetry.proto.collector.metrics.v1.metrics_service_pb2 import (
    ExportMetricsServiceRequest,
    ExportMetricsServiceResponse,
)
from tests.smkc.serve.decoding.test_native import request_of, snapped
from tests.smkc.serve.decoding.writing import encode_remote_write

from smkc.serve.intake.samples import Samples, unpack_samples

PROTOBUF = "application/x-protobuf"
V2 = "application/x-protobuf;proto=io.prometheus.write.v2.Request"


def three(now):
    return Samples(
        names=('load{pod="a"}', 'load{pod="b"}'),
        codes=np.array([0, 1, 0]),
        times=np.array([now - 2, now - 1, now]),
        values=np.array([1.0, 2.0, 3.0]),
    )


def otlp(now):
    request = ExportMetricsServiceRequest()
    metric = request.resource_metrics.add().scope_metrics.add().metrics.add()
    metric.name = "queue.length"
    point = metric.gauge.data_points.add()
    point.time_unix_nano, point.as_double = now * 1_000_000, 5.0
    return request


@pytest.fixture
def put(serve):
    """Serve with a receiver that keeps what it is given, in front of the real one."""
    import httpx

    kept = []

    def receive(watch, samples):
        kept.append((watch, samples))
        return real(watch, samples)

    server = serve(receive=receive)
    real = server._server.config.app.state.service._service.receive

    def send(path, content, **headers):
        answer = httpx.post(
            server.url + path,
            content=content,
            headers={name.replace("_", "-"): value for name, value in headers.items()},
            trust_env=False,
        )
        return answer, kept

    return send


def test_remote_write(put, service):
    now = service.now()
    answer, kept = put(
        "/api/v1/write",
        encode_remote_write(three(now)),
        Content_Type=PROTOBUF,
        Content_Encoding="snappy",
    )
    assert answer.status_code == 204
    assert answer.content == b""
    assert answer.headers["X-Prometheus-Remote-Write-Samples-Written"] == "3"
    assert kept[0][0] is None
    assert sorted(kept[0][1].values) == [1.0, 2.0, 3.0]


def test_native_histograms_are_compared_with_those_of_the_request_before(put, service):
    now = service.now()
    for time, values in ((now - 1, [1.5]), (now, [1.5, 3.0, 3.0])):
        body = snapped(request_of(2, False, [(time, values)]))
        answer, kept = put("/api/v1/write", body, Content_Type=V2, Content_Encoding="snappy")
        assert answer.status_code == 204
        assert answer.headers["X-Prometheus-Remote-Write-Histograms-Written"] == "1"
        assert answer.headers["X-Prometheus-Remote-Write-Samples-Written"] == "0"
    (_, first), (_, second) = kept
    assert len(first) == 2
    assert second.names[:3] == (
        'latency_count{pod="a"}',
        'latency_sum{pod="a"}',
        'latency{pod="a",quantile="0.5"}',
    )
    assert 2.9 < second.values[2] < 3.1


@pytest.mark.parametrize("time", [-5, 2**62])
def test_a_histogram_at_a_refused_time_does_not_take_the_quantiles_of_those_after_it(
    put, service, time
):
    now = service.now()
    for at, values, status in (
        (now - 1, [1.5], 204),
        (time, [1.5, 2.0], 400),
        (now, [1.5, 3.0, 3.0], 204),
    ):
        body = snapped(request_of(1, False, [(at, values)]))
        answer, kept = put("/api/v1/write", body, Content_Type=PROTOBUF, Content_Encoding="snappy")
        assert answer.status_code == status, answer.text
    assert 'latency{pod="a",quantile="0.5"}' in kept[-1][1].names


@pytest.mark.parametrize("path", ["/v1/metrics", "/api/v1/otlp/v1/metrics"])
@pytest.mark.parametrize("encoding", ["", "gzip"])
def test_otlp(put, service, path, encoding):
    content = otlp(service.now()).SerializeToString()
    content = gzip.compress(content) if encoding else content
    answer, kept = put(path, content, Content_Type=PROTOBUF, Content_Encoding=encoding)
    assert answer.status_code == 200
    assert answer.headers["content-type"] == PROTOBUF
    assert ExportMetricsServiceResponse.FromString(answer.content) == ExportMetricsServiceResponse()
    assert kept[0][1].values.tolist() == [5.0]


def test_otlp_as_json(put, service):
    point = {"timeUnixNano": str(service.now() * 1_000_000), "asDouble": 5.0}
    metric = {"name": "queue.length", "gauge": {"dataPoints": [point]}}
    content = {"resourceMetrics": [{"scopeMetrics": [{"metrics": [metric]}]}]}
    answer, kept = put("/v1/metrics", json.dumps(content), Content_Type="application/json")
    assert answer.status_code == 200, answer.text
    assert answer.json() == {}
    assert kept[0][1].values.tolist() == [5.0]


def test_observations(put, service):
    now = service.now()
    content = json.dumps({"observations": [{"time": now, "name": "a", "value": 1.5}]})
    answer, kept = put("/api/v1/observations?watch=shop", content, Content_Type="application/json")
    assert answer.status_code == 200
    assert answer.json() == {"samples": 1, "watches": ["shop"]}
    assert kept[0][0] == "shop"


def test_what_was_answered_for_is_on_the_disk(client, service):
    now = service.now()
    content = {"observations": [{"time": now, "name": "durable", "value": 7.0}]}
    answer = client.post("/api/v1/observations", json=content)
    assert "shop" in answer.json()["watches"]
    waiting = [unpack_samples(body) for _, body in service.store.inbox("shop")]
    assert any("durable" in samples.names for samples in waiting)


@pytest.mark.parametrize(
    ("path", "kind", "encoding", "status"),
    [
        ("/api/v1/write", "text/plain", "snappy", 415),
        ("/api/v1/write", PROTOBUF, "gzip", 415),
        ("/api/v1/write", PROTOBUF, "snappy", 400),
        ("/api/v1/write", V2, "snappy", 400),
        ("/v1/metrics", "text/html", "", 415),
        ("/v1/metrics", PROTOBUF, "br", 415),
        ("/v1/metrics", PROTOBUF, "gzip", 400),
        ("/api/v1/observations", "text/csv", "", 415),
        ("/api/v1/observations", "application/json", "zstd", 415),
        ("/api/v1/observations", "application/json", "", 400),
    ],
    ids=range(10),
)
def test_what_cannot_be_read_is_refused(client, path, kind, encoding, status):
    headers = {"Content-Type": kind, "Content-Encoding": encoding}
    answer = client.post(path, content=b"\xff\x00\xffnonsense", headers=headers)
    assert answer.status_code == status, answer.text
    assert list(answer.json()) == ["error"]


def test_a_watch_that_is_not_there_is_404(client):
    content = {"observations": [{"time": 1_800_000_000, "name": "a", "value": 1}]}
    assert client.post("/api/v1/observations?watch=none", json=content).status_code == 404
    assert client.post("/api/v1/observations?watch=a%00b", json=content).status_code == 422


@pytest.mark.parametrize("time", [-5, "1969-12-31T23:59:59Z", 1e13, -1e13, "9999-12-31"])
@pytest.mark.parametrize("in_columns", [False, True])
def test_an_observation_at_an_impossible_time_is_named(client, time, in_columns):
    content = {"time": [1_800_000_000, time], "series": {"a": [1, 2]}}
    if not in_columns:
        one = {"time": 1_800_000_000, "name": "a", "value": 1}
        content = {"observations": [one, one | {"time": time}]}
    answer = client.post("/api/v1/observations", json=content)
    assert answer.status_code == 400, answer.text
    said = answer.json()["error"]
    assert ("time 2" if in_columns else "observation 2") in said
    assert repr(time) in said
    assert "from 1970 to 2262" in said


def with_poison(now):
    good = three(now)
    return Samples(**vars(good) | {"times": np.array([now, -5, now])})


def test_remote_write_takes_the_rest_and_names_the_impossible_time(put, service):
    answer, _ = put(
        "/api/v1/write",
        encode_remote_write(with_poison(service.now())),
        Content_Type=PROTOBUF,
        Content_Encoding="snappy",
    )
    assert answer.status_code == 400
    assert answer.headers["X-Prometheus-Remote-Write-Samples-Written"] == "2"
    assert "-5" in answer.json()["error"]
    waiting = [unpack_samples(body) for _, body in service.store.inbox("shop")]
    assert all((samples.times >= 0).all() for samples in waiting)


@pytest.mark.parametrize("kind", [PROTOBUF, "application/json"])
def test_otlp_says_what_was_rejected(put, kind):
    request = otlp(2**63 // 1_000_000)  # the year 2262
    content = request.SerializeToString()
    if kind != PROTOBUF:
        content = json_format.MessageToJson(request)
    answer, _ = put("/v1/metrics", content, Content_Type=kind)
    assert answer.status_code == 200
    response = ExportMetricsServiceResponse()
    if kind == PROTOBUF:
        response.ParseFromString(answer.content)
    else:
        json_format.Parse(answer.text, response)
    assert response.partial_success.rejected_data_points == 1
    assert "queue_length" in response.partial_success.error_message
