"""Connections: who makes room, and what is kept free for probes and scrapes."""

import contextlib
import socket
import threading

import httpx
import pytest

from smkc.serve.api import connection
from smkc.serve.api import limits as limits_module


def get(url, path):
    return httpx.get(url + path, timeout=30, trust_env=False)


@contextlib.contextmanager
def busy(serve, n_requests):
    """Serve, with so many requests that do not end before the block does."""
    gate, entered = threading.Event(), threading.Semaphore(0)

    def wait(*_):
        entered.release()
        return gate.wait(20) and []

    server = serve(lane=wait)
    path = "/api/v1/watches/shop/presence"
    threads = [threading.Thread(target=get, args=(server.url, path)) for _ in range(n_requests)]
    for thread in threads:
        thread.start()
    try:
        for _ in threads:
            assert entered.acquire(timeout=60)
        yield server
    finally:
        gate.set()
        for thread in threads:
            thread.join()


def connect(server):
    return socket.create_connection(("127.0.0.1", server.port), timeout=60)


def is_closed(line):
    line.settimeout(20)
    try:
        return line.recv(1) == b""
    except ConnectionError:
        return True


@pytest.mark.parametrize("limit", ["MOST_CONNECTIONS", "MOST_OF_AN_ADDRESS"])
def test_idle_connections_make_room_for_others(serve, monkeypatch, limit):
    monkeypatch.setattr(connection, limit, 3)
    server = serve()
    with contextlib.ExitStack() as stack:
        lines = [stack.enter_context(connect(server)) for _ in range(3)]
        lines[0].sendall(b"GET /api/v1/ses")  # a head that is not whole is idle too
        for path in ("/healthz", "/metrics", "/api/v1/session"):
            assert get(server.url, path).status_code == 200
        assert is_closed(lines[0])


def test_512_idle_sockets_of_one_address_shut_nobody_out(serve):
    server = serve()
    with contextlib.ExitStack() as stack:
        lines = [stack.enter_context(connect(server)) for _ in range(600)]
        for path in ("/healthz", "/metrics", "/api/v1/session"):
            assert get(server.url, path).status_code == 200
        n_open = len(server._server.server_state.connections)
        assert n_open <= connection.MOST_OF_AN_ADDRESS + 1
        assert is_closed(lines[0])


def test_the_address_with_most_connections_makes_room():
    lines = [Line("a", 1.0), Line("b", 0.0), Line("a", 2.0), Line("a", 0.5, is_idle=False)]
    assert connection.to_make_room(lines) is lines[0]
    assert connection.to_make_room(lines[3:]) is None


class Line:
    """What is looked at of a connection."""

    def __init__(self, address, idle_since, is_idle=True):
        self.address, self.idle_since, self.is_idle = address, idle_since, is_idle


def test_busy_connections_leave_room_for_the_probes_and_metrics(serve, monkeypatch):
    monkeypatch.setattr(connection, "MOST_CONNECTIONS", 3)
    with busy(serve, 3) as server:
        assert get(server.url, "/healthz").status_code == 200
        assert get(server.url, "/metrics").status_code == 200
        answer = get(server.url, "/api/v1/session")
        assert answer.status_code == 503
        assert "Retry-After" in answer.headers
        assert answer.headers["x-frame-options"] == "DENY"
    assert get(server.url, "/api/v1/session").status_code == 200


def test_a_neighbour_does_not_use_up_the_rate_of_a_scrape(serve):
    server = serve(limits={"requests_per_minute": 5})
    codes = [get(server.url, "/api/v1/session").status_code for _ in range(8)]
    assert codes[-1] == 429
    assert [get(server.url, "/metrics").status_code for _ in range(5)] == [200] * 5
    assert get(server.url, "/metrics").status_code == 429  # a rate of its own, not none


def test_requests_that_take_long_do_not_hold_up_a_scrape(serve, monkeypatch):
    monkeypatch.setattr(limits_module, "MOST_AT_ONCE", 2)
    with busy(serve, 2) as server:
        assert get(server.url, "/api/v1/session").status_code == 503
        assert get(server.url, "/metrics").status_code == 200
