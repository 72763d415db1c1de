import hashlib
import hmac
import json
import logging
import os
import random
import signal
import subprocess
import sys
from itertools import pairwise

import pytest
from tests.smkc.serve.delivery.parts import (
    START,
    STEP,
    Server,
    alert_at,
    config_with,
    put,
    server,
)

from smkc.serve.delivery.courier import WORTH_SENDING, Courier
from smkc.serve.delivery.posting import MAX_RETRY_MILLISECONDS
from smkc.serve.store import Store, StoreError

HOUR = 3_600_000


@pytest.fixture
def hook():
    with server() as made:
        yield made


@pytest.fixture
def store(tmp_path):
    with Store.open(tmp_path / "data") as made:
        yield made


def config_for(hook: Server, **settings):
    table = {"name": "pager", "url": f"{hook.url}/take", "timeout": "30s", **settings}
    return config_with(webhook=[table])


def courier_for(store, config) -> Courier:
    return Courier(store, config, config.webhooks[0], random.Random(7))


def keys_of(hook: Server) -> list[str]:
    return [request.headers["idempotency-key"] for request in hook.requests]


def test_a_message_arrives_once_with_its_key(store, hook):
    config = config_for(hook)
    put(store, config, [("open", alert_at())])
    (message,) = store.due(START, 10)
    courier = courier_for(store, config)
    for minute in range(3):
        courier.step(START + minute * 60_000)
    (request,) = hook.requests
    assert request.path == "/take"
    assert request.headers["idempotency-key"] == message.key
    assert request.headers["content-type"] == "application/json"
    assert json.loads(request.body) == message.content
    assert "x-smkc-signature" not in request.headers
    assert store.n_waiting() == 0


@pytest.mark.parametrize(
    "answer",
    [500, 503, 429, 408, 401, 404, 302, "close", "slow"],
)
def test_what_fails_is_sent_again_with_the_same_key(store, hook, answer):
    config = config_for(hook, timeout="500ms" if answer == "slow" else "30s")
    put(store, config, [("open", alert_at())])
    courier = courier_for(store, config)
    hook.answers = [answer, answer]
    courier.step(START)
    assert store.n_waiting() == 1
    assert courier.receiver.status().failing_since == START
    courier.step(START + 5 * 60_000)
    courier.step(START + 10 * 60_000)
    assert len(keys_of(hook)) == 3
    assert len(set(keys_of(hook))) == 1
    assert store.n_waiting() == 0
    status = courier.receiver.status()
    assert (status.sent, status.failed, status.given_up) == (1, 2, 0)
    assert (status.failing_since, status.last_error) == (None, "")


@pytest.mark.parametrize("answer", [400, 410, 413, 422])
def test_what_is_refused_is_given_up_and_counted(store, hook, answer, caplog):
    config = config_for(hook)
    put(store, config, [("open", alert_at())])
    put(store, config, [("close", alert_at(is_open=False))])
    courier = courier_for(store, config)
    hook.answers = [(answer, {}, b"no such field")]
    courier.step(START)
    assert [json.loads(request.body)["event"] for request in hook.requests] == ["open", "close"]
    assert store.n_waiting() == 0
    assert courier.receiver.status().given_up == 1
    assert f"answered {answer}: no such field" in caplog.text


def test_waits_grow_to_five_minutes_and_requests_stay_few(store, hook):
    config = config_for(hook)
    put(store, config, [("open", alert_at())])
    courier = courier_for(store, config)
    hook.answers = [500] * 10_000
    sent_at = []
    for second in range(2 * 3600):
        courier.step(START + second * 1000)
        if len(hook.requests) > len(sent_at):
            sent_at.append(second)
    waits = [b - a for a, b in pairwise(sent_at)]
    assert sent_at[:3] in ([0, 1, 2], [0, 1, 3])
    assert max(waits) <= MAX_RETRY_MILLISECONDS / 1000 + 1
    assert min(waits[-10:]) >= MAX_RETRY_MILLISECONDS / 2000
    assert 2 * 3600 / 300 <= len(sent_at) <= 8 + 2 * 3600 / 150
    assert store.n_waiting() == 1


def test_retry_after_is_heeded(store, hook):
    config = config_for(hook)
    put(store, config, [("open", alert_at())])
    courier = courier_for(store, config)
    hook.answers = [(429, {"Retry-After": "120"}, b"")]
    courier.step(START)
    courier.step(START + 119_000)
    assert len(hook.requests) == 1
    courier.step(START + 120_000)
    assert len(hook.requests) == 2


def test_order_is_kept_over_failures_and_a_restart(tmp_path, hook):
    config = config_for(hook)
    hook.answers = [500, 500, 200, 500]
    with Store.open(tmp_path) as store:
        put(store, config, [("open", alert_at())])
        courier = courier_for(store, config)
        courier.step(START)
        put(store, config, [("update", alert_at(peak=START + STEP))])
        courier.step(START + 10_000)
    with Store.open(tmp_path) as store:
        put(store, config, [("close", alert_at(is_open=False))])
        put(store, config, [("open", alert_at(START + 9 * STEP))])
        courier = courier_for(store, config)
        for second in range(0, 3600, 5):
            courier.step(START + 20_000 + second * 1000)
        assert store.n_waiting() == 0
    events = [json.loads(request.body)["event"] for request in hook.requests]
    assert events == ["open"] * 3 + ["update"] * 2 + ["close", "open"]


def test_an_alert_is_worth_a_day_of_trying(store, hook):
    config = config_for(hook)
    put(store, config, [("open", alert_at())])
    courier = courier_for(store, config)
    hook.answers = [500, 500, 500]
    courier.step(START)
    courier.step(START + WORTH_SENDING)
    assert store.n_waiting() == 1
    courier.step(START + WORTH_SENDING + HOUR)
    assert store.n_waiting() == 0
    assert courier.receiver.status().given_up == 1


def test_a_clock_that_steps_back_does_not_prolong_a_wait(store, hook):
    config = config_for(hook)
    put(store, config, [("open", alert_at())])
    courier = courier_for(store, config)
    hook.answers = [500]
    courier.step(START + 10 * HOUR)
    store.put_off(store.due(START + 20 * HOUR, 1)[0].id, START)
    courier.step(START)
    assert len(hook.requests) == 2
    assert store.n_waiting() == 0


def test_a_message_is_signed_with_its_time(store, hook, monkeypatch):
    monkeypatch.setenv("HOOK_KEY", "quite-a-secret")
    config = config_for(hook, secret_env="HOOK_KEY")
    put(store, config, [("open", alert_at())])
    courier_for(store, config).step(START)
    (request,) = hook.requests
    signed = request.headers["x-smkc-timestamp"].encode() + b"." + request.body
    expected = hmac.new(b"quite-a-secret", signed, hashlib.sha256).hexdigest()
    assert request.headers["x-smkc-timestamp"] == str(START // 1000)
    assert request.headers["x-smkc-signature"] == f"sha256={expected}"


def test_a_missing_secret_is_waited_for(store, hook, monkeypatch):
    monkeypatch.delenv("HOOK_KEY", raising=False)
    config = config_for(hook, secret_env="HOOK_KEY")
    put(store, config, [("open", alert_at())])
    courier = courier_for(store, config)
    courier.step(START)
    assert "HOOK_KEY is not set" in courier.receiver.status().last_error
    monkeypatch.setenv("HOOK_KEY", "quite-a-secret")
    courier.step(START + 60_000)
    assert len(hook.requests) == 1
    assert store.n_waiting() == 0


def test_secrets_are_in_no_log_error_or_repr(store, hook, monkeypatch, caplog):
    secrets = {"TOKEN": "token-0xBEEF", "KEY": "key-0xCAFE", "HEAD": "head-0xF00D"}
    for name, value in secrets.items():
        monkeypatch.setenv(name, value)
    config = config_for(
        hook,
        url=f"{hook.url}/services/T0/path-0xABBA?token=query-0xDEAF",
        token_env="TOKEN",
        secret_env="KEY",
        headers_env={"X-Team": "HEAD"},
    )
    echo = b"bad path /services/T0/path-0xABBA?token=query-0xDEAF, Bearer token-0xBEEF head-0xF00D"
    hook.answers = [(500, {}, echo), "close", (400, {}, echo)]
    caplog.set_level(logging.DEBUG)
    put(store, config, [("open", alert_at())])
    courier = courier_for(store, config)
    shown = []
    for minute in (0, 10, 20):
        courier.step(START + minute * 60_000)
        shown += [repr(courier.receiver.status()), repr(store.due(START + HOUR, 10))]
    shown += [caplog.text, repr(courier), repr(courier.receiver)]
    (request, _, _) = hook.requests
    assert request.headers["authorization"] == "Bearer token-0xBEEF"
    assert request.headers["x-team"] == "head-0xF00D"
    assert "answered 500: bad path" in "".join(shown)
    for secret in [*secrets.values(), "query-0xDEAF", "path-0xABBA"]:
        assert not [text for text in shown if secret in text], secret


def test_what_arrived_but_cannot_be_marked_is_not_sent_twice(store, hook):
    config = config_for(hook)
    put(store, config, [("open", alert_at())])
    courier = courier_for(store, config)
    with store._database.alone("refuse to write") as connection:
        connection.execute("PRAGMA query_only = ON")
    for second in range(3):
        with pytest.raises(StoreError):
            courier.step(START + second * 1000)
    with store._database.alone("write again") as connection:
        connection.execute("PRAGMA query_only = OFF")
    courier.step(START + 10_000)
    assert len(hook.requests) == 1
    assert store.n_waiting() == 0


KILLED = """
import random, sys
from pathlib import Path
from tests.smkc.serve.delivery.parts import START, config_with
from smkc.serve.delivery.courier import Courier
from smkc.serve.store import Store

store = Store.open(Path(sys.argv[1]))
config = config_with(webhook=[{"name": "pager", "url": sys.argv[2]}])
Courier(store, config, config.webhooks[0], random.Random(7)).step(START)
"""


def test_killed_between_sending_and_marking_it_sends_again_with_the_same_key(tmp_path, hook):
    config = config_with(webhook=[{"name": "pager", "url": hook.url}])
    with Store.open(tmp_path) as store:
        put(store, config, [("open", alert_at())])
    process = subprocess.Popen(
        [sys.executable, "-c", KILLED, str(tmp_path), hook.url],
        env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
    )
    hook.on_request = lambda _: process.send_signal(signal.SIGKILL) if not hook.requests[1:] else 0
    assert process.wait(60) == -signal.SIGKILL
    with Store.open(tmp_path) as store:
        assert store.n_waiting() == 1
        courier = courier_for(store, config)
        courier.step(START + 60_000)
        courier.step(START + 120_000)
        assert store.n_waiting() == 0
    assert len(keys_of(hook)) == 2
    assert len(set(keys_of(hook))) == 1


def test_many_messages_of_a_dead_receiver_do_not_hide_those_of_another(store, hook):
    dead = {"name": "dead", "url": "http://127.0.0.1:9"}
    config = config_with(webhook=[dead])
    for number in range(300):
        alert = alert_at(START + number * STEP, entity=f"e{number}")
        put(store, config, [("open", alert)])
    both = config_with(webhook=[dead, {"name": "pager", "url": hook.url}])
    put(store, both, [("open", alert_at(START + 9 * HOUR))])
    courier = Courier(store, both, both.webhooks[1], random.Random(7))
    courier.step(START)
    assert len(hook.requests) == 1
    assert store.n_waiting() == 301


def test_open_alerts_are_repeated_with_the_query_of_their_cause(store, hook):
    watch = {"name": "shop", "query": "{job='shop'}", "step": "15s", "entity": "ns"}
    config = config_with(
        watch=[watch],
        prometheus={"url": "http://127.0.0.1:9"},
        alertmanager=[{"url": hook.url, "resend": "1s"}],
    )
    put(store, config, [("open", alert_at())])
    courier = Courier(store, config, config.alertmanagers[0], random.Random(7))
    for seconds in (0, 2):
        courier.step(START + seconds * 1000)
    told = [alert for request in hook.requests for alert in json.loads(request.body)]
    assert len(told) >= 2
    assert all('ns="checkout"' in alert["annotations"]["query"] for alert in told)
