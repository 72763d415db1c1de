"""Listening: without a token only this machine's loopback, by address and by name."""

import socket

import pytest

from smkc.errors import SettingError
from smkc.serve.api import Server, create_app
from smkc.serve.api.keys import Keys, Token
from smkc.serve.api.listening import check_listening, is_loopback_host
from smkc.serve.config import TOKENS_VARIABLE, Listen

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


def test_an_app_for_elsewhere_needs_a_token(changed, monkeypatch):
    monkeypatch.delenv(TOKENS_VARIABLE, raising=False)
    everywhere = changed(config={"listen": Listen(host="0.0.0.0", port=0)})
    with pytest.raises(SettingError, match="there is no token"):
        create_app(everywhere)
    assert create_app(everywhere, SOME).state.keys
    monkeypatch.setenv(TOKENS_VARIABLE, "ops:admin:a-secret-from-outside")
    assert create_app(everywhere).state.keys.token("a-secret-from-outside", 0).name == "ops"


def test_a_server_elsewhere_needs_a_token(service):
    """Though the app was made for loopback."""
    app = create_app(service, Keys())
    with pytest.raises(SettingError, match="there is no token"):
        Server(app, Listen(host="0.0.0.0", port=0))


def test_a_port_in_use_is_told(service):
    with socket.create_server(("127.0.0.1", 0)) as taken:
        listen = Listen(port=taken.getsockname()[1])
        with pytest.raises(SettingError, match="cannot be used"):
            Server(create_app(service, Keys()), listen).start()
