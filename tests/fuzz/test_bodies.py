"""Damaged bodies: whatever is pushed, it becomes samples and rows, or a refusal with a reason."""

import gzip
import json
from collections.abc import Callable

import cramjam
import numpy as np
import pytest
from google.protobuf import json_format
from opentelemetry.proto.collector.metrics.v1 import metrics_service_pb2

from smkc.serve.config import Limits, WatchConfig
from smkc.serve.decoding.observations import decode_observations
from smkc.serve.decoding.otlp import decode_otlp
from smkc.serve.decoding.remote_write import RequestV2, WriteRequest, decode_remote_write
from smkc.serve.decoding.unpacking import DecodeError
from smkc.serve.intake.bins import Bins, rows_of
from smkc.serve.intake.entities import Intake
from smkc.serve.intake.samples import Samples

QUICK_CASES = 2_000
SLOW_CASES = 10_000
LIMITS = Limits(body_bytes=1 << 16, decoded_bytes=1 << 18, samples_per_request=200)

PROTOBUF = "application/x-protobuf"
PROTOBUF_V2 = "application/x-protobuf;proto=io.prometheus.write.v2.Request"

NASTY: list[bytes] = [
    *(b"", b"\x00", b"\xff", b"\xff" * 10, b"\x80" * 11, b"\x7f", b"\x0a\x00" * 300, b"\x0b"),
    *(b'"', b"{", b"}", b"[", b"]", b",", b"null", b"NaN", b"1e999", b"-", b"9" * 30, b"\\ud800"),
    *(b"true", b'""', b"[" * 400, b'{"a":' * 50, b"\xf0\x9f", b"\xed\xa0\x80", b"0001-01-01"),
]


def write_v1() -> bytes:
    request = WriteRequest()
    for n in range(6):
        series = request.timeseries.add()
        for label, value in (("__name__", f"m{n % 3}"), ("job", "shop"), ("pod", f"web-{n}")):
            series.labels.add(name=label, value=value)
        for time in range(3):
            series.samples.add(value=n * 0.5, timestamp=1_700_000_000_000 + time * 15_000)
    return request.SerializeToString()


def write_native() -> bytes:
    request = WriteRequest()
    for n in range(4):
        series = request.timeseries.add()
        for label, value in (("__name__", f"h{n}"), ("pod", f"web-{n}")):
            series.labels.add(name=label, value=value)
        add_histograms(series, n)
    return request.SerializeToString()


def add_histograms(series, n: int) -> None:
    for time in range(3):
        one = series.histograms.add(schema=n, zero_threshold=0.01, sum=2.5 * time)
        one.timestamp = 1_700_000_000_000 + time * 15_000
        for side in (one.negative_spans, one.positive_spans):
            side.add(offset=-2, length=2)
            side.add(offset=3, length=1)
        if n % 2:
            one.count_float, one.zero_count_float = 13.5 + time, 1.5
            one.negative_counts.extend([1.0, 2.0, 3.0])
            one.positive_counts.extend([1.0 + time, 2.0, 3.0])
        else:
            one.count_int, one.zero_count_int = 13 + time, 1
            one.negative_deltas.extend([1, 1, 1])
            one.positive_deltas.extend([1 + time, 1, 1])


def write_v2() -> bytes:
    request = RequestV2(symbols=["", "__name__", "job", "shop", "pod"])
    for n in range(6):
        request.symbols.extend([f"m{n % 3}", f"web-{n}"])
        name, pod = len(request.symbols) - 2, len(request.symbols) - 1
        series = request.timeseries.add(labels_refs=[1, name, 2, 3, 4, pod])
        for time in range(3):
            series.samples.add(value=n * 0.5, timestamp=1_700_000_000_000 + time * 15_000)
        if n % 2:
            add_histograms(series, n)
    return request.SerializeToString()


def exported():
    request = metrics_service_pb2.ExportMetricsServiceRequest()
    group = request.resource_metrics.add()
    group.resource.attributes.add(key="service.name").value.string_value = "shop"
    scope = group.scope_metrics.add()
    instant = 1_700_000_000_000_000_000
    shape = scope.metrics.add(name="queue.length")
    point = shape.gauge.data_points.add(time_unix_nano=instant, as_int=3)
    point.attributes.add(key="shop").value.array_value.values.add().int_value = 4
    shape = scope.metrics.add(name="requests", unit="1")
    shape.sum.is_monotonic, shape.sum.aggregation_temporality = True, 2
    point = shape.sum.data_points.add(time_unix_nano=instant, as_double=1.5)
    point.attributes.add(key="code").value.bool_value = True
    shape = scope.metrics.add(name="latency")
    point = shape.histogram.data_points.add(time_unix_nano=instant, count=3, sum=1.5)
    point.exemplars.add(span_id=b"12345678", as_int=3)
    point.bucket_counts.extend([1, 2])
    point.explicit_bounds.extend([0.5])
    shape = scope.metrics.add(name="spread")
    shape.exponential_histogram.aggregation_temporality = 1
    point = shape.exponential_histogram.data_points.add(
        time_unix_nano=instant, count=3, zero_count=1, scale=2
    )
    point.positive.offset = -3
    point.positive.bucket_counts.extend([1, 0, 1])
    shape = scope.metrics.add(name="older")
    shape.summary.data_points.add(time_unix_nano=instant, count=1, sum=1, flags=1)
    return request


def snapped(data: bytes) -> bytes:
    return bytes(cramjam.snappy.compress_raw(data))


def zipped(data: bytes) -> bytes:
    return gzip.compress(data, 1, mtime=0)


LISTED = {
    "observations": [
        {"time": "2026-01-31T12:00:00Z", "name": 'cpu{pod="a"}', "value": 0.5},
        {"time": 1_700_000_000, "metric": "mem", "labels": {"pod": "b"}, "value": None},
        {"time": 1_700_000_000_123, "name": "net\u00e9", "value": 12},
    ]
}
COLUMNS = {"time": [0, 15, 30.5], "series": {"a": [1, None, 2.5], 'b{x="1"}': [1e300, -1, 0]}}
EXPORTED = exported().SerializeToString()
EXPORTED_JSON = json_format.MessageToJson(exported(), indent=None).encode()

# What is damaged, how it is packed afterwards, and how it is read.
Case = tuple[bytes, Callable[[bytes], bytes], Callable[[bytes], Samples]]
CASES: dict[str, Case] = {
    "remote write 1.0": (
        write_v1(),
        snapped,
        lambda body: decode_remote_write(body, PROTOBUF, "snappy", LIMITS),
    ),
    "remote write 2.0": (
        write_v2(),
        snapped,
        lambda body: decode_remote_write(body, PROTOBUF_V2, "snappy", LIMITS),
    ),
    "native histograms": (
        write_native(),
        snapped,
        lambda body: decode_remote_write(body, PROTOBUF, "snappy", LIMITS),
    ),
    "remote write, packed": (
        snapped(write_v1() * 3),
        bytes,
        lambda body: decode_remote_write(body, PROTOBUF, "", LIMITS),
    ),
    "observations": (
        json.dumps(LISTED).encode(),
        bytes,
        lambda body: decode_observations(body, "application/json", "", LIMITS),
    ),
    "observations in columns": (
        json.dumps(COLUMNS).encode(),
        bytes,
        lambda body: decode_observations(body, "application/json; charset=utf-8", "", LIMITS),
    ),
    "otlp": (EXPORTED, bytes, lambda body: decode_otlp(body, PROTOBUF, "", LIMITS)),
    "otlp, packed": (
        zipped(EXPORTED),
        bytes,
        lambda body: decode_otlp(body, PROTOBUF, "gzip", LIMITS),
    ),
    "otlp as JSON": (
        EXPORTED_JSON,
        bytes,
        lambda body: decode_otlp(body, "application/json", "", LIMITS),
    ),
}


def damage(data: bytes, rng: np.random.Generator) -> bytes:
    """Overwrite, insert or lose a few stretches; sometimes cut the end off."""
    lowest, highest = (0, 256) if rng.random() < 0.5 else (32, 127)
    for _ in range(rng.integers(1, 5)):
        at = int(rng.integers(0, len(data) + 1))
        new = bytes(rng.integers(lowest, highest, rng.integers(0, 5)).tolist())
        if rng.random() < 0.3:
            new = NASTY[rng.integers(len(NASTY))]
        n_lost = len(new) if rng.random() < 0.6 else int(rng.integers(0, 9))
        data = data[:at] + new + data[at + n_lost :]
    return data if rng.random() < 0.9 else data[: int(rng.integers(0, len(data) + 1))]


def check_whole(samples: Samples) -> None:
    n = len(samples.names)
    assert len(set(samples.names)) == n
    assert all(name.encode() for name in samples.names)
    assert len(samples.codes) == len(samples.times) == len(samples.values) <= 200
    assert ((samples.codes >= 0) & (samples.codes < n)).all()
    assert samples.codes.dtype == samples.times.dtype == np.int64
    assert samples.values.dtype == np.float64


def read_or_refusal(read: Callable[[bytes], Samples], body: bytes) -> Samples | DecodeError:
    try:
        return read(body)
    except DecodeError as error:
        return error


def survive(case: Case, n_cases: int) -> tuple[int, int]:
    """Read damaged bodies; return how many were understood and how many refused."""
    original, packed, read = case
    rng = np.random.default_rng(n_cases)
    watch = WatchConfig(name="w", source="push", entity="pod", drop_labels=("job",))
    n_read = n_refused = 0
    check_whole(read(packed(original)))
    for _ in range(n_cases):
        samples = read_or_refusal(read, packed(damage(original, rng)))
        if isinstance(samples, DecodeError):
            assert samples.status in (400, 413, 415)
            assert 10 < len(str(samples)) < 1000
            n_refused += 1
            continue
        n_read += 1
        check_whole(samples)
        parts = Intake(watch).by_entity(samples)
        bins = Bins(15_000, 15_000, None, 50)
        for part in [samples, *parts.values()]:
            bins.take(part)
            for row in rows_of(part, 15_000, 50):
                assert np.isfinite(row.values).all()
        bins.close_until(2_000_000_000_000)
    return n_read, n_refused


@pytest.mark.parametrize("kind", CASES)
def test_damaged_bodies(kind):
    n_read, n_refused = survive(CASES[kind], QUICK_CASES)
    # Damage that never shows, or always does, would try little.
    assert min(n_read, n_refused) > QUICK_CASES // 200


@pytest.mark.slow
@pytest.mark.parametrize("kind", CASES)
def test_damaged_bodies_at_length(kind):
    n_read, n_refused = survive(CASES[kind], SLOW_CASES)
    assert n_read + n_refused == SLOW_CASES


@pytest.mark.parametrize("kind", CASES)
def test_noise(kind):
    _, packed, read = CASES[kind]
    rng = np.random.default_rng(1)
    for _ in range(QUICK_CASES // 4):
        found = read_or_refusal(read, packed(rng.bytes(int(rng.integers(0, 200)))))
        if not isinstance(found, DecodeError):
            check_whole(found)
