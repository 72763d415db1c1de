"""Leaks: what fails inside says neither how nor with which secrets, in answers and in logs."""

import logging

import httpx
import pytest

from smkc.serve.store import StoreError
from smkc.serve.view import BusyError, UnknownError

SECRET = "postgres://user:hunter2@db/private"


class Sly(Exception):
    def __str__(self):
        return SECRET

    __repr__ = __str__


def fail_with(error):
    def fail(*_, **__):
        hidden = SECRET  # in a local variable, as some tracebacks show them
        raise error from ValueError(hidden)

    return fail


def ask(server, path, headers=None, method="GET"):
    return httpx.request(method, server.url + path, headers=headers, timeout=30, trust_env=False)


WAYS = [
    ("GET", "/healthz", "health"),
    ("GET", "/metrics", "watches"),
    ("GET", "/api/v1/watches", "watches"),
    ("GET", "/api/v1/watches/shop/scores", "lane"),
    ("GET", "/api/v1/watches/shop/presence", "lane"),
    ("POST", "/api/v1/watches/shop/refit", "refit"),
    ("POST", "/api/v1/observations", "receive"),
    ("POST", "/api/v1/alerts/00112233445566aa/feedback", "feedback"),
]


@pytest.mark.parametrize(("method", "path", "part"), WAYS, ids=[way[2] + way[1] for way in WAYS])
def test_a_failure_nobody_foresaw_tells_nothing(serve, caplog, method, path, part):
    caplog.set_level(logging.DEBUG)
    server = serve(**{part: fail_with(Sly())})
    headers = {"Content-Type": "application/json"}
    content = '{"observations": []}' if part == "receive" else None
    answer = httpx.request(
        method, server.url + path, headers=headers, content=content, trust_env=False
    )
    text = answer.text
    assert answer.status_code == 500
    assert SECRET not in text
    assert "Traceback" not in text
    assert "Sly" not in text
    logged = caplog.text + "".join(str(record.__dict__) for record in caplog.records)
    assert SECRET not in logged
    assert "Traceback" not in logged
    assert "Sly in " in caplog.text  # its type and place are there
    assert "fail:" in caplog.text
    reference = answer.json()["error"].rsplit(" ", 1)[-1]
    assert reference in caplog.text  # and the caller can name it


@pytest.mark.parametrize(
    ("error", "status", "is_told"),
    [
        (StoreError(f"/var/lib/x: cannot read ({SECRET})"), 503, False),
        (BusyError("come back later"), 503, True),
        (UnknownError("no such row is kept"), 404, True),
    ],
    ids=["store", "busy", "unknown"],
)
def test_failures_that_were_foreseen(serve, caplog, error, status, is_told):
    server = serve(watches=fail_with(error))
    answer = ask(server, "/api/v1/watches")
    assert answer.status_code == status
    assert (answer.json()["error"] == str(error)) == is_told
    assert SECRET not in answer.text + caplog.text
    assert ("retry-after" in answer.headers) == (status == 503)


def test_tokens_are_in_no_log_and_no_answer(locked, secrets, caplog):
    caplog.set_level(logging.DEBUG, "smkc")
    caplog.set_level(logging.DEBUG, "uvicorn")
    said = ""
    for secret in secrets.values():
        headers = {"Authorization": f"Bearer {secret}"}
        for path in ("/api/v1/watches", "/metrics", "/healthz", "/api/v1/session", "/nothing"):
            said += locked.get(path, headers=headers).text
        said += locked.post("/login", json={"token": secret}).text
        said += locked.post("/login", json={"token": [secret]}).text
        said += locked.post("/login", json={secret: secret}).text
        said += locked.post("/login", content=secret).text
        said += str(locked.cookies)
        said += locked.get("/api/v1/watches", headers={"Authorization": secret}).text
    logged = [r.getMessage() for r in caplog.records if not r.name.startswith("http")]
    for secret in secrets.values():
        assert secret not in said
        assert secret not in "".join(logged)


def test_a_wrong_shape_does_not_repeat_what_was_sent(client):
    answer = client.post("/login", json={"token": {"x": SECRET}})
    assert answer.status_code == 422
    assert SECRET not in answer.text
    answer = client.get("/api/v1/alerts", params={"limit": SECRET, "since": SECRET})
    assert answer.status_code == 422
    assert SECRET not in answer.text


def test_a_log_line_cannot_be_forged(serve, caplog):
    server = serve(watches=fail_with(Sly()))
    ask(server, "/api/v1/watches%0aERROR%20forged")
    ask(server, "/api/v1/watches/a%0aERROR/scores")
    ask(server, "/api/v1/watches/shop/scores?entity=%0aERROR")
    assert all("\n" not in record.getMessage() for record in caplog.records)
