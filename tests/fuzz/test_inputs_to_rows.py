"""From every input to a scored row: whatever is sent, the rows that follow are still judged."""

import json
import math
from contextlib import ExitStack

import httpx
import numpy as np
import pytest
from google.protobuf import json_format
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from opentelemetry.proto.collector.metrics.v1 import metrics_service_pb2
from tests.following import START, STEP, FastClock, Playback, made_rows, pull_config, wait_until
from tests.fuzz.test_bodies import PROTOBUF, PROTOBUF_V2, snapped

from smkc.serve.api import Keys, Server, create_app
from smkc.serve.config import Listen, config_of
from smkc.serve.decoding.remote_write import RequestV2, WriteRequest
from smkc.serve.rows import LATEST_TIME
from smkc.serve.service import Service

LEAST_ROWS = 80
GOOD = made_rows(5, LEAST_ROWS + 20_000, 3, churn=False)  # more than the slow profile needs
ENTITIES = tuple(f"h{j}" for j in range(3))
LANES = [("plain", ""), *(("split", entity) for entity in ENTITIES)]

# Statuses of an answer that says what became of a body; none says that the service failed.
ANSWERED = {200, 204, 400, 413, 415, 422}

# Steps that may pass until a row is closed by threads that have much to do.
MOST_STEPS = 100

# A time is either absolute, or relative to the service's clock.
absolute = st.one_of(
    st.sampled_from([-5, -1, 0, 1, 5, 2**31, 10**11, 10**13, 2**53, 2**62, 2**63 - 1, -(2**63)]),
    st.sampled_from([LATEST_TIME, LATEST_TIME + 1, LATEST_TIME - 14_000]),
    st.sampled_from([-60_000, -(10**6), -(10**10), -(10**13)]),
    st.integers(-(10**12), 10**12),
    st.integers(-(2**63), 2**63 - 1),
).map(lambda time: (time, False))
relative = st.integers(-4 * STEP, 50 * STEP).map(lambda time: (time, True))
times = absolute | relative | relative

values = st.one_of(
    st.sampled_from([0.0, -0.0, 3.4e38, 3.5e38, -1e308, 1e-45, 5e-324, math.inf, -math.inf]),
    st.floats(),
    st.floats(-100, 100),
)
texts = st.one_of(
    st.text(st.characters(exclude_categories=["Cs"]), max_size=12),
    st.sampled_from(["a\x00b", "\u202eb", "a{", 'a{b="', "{}", "x" * 17_000, "__name__", "\x7f"]),
)
metrics = texts | st.sampled_from(["load", "load", "up", "x_total", "x_bucket"])
hosts = texts | st.sampled_from([*ENTITIES, "h9", ""])
samples = st.lists(st.tuples(metrics, hosts, times, values), max_size=6)


def as_list(sent):
    one_by_one = [
        {"time": time, "metric": metric, "labels": {"host": host}, "value": value}
        for metric, host, time, value in sent
    ]
    return "/api/v1/observations", json.dumps(one_by_one), "application/json"


def as_names(sent):
    one_by_one = [
        {"time": time, "name": f'{metric}{{host="{host}"}}', "value": value}
        for metric, host, time, value in sent
    ]
    body = json.dumps({"observations": one_by_one})
    return "/api/v1/observations", body, "application/json"


def as_columns(sent):
    stamps = [time for _, _, time, _ in sent]
    series = {metric: [value] * len(sent) for metric, _, _, value in sent}
    return (
        "/api/v1/observations",
        json.dumps({"time": stamps, "series": series}),
        "application/json",
    )


def as_remote_write(sent):
    request = WriteRequest()
    for metric, host, time, value in sent:
        series = request.timeseries.add()
        series.labels.add(name="__name__", value=metric)
        series.labels.add(name="host", value=host)
        series.samples.add(value=value, timestamp=time)
    return "/api/v1/write", snapped(request.SerializeToString()), PROTOBUF


def as_remote_write_2(sent):
    request = RequestV2(symbols=["", "__name__", "host"])
    for metric, host, time, value in sent:
        request.symbols.extend([metric, host])
        n = len(request.symbols)
        series = request.timeseries.add(labels_refs=[1, n - 2, 2, n - 1])
        series.samples.add(value=value, timestamp=time)
    return "/api/v1/write", snapped(request.SerializeToString()), PROTOBUF_V2


def as_native_histograms(sent):
    request = WriteRequest()
    for number, (metric, host, time, value) in enumerate(sent):
        series = request.timeseries.add()
        series.labels.add(name="__name__", value=metric)
        series.labels.add(name="host", value=host)
        add_histogram(series, number, time, value)
    return "/api/v1/write", snapped(request.SerializeToString()), PROTOBUF


def as_native_histograms_2(sent):
    request = RequestV2(symbols=["", "__name__", "host"])
    for number, (metric, host, time, value) in enumerate(sent):
        request.symbols.extend([metric, host])
        n = len(request.symbols)
        series = request.timeseries.add(labels_refs=[1, n - 2, 2, n - 1])
        add_histogram(series, number, time, value)
    return "/api/v1/write", snapped(request.SerializeToString()), PROTOBUF_V2


def add_histogram(series, number, time, value):
    """Add two histograms of integers, or one of floats, of bounds of its own, or of a span."""
    if number % 4 == 0:
        before = series.histograms.add(timestamp=max(time - 1, -(2**63)), sum=value, schema=3)
        before.count_int = before.zero_count_int = 1
    one = series.histograms.add(timestamp=time, sum=value)
    match number % 4:
        case 0:
            one.schema, one.zero_threshold, one.zero_count_int = 3, 0.001, 1
            one.count_int = 4
            one.positive_spans.add(offset=-2, length=2)
            one.positive_deltas.extend([1, 1])
        case 1:
            one.schema, one.zero_threshold = 0, abs(value)
            one.count_float = one.zero_count_float = value
            one.negative_spans.add(offset=2**31 - 1, length=1)
            one.negative_counts.append(value)
        case 2:
            one.schema, one.count_int = -53, 5
            one.custom_values.extend([value, -value])
            one.positive_spans.add(offset=0, length=3)
            one.positive_deltas.extend([1, 1, -2])
        case _:
            one.schema, one.reset_hint, one.count_float = -4, 3, 3.0
            one.negative_spans.add(offset=-300, length=1)
            one.positive_spans.add(offset=300, length=1)
            one.negative_counts.append(1.5)
            one.positive_counts.append(value)


def exported(sent):
    request = metrics_service_pb2.ExportMetricsServiceRequest()
    scope = request.resource_metrics.add().scope_metrics.add()
    for number, (metric, host, time, value) in enumerate(sent):
        shape = scope.metrics.add(name=metric)
        nanoseconds = time * 1_000_000 % 2**64
        match number % 6:
            case 0:
                point = shape.gauge.data_points.add(time_unix_nano=nanoseconds, as_double=value)
            case 1:
                shape.sum.is_monotonic = True
                point = shape.sum.data_points.add(time_unix_nano=nanoseconds, as_double=value)
            case 2:
                shape.histogram.aggregation_temporality = 2
                point = shape.histogram.data_points.add(
                    time_unix_nano=nanoseconds, count=2**63, sum=value
                )
                point.explicit_bounds.extend([value, 1.0])
                point.bucket_counts.extend([1, 2**62, 2**64 - 1])
            case 3:
                shape.exponential_histogram.aggregation_temporality = 1
                point = shape.exponential_histogram.data_points.add(
                    time_unix_nano=nanoseconds, count=7, sum=value, scale=20, zero_count=1
                )
                point.zero_threshold = value
                for side, offset in ((point.positive, -(2**31)), (point.negative, 2**31 - 2)):
                    side.offset = offset
                    side.bucket_counts.extend([1, 0, 2])
            case 4:
                shape.histogram.aggregation_temporality = 1
                point = shape.histogram.data_points.add(time_unix_nano=nanoseconds, count=3)
                point.explicit_bounds.append(0.5)
                point.bucket_counts.extend([1, 2])
            case _:
                point = shape.summary.data_points.add(
                    time_unix_nano=nanoseconds, count=1, sum=value, flags=1
                )
        point.attributes.add(key="host").value.string_value = host
    return request


def as_otlp(sent):
    return "/v1/metrics", exported(sent).SerializeToString(), PROTOBUF


def as_otlp_json(sent):
    return "/v1/metrics", json_format.MessageToJson(exported(sent)), "application/json"


FORMS = (
    as_list,
    as_names,
    as_columns,
    as_remote_write,
    as_remote_write_2,
    as_native_histograms,
    as_native_histograms_2,
    as_otlp,
    as_otlp_json,
)
bodies = st.lists(st.tuples(st.sampled_from(FORMS), samples), min_size=1, max_size=4)


class Pushed:
    """A service with a watch that takes all and one that is split, and a row to be sent next."""

    def __init__(self, service, clock, client):
        self.service, self.clock, self.client = service, clock, client

    def send(self, form, sent):
        now = self.clock.now()
        at_times = [
            (metric, host, time + now if is_relative else time, value)
            for metric, host, (time, is_relative), value in sent
        ]
        path, body, kind = form(at_times)
        return self.client.post(path, content=body, headers={"Content-Type": kind})

    def send_good(self, n_rows=1):
        """Send rows that are as they should be, let their time pass, and return the last's."""
        first = (self.clock.now() - START) // STEP + 1
        rows = GOOD[first : first + n_rows]
        self.clock.limit = last = rows[-1].time
        wait_until(lambda: self.clock.now() >= last)
        observations = [
            {"time": row.time, "name": name, "value": float(value)}
            for row in rows
            for name, value in zip(row.names, row.values, strict=True)
        ]
        answer = self.client.post("/api/v1/observations", json=observations)
        assert answer.json() == {"samples": 3 * n_rows, "watches": ["plain", "split"]}
        journals = [self.service.store.lane(*lane) for lane in LANES]

        def are_there():
            # The later a thread reads the body, the later the row closes: time must go on.
            self.clock.limit = min(self.clock.now() + STEP // 5, last + MOST_STEPS * STEP)
            return all((journal.last_time or 0) >= last for journal in journals)

        wait_until(are_there)
        return last


@pytest.fixture(scope="module")
def pushed(tmp_path_factory):
    watch = {"source": "push", "history": "2h", "min_rows": LEAST_ROWS, "max_series": 20}
    config = config_of(
        {
            "data": str(tmp_path_factory.mktemp("data")),
            "watch": [
                {"name": "plain", **watch},
                {"name": "split", "entity": "host", "max_lanes": 8, **watch},
            ],
            "limits": {"requests_per_minute": 10_000_000},
        }
    )
    clock = FastClock(START, START)
    with ExitStack() as stack:
        service = stack.enter_context(Service(config, clock))
        server = stack.enter_context(Server(create_app(service, Keys()), Listen(port=0)))
        client = stack.enter_context(httpx.Client(base_url=server.url, trust_env=False, timeout=30))
        one = Pushed(service, clock, client)
        one.send_good(LEAST_ROWS + 2)
        wait_until(lambda: all(status.phase == "following" for status in service.watches()))
        yield one


def scored_until(service, watch, entity):
    verdicts = service.store.lane(watch, entity).latest_verdicts(1)
    return (verdicts[0].time, math.isfinite(verdicts[0].score)) if verdicts else None


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(bodies=bodies)
def test_whatever_is_pushed_the_next_row_is_judged(pushed, bodies):
    for form, sent in bodies:
        answer = pushed.send(form, sent)
        assert answer.status_code in ANSWERED, answer.text
    expected = pushed.send_good()
    for watch, entity in LANES:
        judged = scored_until(pushed.service, watch, entity)
        assert judged is not None
        assert judged[0] >= expected
        assert judged[1]
    for status in pushed.service.watches():
        assert status.last_error == ""
        assert status.errors.get("unexpected", 0) == 0


# ---------------------------------------------------------------------- what Prometheus answers


def strange_histogram(value):
    """Return a histogram as Prometheus tells it, with buckets that may overlap or be empty."""
    buckets = [
        [0, repr(-value), repr(value), "2"],
        [3, "1", "1e308", repr(value)],
        [1, "0", "1", "1"],
    ]
    return {"count": repr(value), "sum": repr(value), "buckets": buckets}


class Strange(Playback):
    """A server that adds samples and histograms nobody asked for to its answers."""

    def __init__(self, values):
        super().__init__(values)
        self.strange = []

    def answer(self, start, end, step):
        content = json.loads(super().answer(start, end, step))
        for number, (metric, host, (time, is_relative), value) in enumerate(self.strange):
            seconds = (time + 1000 * end if is_relative else time) / 1000
            found = {"metric": {"__name__": metric, "host": host}}
            if number % 2:
                found["histograms"] = [[seconds, strange_histogram(value)]]
            else:
                found["values"] = [[seconds, repr(value)]]
            content["data"]["result"].append(found)
        return json.dumps(content).encode()


def good_at(time):
    number = (time - START) // STEP
    row = GOOD[number]
    return dict(zip(row.names, row.values.tolist(), strict=True))


@pytest.fixture(scope="module")
def pulled(tmp_path_factory):
    now = START + (LEAST_ROWS + 10) * STEP
    clock = FastClock(now, now)
    with Strange(good_at).running() as server:
        config = pull_config(
            server.url,
            tmp_path_factory.mktemp("data"),
            timeout="10s",
            history="20m",
            min_rows=60,
            max_series=20,
        )
        with Service(config, clock) as service:
            wait_until(lambda: service.watches()[0].phase == "following")
            yield service, clock, server


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(strange=samples)
def test_whatever_prometheus_answers_the_next_row_is_judged(pulled, strange):
    service, clock, server = pulled
    server.strange = strange
    expected = clock.limit // STEP * STEP
    clock.limit += STEP
    for _ in range(2):  # an answer with times that are none is refused as a whole
        asked = server.n_asked
        wait_until(
            lambda asked=asked: (
                server.n_asked > asked or (scored_until(service, "shop", "") or (0,))[0] >= expected
            )
        )
    server.strange = []
    wait_until(lambda: (scored_until(service, "shop", "") or (0,))[0] >= expected, 20.0)
    judged = scored_until(service, "shop", "")
    assert judged == (expected, True)
    assert service.watches()[0].errors.get("unexpected", 0) == 0
    times = [row.time for _, row in service.store.lane("shop", "").each_row(0)]
    assert times[-1] == expected
    assert np.all(np.diff(times) > 0)
