"""Native and exponential histograms: the same variables, whatever way they are sent."""

import json
import math
import struct

import cramjam
import numpy as np
import pytest
from opentelemetry.proto.collector.metrics.v1 import metrics_service_pb2
from tests.naive_histograms import exponential_counts, exponential_quantile
from tests.smkc.serve.decoding.refusals import refused

from smkc.serve.config import Limits
from smkc.serve.decoding.differences import Differences, Previous
from smkc.serve.decoding.otlp import decode_otlp
from smkc.serve.decoding.remote_write import RequestV2, WriteRequest, decode_remote_write
from smkc.serve.prometheus.collected import Collected
from smkc.serve.prometheus.matrix import MatrixReader

V1 = "application/x-protobuf"
V2 = "application/x-protobuf;proto=io.prometheus.write.v2.Request"
STALE = struct.unpack("<d", bytes.fromhex("020000000000f07f"))[0]
TIMES = (1_700_000_000_000, 1_700_000_015_000, 1_700_000_030_000)
SCALE, ZERO = 3, 0.001
QUANTILES = (0.5, 0.9, 0.99)

rng = np.random.default_rng(20261118)
OBSERVED = [
    [*rng.lognormal(0.0, 2.0, n).tolist(), *(-rng.lognormal(0.0, 1.0, n // 4)).tolist(), 0.0]
    for n in (40, 25, 60)
]
SO_FAR = [[x for some in OBSERVED[: n + 1] for x in some] for n in range(3)]


def spans_and_counts(counts):
    """Index -> count, as runs of indices (offset, length) and one count for each index."""
    spans, values, end = [], [], 0
    for index in sorted(counts):
        if spans and index == end:
            spans[-1][1] += 1
        else:
            spans.append([index - end, 1])
        end = index + 1
        values.append(counts[index])
    return spans, values


def fill(histogram, values, *, is_float, time):
    """Write observations into a protobuf message of remote write."""
    n_zero, negative, positive = exponential_counts(values, SCALE, ZERO)
    kind = "float" if is_float else "int"
    setattr(histogram, f"count_{kind}", len(values))
    setattr(histogram, f"zero_count_{kind}", n_zero)
    histogram.sum, histogram.schema = math.fsum(values), SCALE
    histogram.zero_threshold, histogram.timestamp = ZERO, time
    for side, counts in (("negative", negative), ("positive", positive)):
        spans, numbers = spans_and_counts(counts)
        for offset, length in spans:
            getattr(histogram, f"{side}_spans").add(offset=offset, length=length)
        if is_float:
            getattr(histogram, f"{side}_counts").extend(numbers)
        else:
            getattr(histogram, f"{side}_deltas").extend(np.diff([0, *numbers]).tolist())


def request_of(version, is_float, points):
    if version == 1:
        request = WriteRequest()
        series = request.timeseries.add()
        for label, value in (("__name__", "latency"), ("pod", "a")):
            series.labels.add(name=label, value=value)
    else:
        request = RequestV2(symbols=["", "__name__", "latency", "pod", "a"])
        series = request.timeseries.add(labels_refs=[1, 2, 3, 4])
    for time, values in points:
        fill(series.histograms.add(), values, is_float=is_float, time=time)
    return request


def snapped(request):
    return bytes(cramjam.snappy.compress_raw(request.SerializeToString()))


def by_remote_write(version, is_float):
    previous, found = Previous(), {}
    for point in zip(TIMES, SO_FAR, strict=True):
        body = snapped(request_of(version, is_float, [point]))
        differences = Differences(previous)
        kind = V1 if version == 1 else V2
        add(found, decode_remote_write(body, kind, "snappy", Limits(), differences))
        differences.keep()
    return found


def by_otlp():
    previous, found = Previous(), {}
    for time, values in zip(TIMES, SO_FAR, strict=True):
        n_zero, negative, positive = exponential_counts(values, SCALE, ZERO)
        request = metrics_service_pb2.ExportMetricsServiceRequest()
        shape = request.resource_metrics.add().scope_metrics.add().metrics.add(name="latency")
        shape.exponential_histogram.aggregation_temporality = 2
        point = shape.exponential_histogram.data_points.add(
            time_unix_nano=time * 1_000_000,
            count=len(values),
            sum=math.fsum(values),
            scale=SCALE,
            zero_count=n_zero,
            zero_threshold=ZERO,
        )
        point.attributes.add(key="pod").value.string_value = "a"
        for side, counts in ((point.negative, negative), (point.positive, positive)):
            side.offset = min(counts) - 1
            side.bucket_counts.extend(
                counts.get(index, 0) for index in range(min(counts), max(counts) + 1)
            )
        differences = Differences(previous)
        body = request.SerializeToString()
        add(found, decode_otlp(body, "application/x-protobuf", "", Limits(), differences))
        differences.keep()
    return found


def by_query():
    base = 2.0 ** (2.0**-SCALE)
    histograms = []
    for time, values in zip(TIMES, SO_FAR, strict=True):
        n_zero, negative, positive = exponential_counts(values, SCALE, ZERO)
        low = [
            (-(base**i), min(-(base ** (i - 1)), -ZERO), negative[i])
            for i in sorted(negative)[::-1]
        ]
        high = [(max(base ** (i - 1), ZERO), base**i, positive[i]) for i in sorted(positive)]
        buckets = [[0, *map(repr, one)] for one in [*low, (-ZERO, ZERO, n_zero), *high]]
        about = {"count": repr(len(values)), "sum": repr(math.fsum(values)), "buckets": buckets}
        histograms.append([time / 1000, about])
    series = {"metric": {"__name__": "latency", "pod": "a"}, "histograms": histograms}
    data = {"resultType": "matrix", "result": [series]}
    collected = Collected()
    reader = MatrixReader(collected, {}, most_bytes=10**9, most_samples=10**9)
    reader.feed(json.dumps({"status": "success", "data": data}).encode())
    reader.close()
    found = {}
    add(found, collected.samples())
    return found


def add(found, samples):
    rows = zip(samples.codes.tolist(), samples.times.tolist(), samples.values.tolist(), strict=True)
    for code, time, value in rows:
        assert (samples.names[code], time) not in found
        found[samples.names[code], time] = value


def expected():
    found = {}
    for at, time in enumerate(TIMES):
        found['latency_count{pod="a"}', time] = len(SO_FAR[at])
        found['latency_sum{pod="a"}', time] = pytest.approx(math.fsum(SO_FAR[at]))
        for q in QUANTILES if at else ():
            value = exponential_quantile(
                q, OBSERVED[at], SCALE, ZERO, has_negative=True, has_positive=True
            )
            found[f'latency{{pod="a",quantile="{q}"}}', time] = pytest.approx(value)
    return found


@pytest.mark.parametrize("version", [1, 2])
@pytest.mark.parametrize("is_float", [False, True], ids=["integers", "floats"])
def test_remote_write(version, is_float):
    assert by_remote_write(version, is_float) == expected()


def test_otlp():
    assert by_otlp() == expected()


def test_a_query():
    assert by_query() == expected()


def decoded(request, kind=V1):
    found = {}
    add(found, decode_remote_write(snapped(request), kind, "snappy", Limits()))
    return found


def test_several_in_one_series():
    points = list(zip(TIMES, SO_FAR, strict=True))
    assert decoded(request_of(1, False, points)) == expected()


def test_a_gauge_is_taken_as_it_is():
    request = request_of(1, True, [(TIMES[0], OBSERVED[0])])
    request.timeseries[0].histograms[0].reset_hint = 3
    found = decoded(request)
    assert found['latency_count_delta{pod="a"}', TIMES[0]] == len(OBSERVED[0])
    wanted = exponential_quantile(
        0.9, OBSERVED[0], SCALE, ZERO, has_negative=True, has_positive=True
    )
    assert found['latency{pod="a",quantile="0.9"}', TIMES[0]] == pytest.approx(wanted)


def test_the_staleness_marker():
    request = request_of(1, False, [])
    request.timeseries[0].histograms.add(sum=STALE, timestamp=5)
    found = decoded(request)
    assert len(found) == 5
    assert all(math.isnan(value) for value in found.values())


def test_buckets_with_bounds_of_their_own():
    request = request_of(2, False, [])
    for time, deltas in ((5, [1, 1, -1]), (6, [1, 5, -5])):  # 1, 2, 1, then 1, 6, 1
        one = request.timeseries[0].histograms.add(schema=-53, timestamp=time, sum=3.0)
        one.count_int = 4 if time == 5 else 8
        one.custom_values.extend([1.0, 2.0])
        one.positive_spans.add(offset=0, length=3)
        one.positive_deltas.extend(deltas)
    found = decoded(request, V2)
    assert found['latency{pod="a",quantile="0.5"}', 6] == 1.5


@pytest.mark.parametrize(
    ("lengths", "deltas"),
    [([2], [1]), ([1], [1, 1]), ([2**32 - 1], [1]), ([], [1]), ([3000], [1] * 3000)],
    ids=["few", "many", "far too few", "no spans", "too many"],
)
def test_spans_and_counts_that_do_not_fit(lengths, deltas):
    request = request_of(1, False, [])
    one = request.timeseries[0].histograms.add(count_int=1)
    for length in lengths:
        one.positive_spans.add(length=length)
    one.positive_deltas.extend(deltas)
    with refused(400, "a native histogram has"):
        decoded(request)


def test_a_schema_that_is_not_known_leaves_count_and_sum():
    request = request_of(1, False, [(TIMES[0], OBSERVED[0]), (TIMES[1], SO_FAR[1])])
    for one in request.timeseries[0].histograms:
        one.schema = 99
    assert {name for name, _ in decoded(request)} == {
        'latency_count{pod="a"}',
        'latency_sum{pod="a"}',
    }
