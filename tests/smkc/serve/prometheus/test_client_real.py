"""The client against the real Prometheus."""

import time

import numpy as np
import pytest
from tests.prometheus_server import real_prometheus, target

from smkc.serve.prometheus import client as prometheus
from smkc.serve.prometheus.client import Prometheus, SourceError

pytestmark = pytest.mark.prometheus

STEP = 15_000
N_POINTS = 1200
LOOKBACK = 20  # points that Prometheus goes on showing a series that ends without a word


@pytest.fixture(scope="module")
def past():
    """Five hours of three series: one always there, one that comes and goes, one that is odd."""
    rng = np.random.default_rng(20260131)
    end = int(time.time() - 7200) // 15 * STEP
    times = [end - STEP * (N_POINTS - 1 - point) for point in range(N_POINTS)]
    values = rng.normal(size=N_POINTS) * 10.0 ** rng.integers(-12, 12, N_POINTS)
    series = {
        'steady{pod="a b"}': zip(times, map(repr, values.tolist()), strict=True),
        "passing": [(times[point], str(point)) for point in range(300, 700)],
        "odd": zip(times, ["NaN", "+Inf", "-Inf", "0.5"] * (N_POINTS // 4), strict=True),
    }
    text = ""
    for name, samples in series.items():
        text += f"# TYPE {name.partition('{')[0]} gauge\n"
        text += "".join(f"{name} {value} {at / 1000:.3f}\n" for at, value in samples)
    return text, times, values


@pytest.fixture(scope="module")
def server(past):
    with real_prometheus(history=past[0]) as found:
        yield found


@pytest.fixture(scope="module")
def strict_server(past):
    """One that bears 1,000 samples a query."""
    with real_prometheus(history=past[0], flags=["--query.max-samples=1000"]) as found:
        yield found


@pytest.fixture
def client(server):
    with Prometheus(server.url) as found:
        yield found


def columns(samples, name):
    chosen = samples.codes == samples.names.index(name)
    return samples.times[chosen], samples.values[chosen]


def test_history_comes_back_as_it_was(past, client):
    _, times, values = past
    samples = client.range('{__name__=~"steady|passing|odd"}', times[0], times[-1], STEP)
    found, read = columns(samples, 'steady{pod="a b"}')
    np.testing.assert_array_equal(found, times)
    np.testing.assert_array_equal(read, values)
    found, read = columns(samples, "passing")
    assert len(found) in (400 + LOOKBACK - 1, 400 + LOOKBACK)  # of version 3, and before it
    np.testing.assert_array_equal(found, times[300 : 300 + len(found)])
    np.testing.assert_array_equal(read[:400], np.arange(300, 700))
    found, read = columns(samples, "odd")
    np.testing.assert_array_equal(found[np.isfinite(read)], times[3::4])
    assert set(read[np.isfinite(read)].tolist()) == {0.5}
    assert np.isinf(read).sum() == 600


def test_a_range_in_parts_equals_the_whole(past, server, client, monkeypatch):
    _, times, _ = past
    query = '{__name__=~"steady|passing"}'
    whole = client.range(query, times[0], times[700], STEP)
    for first, most in ((1, 7), (64, 100), (701, 701)):
        monkeypatch.setattr(prometheus, "FIRST_POINTS", first)
        monkeypatch.setattr(prometheus, "MOST_POINTS", most)
        with Prometheus(server.url) as other:
            in_parts = other.range(query, times[0], times[700], STEP)
        assert len(in_parts) == len(whole)
        for name in whole.names:
            for expected, actual in zip(columns(whole, name), columns(in_parts, name), strict=True):
                np.testing.assert_array_equal(actual, expected)


def test_what_prometheus_refuses_for_its_size_is_asked_for_in_parts(past, strict_server, caplog):
    _, times, values = past
    with (
        Prometheus(strict_server.url) as client,
        caplog.at_level("INFO", "smkc.serve.prometheus"),
    ):
        samples = client.range('{__name__=~"steady|passing|odd"}', times[0], times[-1], STEP)
    assert "too many samples" in caplog.text
    np.testing.assert_array_equal(columns(samples, 'steady{pod="a b"}')[1], values)


def test_a_query_that_is_too_much_at_any_length(past, strict_server):
    _, times, _ = past
    with (
        Prometheus(strict_server.url) as client,
        pytest.raises(SourceError, match=r"too many samples.*narrow the query") as caught,
    ):
        client.range("sum_over_time(steady[5h])", times[-1], times[-1], STEP)
    assert not caught.value.retry


def test_more_points_than_prometheus_gives_at_once(past, client):
    _, times, values = past
    samples = client.range("steady", times[0], times[0] + 30_000 * 500, 500)
    assert len(samples) == 30_001
    assert samples.values[0] == values[0]


@pytest.mark.parametrize("query", ["up{", "rate(up)", "", "a + on(b) group_left c offset"])
def test_a_query_that_is_wrong(past, client, query):
    with pytest.raises(SourceError, match=r"answers 400 .*; correct the query") as caught:
        client.range(query, past[1][0], past[1][0], STEP)
    assert not caught.value.retry


def test_it_goes_down_and_comes_back():
    with real_prometheus() as server, Prometheus(server.url) as client:
        now = int(time.time() * 1000)
        assert len(client.range("vector(3)", now, now, 1000)) == 1
        server.stop(kill=True)
        with pytest.raises(SourceError) as caught:
            client.range("vector(3)", now, now, 1000)
        assert caught.value.retry
        server.start()
        samples = client.range("vector(3)", now, now, 1000)
        assert (samples.names, samples.values.tolist()) == (("value",), [3.0])


@pytest.mark.slow
def test_metrics_that_come_and_go_while_it_scrapes():
    step = 200
    with (
        target({"stays": 1.0, 'pod{name="a"}': 2.0}) as served,
        real_prometheus({"app": [served.address]}, "200ms") as server,
        Prometheus(server.url) as client,
    ):
        start = int(time.time() * 1000) // step * step
        served.wait_for_scrapes(4)
        served.show({"stays": 1.0, 'pod{name="b"}': 3.0})
        served.wait_for_scrapes(4)
        served.is_failing = True
        served.wait_for_scrapes(4)
        end = int(time.time() * 1000)
        samples = client.range('{__name__=~"stays|pod"}', start, end, step)
    names = sorted(samples.names)
    assert [name.split("{")[0] for name in names] == ["pod", "pod", "stays"]
    a, b, stays = (columns(samples, name)[0] for name in names)
    assert a.max() < b.min()  # one is marked as gone in the scrape that finds the other
    assert stays.max() >= b.max()
    assert stays.max() < end - step  # all are gone when the target fails
