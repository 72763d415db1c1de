"""Asking goes wrong: what is said then, whether it may pass, and what is asked for next."""

import httpx
import pytest
from tests.misbehaving_server import Answer, misbehaving_server
from tests.smkc.serve.prometheus.parts import (
    START,
    STEP,
    Honest,
    ask,
    failure,
    matrix,
    one_series,
)

from smkc.errors import SettingError
from smkc.serve.prometheus import client as prometheus
from smkc.serve.prometheus.client import Prometheus, SourceError, _unreached

GOOD = matrix([{"metric": {"__name__": "up"}, "values": [[1, "1"]]}]).body
WRONG = {
    "500": (
        Answer(status=500, body=b"oh\nno"),
        True,
        r"answers 500 \(oh no\); the request is repeated",
    ),
    "502": (Answer(status=502), True, "answers 502; the request is repeated"),
    "503": (failure(503, "unavailable", "starting"), True, r"503 \(starting\)"),
    "429": (failure(429, "x", "too many requests"), True, "429"),
    "400": (failure(400, "bad_data", "parse error"), False, r"\(parse error\); correct the query"),
    "422": (failure(422, "execution", "many-to-many matching"), False, "many-to-many"),
    "plain to HTTPS": (
        Answer(status=400, body=b"Client sent an HTTP request to an HTTPS server.\n"),
        False,
        "write https:// instead of http://",
    ),
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
    "a page": (Answer(body=b"<html>Log in</html>"), False, "is not JSON; give the address"),
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


def test_https_where_there_is_none():
    with misbehaving_server(Honest({})) as server:
        server.url = server.url.replace("http://", "https://")
        with pytest.raises(SourceError, match="write http:// instead of https://") as caught:
            ask(server)
    assert caught.value.retry


def test_a_certificate_that_nobody_here_knows():
    error = httpx.ConnectError("[SSL: CERTIFICATE_VERIFY_FAILED] certificate verify failed")
    assert "ca_file" in str(_unreached(error, "https://prometheus.example"))


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


@pytest.mark.parametrize(
    "url", ["localhost:9090", "ftp://localhost", "http://me:hunter2@localhost"]
)
def test_addresses_that_are_none(url):
    with pytest.raises(SettingError) as caught:
        Prometheus(url)
    assert "hunter2" not in str(caught.value)


@pytest.mark.parametrize("token", ["hunter2\r\nX-Evil: 1", "h\u00fcnter2"])
def test_a_token_that_no_header_can_hold_is_not_shown(token):
    with pytest.raises(SettingError, match="token has characters") as caught:
        Prometheus("http://localhost:9090", token=token)
    assert "nter2" not in str(caught.value)
