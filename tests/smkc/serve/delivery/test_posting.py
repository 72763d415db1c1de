import random

import pytest
from tests.prometheus_server import free_port
from tests.smkc.serve.delivery.parts import Server, server

from smkc.serve.config import AlertmanagerConfig, WebhookConfig
from smkc.serve.delivery.posting import MOST_SHOWN, Answer, Receiver


@pytest.fixture
def hook():
    with server() as made:
        yield made


def post(hook: Server, path: str = "", **settings) -> Answer:
    kind = AlertmanagerConfig if path else WebhookConfig
    receiver = Receiver(kind(**{"url": hook.url, "timeout": 2_000, **settings}), random.Random(7))
    try:
        return receiver.post(b"hello", {"X-Own": "1"}, 0)
    finally:
        receiver.close()


@pytest.mark.parametrize(
    ("behind", "path", "expected"),
    [
        ("", "", "/"),
        ("", "/api/v2/alerts", "/api/v2/alerts"),
        ("/am/", "/api/v2/alerts", "/am/api/v2/alerts"),
        ("/hook?room=1", "", "/hook?room=1"),
    ],
)
def test_the_address_is_kept(hook, behind, path, expected):
    assert post(hook, path, url=hook.url + behind) == Answer(status="sent")
    (request,) = hook.requests
    assert (request.path, request.body, request.headers["x-own"]) == (expected, b"hello", "1")
    assert request.headers["user-agent"].startswith("smkc/")


@pytest.mark.parametrize("code", [200, 201, 202, 204])
def test_every_success_is_one(hook, code):
    hook.answers = [code]
    assert post(hook).status == "sent"


def test_nobody_there_is_worth_another_try(hook):
    answer = post(hook, url=f"http://127.0.0.1:{free_port()}")
    assert answer.status == "later"
    assert answer.said.startswith("cannot be reached: ")


def test_a_redirect_is_not_followed(hook):
    hook.answers = [(302, {"Location": f"{hook.url}/elsewhere"}, b"")]
    assert post(hook).status == "later"
    assert len(hook.requests) == 1


def test_an_answer_of_any_length_is_shown_in_short(hook):
    hook.answers = [(500, {}, b"\x00\xff\n<b>oh</b> " * 500_000)]
    answer = post(hook)
    assert answer.said.startswith("answered 500: ")
    assert len(answer.said) <= len("answered 500: ") + MOST_SHOWN
    assert answer.said.isprintable()


@pytest.mark.parametrize(
    ("text", "least", "most"),
    [
        ("7", 7, 7),
        ("0", 0, 0),
        ("-3", 0, 0),
        ("soon", 0, 0),
        ("9" * 400, 1e8, 1e9),
        ("Wed, 01 Jan 2020 00:00:00 GMT", 0, 0),
    ],
    ids=["seconds", "none", "negative", "words", "huge", "date"],
)
def test_how_long_it_asks_to_be_left_alone(hook, text, least, most):
    hook.answers = [(429, {"Retry-After": text}, b"")]
    assert least <= post(hook).wait_s <= most


def test_a_secret_that_no_header_can_hold_is_not_repeated(hook, monkeypatch):
    monkeypatch.setenv("TOKEN", "sehr-geh\u00e4im")
    answer = post(hook, token_env="TOKEN")
    assert answer.status == "later"
    assert "geh" not in answer.said
    assert hook.requests == []


def test_a_token_is_read_anew_for_each_request(hook, tmp_path):
    file = tmp_path / "token"
    receiver = Receiver(WebhookConfig(url=hook.url, token_file=file), random.Random(7))
    file.write_text("old-token\n")
    receiver.post(b"", {}, 0)
    file.write_text("new-token\n")
    receiver.post(b"", {}, 0)
    file.unlink()
    answer = receiver.post(b"", {}, 0)
    receiver.close()
    told = [request.headers["authorization"] for request in hook.requests]
    assert told == ["Bearer old-token", "Bearer new-token"]
    assert answer.status == "later"
    assert str(file) in answer.said


@pytest.fixture
def proxy(monkeypatch):
    """A proxy that the environment names and that answers everything itself, with a page."""
    with server() as made:
        made.answers = [(200, {"Content-Type": "text/html"}, b"<html>Please log in</html>")] * 9
        for name in ("HTTP_PROXY", "http_proxy", "ALL_PROXY", "all_proxy"):
            monkeypatch.setenv(name, made.url)
        for name in ("NO_PROXY", "no_proxy"):
            monkeypatch.delenv(name, raising=False)
        yield made


@pytest.mark.parametrize("host", ["127.0.0.1", "localhost"])
def test_a_proxy_is_not_asked_for_this_machine(hook, proxy, host):
    hook.answers = [202]
    assert post(hook, url=hook.url.replace("127.0.0.1", host)) == Answer(status="sent")
    assert len(hook.requests) == 1
    assert proxy.requests == []


def test_the_page_of_a_proxy_is_no_delivery(hook, proxy):
    answer = post(hook, url="http://alerts.invalid/")
    assert len(proxy.requests) == 1
    assert answer.status == "later"
    assert "a page" in answer.said
    assert "NO_PROXY" in answer.said


def test_what_a_proxy_passes_on_is_a_delivery(hook, proxy):
    proxy.answers = [200]
    assert post(hook, url="http://alerts.invalid/") == Answer(status="sent")


def test_a_page_is_no_answer_of_an_alertmanager(hook):
    hook.answers = [(200, {"Content-Type": "text/html; charset=utf-8"}, b"<html>Welcome</html>")]
    receiver = Receiver(AlertmanagerConfig(url=hook.url, timeout=2_000), random.Random(7))
    answer = receiver.post(b"[]", {}, 0)
    receiver.close()
    assert answer.status == "later"
    assert "a page" in answer.said
