"""Limits: bodies as they stream, how often, how many at once, how long."""

import gzip
import json
import socket
import threading
import time

import cramjam
import httpx
import pytest

from smkc.serve.api import connection
from smkc.serve.api import limits as limits_module
from smkc.serve.api.routes.pushes import MOST_PUSHES

PUSHES = ["/api/v1/observations", "/api/v1/write", "/v1/metrics", "/api/v1/otlp/v1/metrics"]
PROTOBUF = {"Content-Type": "application/x-protobuf", "Content-Encoding": "snappy"}
JSON = {"Content-Type": "application/json"}


def get(url, path, **further):
    return httpx.get(url + path, timeout=30, trust_env=False, **further)


def post(url, path, **further):
    return httpx.post(url + path, timeout=30, trust_env=False, **further)


def pieces(n_bytes, size=65_536):
    for start in range(0, n_bytes, size):
        yield b" " * min(size, n_bytes - start)


# ---------------------------------------------------------------------- how long a body is


@pytest.mark.parametrize("path", PUSHES)
@pytest.mark.parametrize("is_chunked", [False, True], ids=["length", "chunked"])
def test_a_body_over_the_limit_is_refused(open_server, path, is_chunked):
    body = pieces(1_000_001) if is_chunked else b" " * 1_000_001
    answer = post(open_server.url, path, content=body, headers=JSON)
    assert answer.status_code == 413
    assert "1,000,000" in answer.json()["error"]


def test_a_body_at_the_limit_is_read(open_server):
    body = b'{"observations": []}'.ljust(1_000_000)
    for content in (body, (body[i : i + 50_000] for i in range(0, len(body), 50_000))):
        answer = post(open_server.url, "/api/v1/observations", content=content, headers=JSON)
        assert answer.status_code == 200, answer.text


def test_other_bodies_are_short(open_server):
    path = "/api/v1/alerts/ffffffffffffffff/acknowledge"
    for content in (b" " * 70_000, pieces(70_000)):
        answer = post(open_server.url, path, content=content, headers=JSON)
        assert answer.status_code == 413


def test_an_endless_body_is_cut_off(open_server):
    sent = 0
    head = (
        b"POST /api/v1/write HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n"
        b"Content-Type: application/x-protobuf\r\n\r\n"
    )
    chunk = b"10000\r\n" + b"\0" * 0x10000 + b"\r\n"
    with socket.create_connection(("127.0.0.1", open_server.port), timeout=60) as line:
        line.sendall(head)
        try:
            while sent < 100_000_000:
                line.sendall(chunk)
                sent += len(chunk)
        except OSError:
            pass
    assert sent < 50_000_000  # the limit twice, and what sockets hold


def test_a_client_that_asks_first_sends_nothing(open_server):
    for length, status in ((1_000_001, b"413"), (1_000_000, b"100")):
        head = (
            "POST /api/v1/observations HTTP/1.1\r\nHost: localhost\r\nExpect: 100-continue\r\n"
            f"Content-Type: application/json\r\nContent-Length: {length}\r\n\r\n"
        )
        with socket.create_connection(("127.0.0.1", open_server.port), timeout=60) as line:
            line.sendall(head.encode())
            assert line.recv(20)[9:12] == status


@pytest.mark.parametrize("value", ["-1", "1e3", "+5", "9" * 30, "0x10", "1, 2"], ids=range(6))
def test_a_length_that_is_none_is_refused(open_server, value):
    head = (
        f"POST /api/v1/observations HTTP/1.1\r\nHost: localhost\r\nContent-Length: {value}\r\n\r\n"
    )
    with socket.create_connection(("127.0.0.1", open_server.port), timeout=60) as line:
        line.sendall(head.encode() + b"{}")
        assert line.recv(20)[9:12] in (b"400", b"413")


# ---------------------------------------------------------------------- bombs


def test_a_gzip_bomb_is_refused(serve):
    server = serve(limits={"decoded_bytes": 1_000_000})
    bomb = gzip.compress(b" " * 200_000_000, 6)
    assert len(bomb) < 1_000_000
    for path in ("/api/v1/observations", "/v1/metrics"):
        headers = {**JSON, "Content-Encoding": "gzip"}
        answer = post(server.url, path, content=bomb, headers=headers)
        assert answer.status_code == 413, answer.text


def test_a_snappy_bomb_is_refused(serve):
    server = serve(limits={"decoded_bytes": 1_000_000})
    packed = bytes(cramjam.snappy.compress_raw(b"\0" * 20_000_000))
    assert len(packed) <= 1_000_000
    claim = b"\xff\xff\xff\xff\x0f" + b"\0" * 100
    answer = post(server.url, "/api/v1/write", content=packed, headers=PROTOBUF)
    assert answer.status_code == 413
    answer = post(server.url, "/api/v1/write", content=claim, headers=PROTOBUF)
    assert answer.status_code in (400, 413)


def test_too_many_samples_are_refused(serve):
    server = serve(limits={"samples_per_request": 100})
    for n, status in ((100, 200), (101, 413)):
        times = [1_800_000_000 + i for i in range(n)]
        content = json.dumps({"time": times, "series": {"a": [1.0] * n}})
        answer = post(server.url, "/api/v1/observations", content=content, headers=JSON)
        assert answer.status_code == status


@pytest.mark.parametrize("sign", ["[", '{"a":'], ids=["lists", "objects"])
@pytest.mark.parametrize("path", ["/api/v1/observations", "/v1/metrics", "/login"])
def test_deep_nesting_is_refused(open_server, path, sign):
    answer = post(open_server.url, path, content=sign * 10_000, headers=JSON)
    assert 400 <= answer.status_code < 500


# ---------------------------------------------------------------------- how long it takes


@pytest.mark.parametrize("is_chunked", [False, True], ids=["length", "chunked"])
def test_a_body_that_does_not_come_ends_in_408(serve, is_chunked):
    server = serve(limits={"request_timeout_seconds": 1})
    kind = "Transfer-Encoding: chunked" if is_chunked else "Content-Length: 100000"
    with socket.create_connection(("127.0.0.1", server.port), timeout=60) as line:
        line.sendall(
            f"POST /api/v1/observations HTTP/1.1\r\nHost: localhost\r\n{kind}\r\n\r\n".encode()
        )
        answer = b""
        line.settimeout(0.2)
        deadline = time.monotonic() + 120
        while b"\r\n\r\n" not in answer:
            assert time.monotonic() < deadline, "it waits for ever"
            try:
                answer += line.recv(4096)
            except TimeoutError:
                line.sendall(b"1\r\n \r\n" if is_chunked else b" ")  # a byte now and then
    assert answer.startswith(b"HTTP/1.1 408 ")
    assert b"connection: close" in answer.lower()


def test_a_route_that_does_not_end_is_answered_for(serve):
    gate = threading.Event()
    server = serve(limits={"request_timeout_seconds": 1}, watches=lambda: gate.wait(20) and [])
    try:
        answer = get(server.url, "/api/v1/watches")
        assert answer.status_code == 503
        assert "Retry-After" in answer.headers
        assert "1 seconds" in answer.json()["error"]
    finally:
        gate.set()


def test_a_head_that_does_not_come_is_not_waited_for(serve, monkeypatch):
    monkeypatch.setattr(connection, "HEAD_SECONDS", 0.3)
    server = serve()
    with socket.create_connection(("127.0.0.1", server.port), timeout=60) as line:
        line.sendall(b"GET /healthz HTTP/1.1\r\n")
        assert line.recv(100) == b""
    with socket.create_connection(("127.0.0.1", server.port), timeout=60) as line:
        line.sendall(b"GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n")
        answer = b""
        while part := line.recv(4096):  # idle after its answer, it is closed too
            answer += part
        assert answer.startswith(b"HTTP/1.1 200 ")


# ---------------------------------------------------------------------- how often


def test_too_often_is_429_with_a_time_to_wait(serve):
    server = serve(limits={"requests_per_minute": 5})
    answers = [get(server.url, "/api/v1/session") for _ in range(8)]
    assert [answer.status_code for answer in answers] == [200] * 5 + [429] * 3
    assert 1 <= int(answers[-1].headers["Retry-After"]) <= 12
    assert "requests_per_minute" in answers[-1].json()["error"]
    assert get(server.url, "/healthz").status_code == 200  # probes are always answered


def test_pushes_too_often_are_asked_for_again(serve):
    server = serve(limits={"requests_per_minute": 1})
    get(server.url, "/api/v1/session")
    for path in PUSHES[1:]:
        answer = post(server.url, path)
        assert answer.status_code == 503  # what Prometheus repeats; it drops what gets a 429
        assert int(answer.headers["Retry-After"]) >= 1


def test_each_token_has_a_rate_of_its_own(serve, secrets, keys):
    server = serve(keys=keys, limits={"requests_per_minute": 3})
    for role in ("read", "write", "admin"):
        headers = {"Authorization": f"Bearer {secrets[role]}"}
        codes = [get(server.url, "/api/v1/session", headers=headers).status_code for _ in range(4)]
        assert codes == [200] * 3 + [429]
    wrong = [
        get(server.url, "/api/v1/watches", headers={"Authorization": f"Bearer {i}"}).status_code
        for i in range(5)
    ]
    assert wrong == [401] * 3 + [429] * 2  # guessing counts against the address


# ---------------------------------------------------------------------- how many at once


def test_too_many_at_once_is_503(serve, monkeypatch):
    monkeypatch.setattr(limits_module, "MOST_AT_ONCE", 3)
    gate, entered = threading.Event(), threading.Semaphore(0)

    def wait():
        entered.release()
        return gate.wait(20) and []

    server = serve(watches=wait)
    codes = []
    threads = [
        threading.Thread(
            target=lambda: codes.append(get(server.url, "/api/v1/watches").status_code)
        )
        for _ in range(3)
    ]
    for thread in threads:
        thread.start()
    for _ in threads:
        assert entered.acquire(timeout=60)
    answer = get(server.url, "/api/v1/session")
    assert answer.status_code == 503
    assert "Retry-After" in answer.headers
    gate.set()
    for thread in threads:
        thread.join()
    assert codes == [200] * 3
    assert get(server.url, "/api/v1/session").status_code == 200


def test_too_many_bodies_at_once_are_503(open_server):
    head = b"POST /api/v1/write HTTP/1.1\r\nHost: localhost\r\nContent-Length: 10\r\n\r\n"
    lines = []
    try:
        for _ in range(MOST_PUSHES):
            line = socket.create_connection(("127.0.0.1", open_server.port), timeout=60)
            lines.append(line)
            line.sendall(head)
        deadline = time.monotonic() + 120
        while time.monotonic() < deadline:
            answer = post(open_server.url, "/api/v1/write", content=b"", headers=PROTOBUF)
            if answer.status_code == 503:
                break
        assert answer.status_code == 503
        assert "Retry-After" in answer.headers
    finally:
        for line in lines:
            line.close()
    deadline = time.monotonic() + 120
    while post(open_server.url, "/api/v1/write", headers=PROTOBUF).status_code == 503:
        assert time.monotonic() < deadline  # places are free again once their clients are gone


def test_slow_work_of_one_kind_does_not_hold_up_the_probes(serve):
    gate = threading.Event()
    server = serve(lane=lambda *_: gate.wait(20) and [])
    threads = [
        threading.Thread(target=get, args=(server.url, "/api/v1/watches/shop/presence"))
        for _ in range(8)
    ]
    for thread in threads:
        thread.start()
    try:
        assert get(server.url, "/healthz").status_code == 200
        assert get(server.url, "/api/v1/watches").status_code == 200
    finally:
        gate.set()
        for thread in threads:
            thread.join()
