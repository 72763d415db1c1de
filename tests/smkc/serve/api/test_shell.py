"""Shell: the same headers on every answer, whatever it is, and CORS closed."""

import socket

import pytest

from smkc.serve.api.shell import HEADERS

ANSWERS = {
    "a page": ("GET", "/", 200),
    "a probe": ("GET", "/healthz", 200),
    "data": ("GET", "/api/v1/watches", 200),
    "metrics": ("GET", "/metrics", 200),
    "no content": ("POST", "/logout", 204),
    "nothing there": ("GET", "/nothing/there", 404),
    "no such file": ("GET", "/assets/../../etc/passwd", 404),
    "no such watch": ("GET", "/api/v1/watches/none/scores", 404),
    "a wrong method": ("DELETE", "/api/v1/watches", 405),
    "a method of none": ("BREW", "/api/v1/watches", 405),
    "a wrong shape": ("GET", "/api/v1/watches/shop/traces", 422),
    "a preflight": ("OPTIONS", "/api/v1/watches", 405),
    "a refused body": ("POST", "/api/v1/write", 415),
}


def check(headers):
    for name, value in HEADERS.items():
        assert headers[name.decode()] == value.decode()
    assert "cache-control" in headers
    assert "server" not in headers
    assert not [name for name in headers if name.startswith("access-control-")]


@pytest.mark.parametrize("what", ANSWERS)
def test_every_answer_carries_them(client, what):
    method, path, status = ANSWERS[what]
    headers = {"Origin": str(client.base_url).rstrip("/")}
    answer = client.request(method, path, headers=headers)
    assert answer.status_code == status, answer.text
    check(answer.headers)
    if status >= 400 and not path.startswith("/assets"):
        assert list(answer.json()) == ["error"]


def test_refusals_carry_them(locked):
    for answer in (locked.get("/api/v1/watches"), locked.post("/login", json={"token": "x"})):
        assert answer.status_code == 401
        check(answer.headers)


def test_what_is_no_http_gets_them_too(open_server):
    for nonsense in (
        b"\x16\x03\x01\x02\x00\x01\x00\r\n\r\n",
        b"GET\r\n\r\n",
        b"GET / HTTP/9\r\n\r\n",
    ):
        with socket.create_connection(("127.0.0.1", open_server.port), timeout=60) as line:
            line.sendall(nonsense)
            answer = b""
            while part := line.recv(4096):
                answer += part
        head, _, body = answer.partition(b"\r\n\r\n")
        lines = [one.split(b": ", 1) for one in head.split(b"\r\n")[1:]]
        assert head.startswith(b"HTTP/1.1 400 ")
        assert dict(lines).items() >= HEADERS.items()
        assert body.startswith(b'{"error":')


def test_a_head_without_end_is_refused(open_server):
    with socket.create_connection(("127.0.0.1", open_server.port), timeout=60) as line:
        try:  # a server that goes on reading answers nothing, and this times out
            line.sendall(b"GET / HTTP/1.1\r\nHost: localhost\r\nX: " + b"x" * 200_000)
            answer = line.recv(100)
        except ConnectionError:  # closed while it was sent
            answer = b""
    assert answer == b"" or answer[9:12] in (b"400", b"431")


def test_a_preflight_allows_nothing(client):
    answer = client.options(
        "/api/v1/watches/shop/refit",
        headers={
            "Origin": "https://evil.example",
            "Access-Control-Request-Method": "POST",
            "Access-Control-Request-Headers": "authorization",
        },
    )
    assert answer.status_code >= 400
    check(answer.headers)


def test_https_is_asked_for_where_it_is_public(serve):
    import httpx

    server = serve(config={"public_url": "https://smkc.example"})
    answer = httpx.get(server.url + "/healthz", trust_env=False)
    assert "max-age" in answer.headers["strict-transport-security"]


def test_there_is_no_websocket(client):
    answer = client.get(
        "/api/v1/session",
        headers={
            "Connection": "Upgrade",
            "Upgrade": "websocket",
            "Sec-WebSocket-Version": "13",
            "Sec-WebSocket-Key": "dGhlIHNhbXBsZSBub25jZQ==",
        },
    )
    assert answer.status_code == 200  # not 101
