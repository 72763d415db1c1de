"""Listening: without a token only this machine's loopback, by address and by name."""

import socket

import pytest

from smkc.errors import SettingError
from smkc.serve.api.keys import Keys, Token
from smkc.serve.api.listening import check_listening, is_loopback_host
from smkc.serve.config import Listen

SOME = Keys([Token(name="a", role="read", digest=b"0" * 32)])


@pytest.mark.parametrize("host", ["127.0.0.1", "127.8.9.10", "::1", "localhost"])
def test_loopback_needs_no_token(host):
    check_listening(Listen(host=host), Keys())


@pytest.mark.parametrize(
    "host", ["0.0.0.0", "::", "10.0.0.1", "192.168.1.2", "example.org", "localhost.example.org"]
)
def test_elsewhere_needs_a_token(host):
    with pytest.raises(SettingError, match="there is no token"):
        check_listening(Listen(host=host), Keys())
    check_listening(Listen(host=host), SOME)


@pytest.mark.parametrize(
    "host",
    [
        "localhost",
        "LOCALHOST:1",
        "127.0.0.1:9469",
        "127.1.2.3",
        "[::1]",
        "[::1]:9469",
        "localhost:",
    ],
)
def test_names_of_loopback(host):
    assert is_loopback_host(host)


@pytest.mark.parametrize(
    "host",
    [
        "",
        ":",
        ":80",
        "evil.example",
        "evil.example:9469",
        "127.0.0.1.evil.example",
        "localhost.evil.example:1",
        "127.0.0.1:80:80",
        "127.0.0.1:x",
        "127.0.0.1@evil.example",
        "10.0.0.1",
        "[::2]",
        "::1",
        "[127.0.0.1]",
        "0.0.0.0",
        "2130706433",
        "localhost\x00",
        "localhost:\u0663",
    ],
    ids=range(18),
)
def test_names_of_elsewhere(host):
    assert not is_loopback_host(host)


def test_a_port_in_use_is_told(service):
    from smkc.serve.api import Server, create_app

    with socket.create_server(("127.0.0.1", 0)) as taken:
        listen = Listen(port=taken.getsockname()[1])
        with pytest.raises(SettingError, match="cannot be used"):
            Server(create_app(service, Keys()), listen).start()
