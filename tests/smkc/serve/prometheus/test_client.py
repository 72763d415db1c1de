"""Asking goes well: every sample once, however the answer has to be parted."""

import json
import logging
import math
import threading

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.misbehaving_server import Answer, misbehaving_server
from tests.smkc.serve.prometheus.parts import (
    RANGE,
    START,
    STEP,
    Honest,
    as_mapping,
    ask,
    matrix,
    one_series,
)

from smkc.errors import SettingError
from smkc.serve.config import PeerConfig
from smkc.serve.prometheus import client as prometheus
from smkc.serve.prometheus.client import Prometheus, SourceError


def test_a_range_asks_once_for_all_of_a_short_grid():
    with misbehaving_server(Honest(one_series(20))) as server:
        samples = ask(server)
    assert samples.names == ("up",)
    assert samples.times.tolist() == [START + STEP * point for point in range(10)]
    assert samples.values.tolist() == list(range(10))
    (asked,) = server.asked
    assert (asked.method, asked.path) == ("POST", "/api/v1/query_range")
    assert asked.fields["query"] == "up"
    assert [asked.fields[key] for key in RANGE] == ["1700000000.000", "1700000135.000", "15.000"]


def test_the_end_is_rounded_down_to_the_grid_and_nothing_is_asked_before_the_start():
    with misbehaving_server(Honest(one_series(20))) as server, Prometheus(server.url) as client:
        samples = client.range("up", START, START + 2 * STEP - 1, STEP)
        assert samples.times.tolist() == [START, START + STEP]
        assert len(client.range("up", START, START - 1, STEP)) == 0
        assert len(server.asked) == 1
        with pytest.raises(SettingError, match="step=0"):
            client.range("up", START, START, 0)


@settings(max_examples=20)
@given(
    points=st.lists(st.integers(0, 60), min_size=1, max_size=25, unique=True),
    n_series=st.integers(1, 4),
    first=st.integers(1, 70),
    most=st.integers(1, 70),
    usual=st.integers(1, 100),
    refused=st.integers(4, 300),
)
def test_a_range_in_parts_equals_the_whole(points, n_series, first, most, usual, refused):
    series = {
        f"m{number}": {START + STEP * point: str(point * number) for point in points[number:]}
        for number in range(n_series)
    }
    expected = {
        (name, time): float(value)
        for name, samples in series.items()
        for time, value in samples.items()
    }
    with (
        misbehaving_server(Honest(series, most_samples=refused)) as server,
        pytest.MonkeyPatch.context() as patch,
    ):
        patch.setattr(prometheus, "FIRST_POINTS", first)
        patch.setattr(prometheus, "MOST_POINTS", most)
        patch.setattr(prometheus, "USUAL_SAMPLES", usual)
        in_parts = ask(server, 61)
        server.behaviour = Honest(series)
        whole = ask(server, 61)
    assert as_mapping(in_parts) == as_mapping(whole) == expected
    grids = [
        (round(float(asked.fields["end"]) - float(asked.fields["start"])) * 1000) // STEP + 1
        for asked in server.asked[:-1]
    ]
    assert max(grids) <= most


def test_a_long_range_never_asks_for_more_points_than_prometheus_gives():
    with misbehaving_server(Honest({"up": {START: "1"}})) as server:
        samples = ask(server, 60_000)
    assert len(samples) == 1
    spans = [float(one.fields["end"]) - float(one.fields["start"]) for one in server.asked]
    assert max(spans) / 15 + 1 == 11_000
    assert len(server.asked) < 15


def test_nan_is_not_observed():
    texts = {START: "NaN", START + STEP: "+Inf", START + 2 * STEP: "-Inf", START + 3 * STEP: "1e3"}
    series = {"a": texts, "never": {START: "NaN"}}
    with misbehaving_server(Honest(series)) as server, Prometheus(server.url) as client:
        samples = client.range("a", START, START + 9 * STEP, STEP)
        assert as_mapping(samples) == {
            ("a", START + STEP): math.inf,
            ("a", START + 2 * STEP): -math.inf,
            ("a", START + 3 * STEP): 1000.0,
        }
        assert samples.names == ("a",)


def test_names_are_canonical_and_what_was_computed_has_one():
    result = [
        {"metric": {"pod": "b", "__name__": "cpu", "job": 'a"'}, "values": [[1, "1"]]},
        {"metric": {"pod": "b"}, "values": [[1, "2"]]},
        {"metric": {}, "values": [[1, "3"]]},
    ]
    with misbehaving_server(lambda asked: matrix(result)) as server:
        assert ask(server).names == ('cpu{job="a\\"",pod="b"}', 'value{pod="b"}', "value")


def native(n):
    """A histogram of n observations between 1 and 2, as Prometheus writes it."""
    return {"count": str(n), "sum": str(1.5 * n), "buckets": [[0, "1", "2", str(n)]]}


class WithHistograms(Honest):
    """Answers with a native histogram too, of more observations at each point but one."""

    def __call__(self, asked):
        plain = json.loads(super().__call__(asked).body)["data"]["result"]
        start, end, step = (round(float(asked.fields[key]) * 1000) for key in RANGE)
        found = [
            [time / 1000, native(((time - START) // STEP + 5) ** 2)]
            for time in range(start, end + 1, step)
            if time != START + 5 * STEP
        ]
        return matrix([*plain, {"metric": {"__name__": "h"}, "histograms": found}])


def test_native_histograms_become_counts_sums_and_quantiles():
    with misbehaving_server(WithHistograms(one_series(20))) as server:
        found = as_mapping(ask(server))
    points = [START + STEP * point for point in range(10)]
    assert {time for _, time in found} == set(points)
    assert found["h_count", points[3]] == 64
    assert found["h_sum", points[3]] == 96
    assert [found["up", time] for time in points] == list(range(10))
    # Of the first step too, since the step before was asked for; but not after a gap.
    medians = {time for name, time in found if name == 'h{quantile="0.5"}'}
    assert medians == set(points) - {points[5], points[6]}
    assert found['h{quantile="0.9"}', points[1]] == pytest.approx(1.9)
    starts = [round(float(asked.fields["start"]) * 1000) for asked in server.asked]
    assert starts == [START, START - STEP]


@settings(max_examples=20)
@given(first=st.integers(1, 30), most=st.integers(2, 30), usual=st.integers(2, 100))
def test_native_histograms_in_parts_equal_the_whole(first, most, usual):
    with misbehaving_server(WithHistograms(one_series(20))) as server:
        whole = as_mapping(ask(server, 20))
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(prometheus, "FIRST_POINTS", first)
            patch.setattr(prometheus, "MOST_POINTS", most)
            patch.setattr(prometheus, "USUAL_SAMPLES", usual)
            assert as_mapping(ask(server, 20)) == whole


def test_a_histogram_that_was_computed_is_taken_as_it_is():
    result = [{"metric": {"pod": "a"}, "histograms": [[START / 1000, native(4)]]}]
    with misbehaving_server(lambda asked: matrix(result)) as server:
        assert as_mapping(ask(server, 1)) == {
            ('value_count_delta{pod="a"}', START): 4.0,
            ('value_sum_delta{pod="a"}', START): 6.0,
            ('value{pod="a",quantile="0.5"}', START): 1.5,
            ('value{pod="a",quantile="0.9"}', START): pytest.approx(1.9),
            ('value{pod="a",quantile="0.99"}', START): pytest.approx(1.99),
        }


@pytest.mark.parametrize(
    "wrong",
    [{}, [], "x", {"count": "x"}, {"count": "1", "buckets": [[0, "1"]]}, {"count": {}}],
    ids=str,
)
def test_what_is_no_histogram(wrong):
    result = [{"metric": {"__name__": "h"}, "histograms": [[1, wrong]]}]
    with (
        misbehaving_server(lambda asked: matrix(result)) as server,
        pytest.raises(SourceError, match="a histogram of 'h' is not one"),
    ):
        ask(server)


def test_a_hundred_thousand_new_series():
    result = [
        {"metric": {"__name__": "m", "pod": f"p{number}"}, "values": [[1, str(number)]]}
        for number in range(100_000)
    ]
    with misbehaving_server(lambda asked: matrix(result)) as server:
        samples = ask(server, 1)
    assert len(samples.names) == len(samples) == 100_000
    assert samples.names[77] == 'm{pod="p77"}'
    assert samples.values[77] == 77


def test_headers_and_tokens_are_sent_and_read_anew(tmp_path):
    file = tmp_path / "token"
    with misbehaving_server(Honest(one_series(3))) as server:
        ask(server, token="hunter2", headers=lambda: {"X-Scope-OrgID": "a"})
        config = PeerConfig(url=server.url + "/", token_file=file)
        with Prometheus.of(config) as client:
            for token in ("one", "two"):
                file.write_text(token)
                client.range("up", START, START, STEP)
            file.unlink()
            with pytest.raises(SourceError, match=r"token: .* cannot be read") as caught:
                client.range("up", START, START, STEP)
    assert caught.value.retry
    first, second, third = (asked.headers["authorization"] for asked in server.asked)
    assert (first, second, third) == ("Bearer hunter2", "Bearer one", "Bearer two")
    assert server.asked[0].headers["x-scope-orgid"] == "a"


def test_where_post_is_not_allowed_it_gets():
    honest = Honest(one_series(20))

    def only_get(asked):
        return Answer(status=405) if asked.method == "POST" else honest(asked)

    with misbehaving_server(only_get) as server, Prometheus(server.url) as client:
        for _ in range(2):
            assert len(client.range("up", START, START + STEP, STEP)) == 2
    assert [asked.method for asked in server.asked] == ["POST", "GET", "GET"]


def test_what_the_server_says_beside_it_is_logged_once(caplog):
    content = {"data": {"resultType": "matrix", "result": []}, "warnings": ["a store is down"]}
    body = json.dumps({"status": "success", **content}).encode()
    with (
        misbehaving_server(lambda asked: Answer(body=body)) as server,
        Prometheus(server.url) as client,
        caplog.at_level(logging.WARNING),
    ):
        for _ in range(2):
            client.range("up", START, START, STEP)
    assert caplog.text.count("a store is down") == 1


def test_names_that_are_remembered_are_bounded(monkeypatch):
    monkeypatch.setattr(prometheus, "MOST_KNOWN", 5)
    with misbehaving_server(Honest({})) as server, Prometheus(server.url) as client:
        for number in range(20):
            server.behaviour = Honest(one_series(1, f"m{number}"))
            assert client.range("x", START, START, STEP).names == (f"m{number}",)
        assert len(client._known) <= 6


def test_several_threads_may_ask():
    found = []
    with misbehaving_server(Honest(one_series(300))) as server, Prometheus(server.url) as client:

        def work():
            found.append(len(client.range("up", START, START + 299 * STEP, STEP)))

        threads = [threading.Thread(target=work) for _ in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    assert found == [300] * 4
