import json
import logging
import math
import threading

import httpx
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.misbehaving_server import Answer, misbehaving_server

from smkc.errors import SettingError
from smkc.serve.config import PrometheusConfig
from smkc.serve.prometheus import client as prometheus
from smkc.serve.prometheus.client import Prometheus, SourceError

START, STEP = 1_700_000_000_000, 15_000


class Honest:
    """Answers range queries from series of its own as Prometheus does."""

    def __init__(self, series, most_samples=math.inf):
        self.series = series  # name -> {time: text of the value}
        self.most_samples = most_samples

    def __call__(self, asked):
        start, end, step = (round(float(asked.fields[key]) * 1000) for key in RANGE)
        n_points = (end - start) // step + 1
        if n_points > 11_000:
            return failure(400, "bad_data", "exceeded maximum resolution of 11,000 points")
        result = []
        for name, samples in self.series.items():
            grid = range(start, end + 1, step)
            values = [[time / 1000, samples[time]] for time in grid if time in samples]
            if values:
                result.append({"metric": {"__name__": name}, "values": values})
        if sum(len(one["values"]) for one in result) > self.most_samples:
            return failure(422, "execution", "query processing would load too many samples")
        return matrix(result)


RANGE = ("start", "end", "step")


def matrix(result):
    content = {"status": "success", "data": {"resultType": "matrix", "result": result}}
    return Answer(body=json.dumps(content, separators=(",", ":")).encode())


def failure(status, kind, said):
    content = {"status": "error", "errorType": kind, "error": said}
    return Answer(status=status, body=json.dumps(content).encode())


def one_series(n_points, name="up"):
    return {name: {START + STEP * point: str(point) for point in range(n_points)}}


def as_mapping(samples):
    names = [samples.names[code] for code in samples.codes.tolist()]
    found = dict(
        zip(zip(names, samples.times.tolist(), strict=True), samples.values.tolist(), strict=True)
    )
    assert len(found) == len(samples), "a sample came twice"
    return found


def ask(server, n_points=10, **options):
    with Prometheus(server.url, **options) as client:
        return client.range("up", START, START + (n_points - 1) * STEP, STEP)


@pytest.fixture(scope="module")
def connections():
    with httpx.Client() as client:
        yield client


# ---------------------------------------------------------------------- what goes well


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
def test_a_range_in_parts_equals_the_whole(
    connections, points, n_series, first, most, usual, refused
):
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
        in_parts = ask(server, 61, client=connections)
        server.behaviour = Honest(series)
        whole = ask(server, 61, client=connections)
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


def test_what_is_not_finite_is_not_observed():
    texts = {START: "NaN", START + STEP: "+Inf", START + 2 * STEP: "-Inf", START + 3 * STEP: "1e3"}
    series = {"a": texts, "never": {START: "NaN"}}
    with misbehaving_server(Honest(series)) as server, Prometheus(server.url) as client:
        samples = client.range("a", START, START + 9 * STEP, STEP)
        assert as_mapping(samples) == {("a", START + 3 * STEP): 1000.0}
        assert samples.names == ("a",)
        assert client.n_infinite == 2


def test_names_are_canonical_and_what_was_computed_has_one():
    result = [
        {"metric": {"pod": "b", "__name__": "cpu", "job": 'a"'}, "values": [[1, "1"]]},
        {"metric": {"pod": "b"}, "values": [[1, "2"]]},
        {"metric": {}, "values": [[1, "3"]]},
    ]
    with misbehaving_server(lambda asked: matrix(result)) as server:
        assert ask(server).names == ('cpu{job="a\\"",pod="b"}', 'value{pod="b"}', "value")


def test_native_histograms_are_passed_over_and_counted():
    bucket = {"count": "3", "sum": "1", "buckets": [[0, "1", "2", "3"]]}
    result = [
        {"metric": {"__name__": "h"}, "histograms": [[1, bucket], [2, bucket]]},
        {"metric": {"__name__": "a"}, "values": [[1, "1"]]},
    ]
    with (
        misbehaving_server(lambda asked: matrix(result)) as server,
        Prometheus(server.url) as client,
    ):
        samples = client.range("x", START, START, STEP)
        assert (samples.names, client.n_histograms) == (("a",), 2)


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
        ask(server, token="hunter2", headers={"X-Scope-OrgID": "a"})
        config = PrometheusConfig(url=server.url + "/", token_file=file)
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


# ---------------------------------------------------------------------- what goes wrong

GOOD = matrix([{"metric": {"__name__": "up"}, "values": [[1, "1"]]}]).body
WRONG = {
    "500": (Answer(status=500, body=b"oh\nno"), True, r"answers 500 \(oh no\); it is asked again"),
    "502": (Answer(status=502), True, "answers 502; it is asked again"),
    "503": (failure(503, "unavailable", "starting"), True, r"503 \(starting\)"),
    "429": (failure(429, "x", "too many requests"), True, "429"),
    "400": (failure(400, "bad_data", "parse error"), False, r"\(parse error\); correct the query"),
    "422": (failure(422, "execution", "many-to-many matching"), False, "many-to-many"),
    "401": (Answer(status=401), False, "see that the token is right"),
    "404": (Answer(status=404, body=b"<html>"), False, "give the address of a Prometheus"),
    "204": (Answer(status=204), False, "give the address of a Prometheus"),
    "redirect": (
        Answer(status=302, headers={"Location": "http://elsewhere.example/login?secret=hunter2"}),
        False,
        "leads to http://elsewhere.example/login; give the address",
    ),
    "half a body": (Answer(body=GOOD[:60], claimed=len(GOOD)), True, "broke off"),
    "half a body, length unknown": (Answer(body=GOOD[:60], claimed=-1), True, "ends early"),
    "nothing": (Answer(), True, "ends early"),
    "no gzip": (Answer(body=GOOD, headers={"Content-Encoding": "gzip"}), True, "broke off"),
    "a page": (Answer(body=b"<html>Log in</html>"), False, "is no JSON; give the address"),
    "other JSON": (Answer(body=b'{"a": 1}'), False, "no list called result"),
    "a vector": (Answer(body=GOOD.replace(b"matrix", b"vector")), False, "holds a 'vector'"),
}


@pytest.mark.parametrize("case", WRONG)
def test_a_failure_says_what_to_do_and_whether_it_may_pass(case):
    answer, retry, message = WRONG[case]
    with (
        misbehaving_server(lambda asked: answer) as server,
        pytest.raises(SourceError, match=message) as caught,
    ):
        ask(server, token="hunter2")
    assert caught.value.retry is retry
    assert server.url in str(caught.value)
    assert "hunter2" not in str(caught.value)
    assert len(server.asked) == 1


def test_after_a_failure_it_goes_on():
    honest = Honest(one_series(10))
    answers = [Answer(status=503), Answer(body=GOOD[:60], claimed=999), None]

    def recovering(asked):
        return answers.pop(0) or honest(asked)

    with misbehaving_server(recovering) as server, Prometheus(server.url) as client:
        for _ in range(2):
            with pytest.raises(SourceError) as caught:
                client.range("up", START, START + 9 * STEP, STEP)
            assert caught.value.retry
        assert len(client.range("up", START, START + 9 * STEP, STEP)) == 10


SLOW = {
    "before the answer": Answer(body=GOOD, pause_s=30),
    "within the answer": Answer(body=GOOD, n_pieces=2, pause_s=0.4),
    "drop by drop": Answer(body=GOOD, n_pieces=len(GOOD), pause_s=0.02),
}


@pytest.mark.parametrize("case", SLOW)
def test_an_answer_that_takes_too_long(case):
    with (
        misbehaving_server(lambda asked: SLOW[case]) as server,
        pytest.raises(SourceError, match=r"did not answer within 0\.3 s") as caught,
    ):
        ask(server, timeout_s=0.3)
    assert caught.value.retry


def test_after_a_timeout_less_is_asked_for():
    honest = Honest(one_series(2000))
    slow = [Answer(body=GOOD, pause_s=30)]

    def first_slow(asked):
        return slow.pop() if slow else honest(asked)

    with misbehaving_server(first_slow) as server, Prometheus(server.url, timeout_s=0.3) as client:
        with pytest.raises(SourceError):
            client.range("up", START, START + 999 * STEP, STEP)
        client._timeout_s = 30.0  # a busy machine shall not fail the test
        assert len(client.range("up", START, START + 999 * STEP, STEP)) == 1000
    spans = [float(one.fields["end"]) - float(one.fields["start"]) for one in server.asked]
    assert spans[1] < spans[0] / 3


def test_nobody_listens():
    with misbehaving_server(Honest({})) as server:
        pass
    with pytest.raises(SourceError, match="cannot be reached") as caught:
        ask(server)
    assert caught.value.retry


REFUSED = {
    "too many samples": failure(422, "execution", "query processing would load too many samples"),
    "too many points": failure(400, "bad_data", "exceeded maximum resolution of 50 points"),
    "too large": Answer(status=413),
    "took too long": failure(503, "timeout", "query timed out in expression evaluation"),
}


@pytest.mark.parametrize("case", REFUSED)
def test_what_is_refused_for_its_size_is_asked_for_in_parts(case):
    honest = Honest(one_series(200))

    def refusing(asked):
        span = float(asked.fields["end"]) - float(asked.fields["start"])
        return REFUSED[case] if span > 50 * STEP / 1000 else honest(asked)

    with misbehaving_server(refusing) as server:
        assert len(ask(server, 200)) == 200
    assert len(server.asked) < 12


@pytest.mark.parametrize("case", REFUSED)
def test_what_is_refused_even_for_one_point(case):
    with (
        misbehaving_server(lambda asked: REFUSED[case]) as server,
        pytest.raises(SourceError, match="; narrow the query") as caught,
    ):
        ask(server, 200)
    assert caught.value.retry is (case == "took too long")
    assert len(server.asked) == 8  # 200 points, 100, 50, and so on


def test_a_body_beyond_all_bounds_is_not_read_to_its_end(monkeypatch):
    monkeypatch.setattr(prometheus, "MOST_BYTES", 100_000)
    with (
        misbehaving_server(lambda asked: Answer(body=GOOD[:60] + b" " * 10**7)) as server,
        pytest.raises(SourceError, match=r"longer than 100,000 bytes .*narrow") as caught,
    ):
        ask(server, 2)
    assert not caught.value.retry


def test_a_long_body_is_asked_for_in_parts(monkeypatch):
    monkeypatch.setattr(prometheus, "MOST_BYTES", 2_000)
    with misbehaving_server(Honest(one_series(200))) as server:
        assert len(ask(server, 200)) == 200


def test_more_samples_than_memory_shall_hold(monkeypatch):
    monkeypatch.setattr(prometheus, "MOST_SAMPLES", 100)
    monkeypatch.setattr(prometheus, "FIRST_POINTS", 50)
    with misbehaving_server(Honest(one_series(200))) as server:
        assert len(ask(server, 100)) == 100
        with pytest.raises(
            SourceError, match=r"more than 100 samples .*narrow the query"
        ) as caught:
            ask(server, 101)
    assert not caught.value.retry


def test_names_that_are_remembered_are_bounded(monkeypatch):
    monkeypatch.setattr(prometheus, "MOST_KNOWN", 5)
    with misbehaving_server(Honest({})) as server, Prometheus(server.url) as client:
        for number in range(20):
            server.behaviour = Honest(one_series(1, f"m{number}"))
            assert client.range("x", START, START, STEP).names == (f"m{number}",)
        assert len(client._known) <= 6


def test_it_is_ready_when_it_answers():
    with (
        misbehaving_server(lambda asked: Answer(body=b"{}")) as server,
        Prometheus(server.url) as client,
    ):
        assert client.is_ready()
        server.behaviour = lambda asked: Answer(status=503)
        assert not client.is_ready()
    with Prometheus(server.url) as client:
        assert not client.is_ready()


@pytest.mark.parametrize(
    "url", ["localhost:9090", "ftp://localhost", "http://me:hunter2@localhost"]
)
def test_addresses_that_are_none(url):
    with pytest.raises(SettingError) as caught:
        Prometheus(url)
    assert "hunter2" not in str(caught.value)


@pytest.mark.parametrize("token", ["hunter2\r\nX-Evil: 1", "h\u00fcnter2"])
def test_a_token_that_no_header_can_hold_is_not_shown(token):
    with pytest.raises(SettingError, match="token holds signs") as caught:
        Prometheus("http://localhost:9090", token=token)
    assert "nter2" not in str(caught.value)


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
