"""Listening: where the service may be reached, and the server that does it.

In: an app and an address. Out: a server in a thread of its own. Without tokens the address must be
this machine's own loopback, and a request must name it so.
"""

import ipaddress
import logging
import socket
import threading
import time
from typing import Any

import uvicorn
from fastapi import FastAPI

from smkc.errors import SettingError
from smkc.serve.api.connection import Connection
from smkc.serve.api.keys import Keys
from smkc.serve.config import TOKENS_VARIABLE, Listen

__all__ = ["Server", "check_listening", "is_loopback_host"]

# An idle connection is kept so long, and open ones are given so long when the service stops.
IDLE_SECONDS = 30
LEAVING_SECONDS = 3

# The head of a request may be so long.
HEAD_BYTES = 32 * 1024

WAITING_CONNECTIONS = 256
START_SECONDS = 30.0

log = logging.getLogger("smkc.serve.api")


def check_listening(listen: Listen, keys: Keys) -> None:
    """Refuse to listen where others can reach it unless they need a token."""
    if not keys and not listen.is_loopback:
        raise SettingError(
            f"listen: host {listen.host!r} can be reached by others, and there is no token; "
            f"set tokens = 'FILE' or {TOKENS_VARIABLE}, or listen at 127.0.0.1"
        )


def is_loopback_host(host: str) -> bool:
    """Say whether a request's Host header names this machine's loopback.

    Examples
    --------
    >>> is_loopback_host("localhost:9469"), is_loopback_host("[::1]:9469")
    (True, True)
    >>> is_loopback_host("127.0.0.1.evil.example")
    False
    """
    name, separator, port = host.rpartition(":")
    if not separator or port.endswith("]"):
        name, port = host, ""
    if port and not (port.isascii() and port.isdigit()):
        return False
    if name.lower() == "localhost":
        return True
    is_bracketed = name.startswith("[") and name.endswith("]")
    try:
        address = ipaddress.ip_address(name[1:-1] if is_bracketed else name)
    except ValueError:
        return False
    return address.is_loopback and is_bracketed == (address.version == 6)


class Server:
    """An app at an address, in a thread of its own.

    Parameters
    ----------
    app
        made by :func:`smkc.serve.api.create_app`.
    listen
        where; port 0 takes a free one, ``port`` then says which.
    """

    def __init__(self, app: FastAPI, listen: Listen) -> None:
        check_listening(listen, app.state.keys)
        self._app = app
        self._listen = listen
        self._server = uvicorn.Server(
            uvicorn.Config(
                app,
                log_config=None,
                access_log=False,
                server_header=False,
                proxy_headers=False,
                lifespan="off",
                ws="none",
                h11_max_incomplete_event_size=HEAD_BYTES,
                http=Connection,
                timeout_keep_alive=IDLE_SECONDS,
                timeout_graceful_shutdown=LEAVING_SECONDS,
            )
        )
        self._socket: socket.socket | None = None
        self._thread = threading.Thread(target=self._run, name="smkc-api", daemon=True)

    def start(self) -> "Server":
        """Bind the address and begin to answer."""
        self._socket = _bound(self._listen)
        self._thread.start()
        until = time.monotonic() + START_SECONDS
        while not self._server.started and self._thread.is_alive() and time.monotonic() < until:
            time.sleep(0.01)
        if not self._server.started:
            raise SettingError(f"listen: {self._listen.url} did not start; the log says why")
        return self

    def stop(self) -> None:
        """Answer what is under way, end live streams, then leave."""
        self._app.state.is_leaving = True
        self._server.should_exit = True
        if self._thread.is_alive():
            self._thread.join(LEAVING_SECONDS + START_SECONDS)
        if self._socket is not None:
            self._socket.close()

    @property
    def port(self) -> int:
        """The port that it listens at."""
        return self._listen.port if self._socket is None else int(self._socket.getsockname()[1])

    @property
    def url(self) -> str:
        """The address to open."""
        return Listen(host=self._listen.host, port=self.port).url

    def __enter__(self) -> "Server":
        return self.start()

    def __exit__(self, *failure: Any) -> None:
        self.stop()

    def _run(self) -> None:
        assert self._socket is not None
        self._server.run(sockets=[self._socket])


def _bound(listen: Listen) -> socket.socket:
    """Return a socket that listens at an address."""
    try:
        found = socket.getaddrinfo(listen.host, listen.port, type=socket.SOCK_STREAM)
        family, kind, protocol, _, address = found[0]
        bound = socket.socket(family, kind, protocol)
        try:
            bound.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            bound.bind(address)
            bound.listen(WAITING_CONNECTIONS)
        except OSError:
            bound.close()
            raise
    except OSError as error:
        raise SettingError(
            f"listen: {listen.host}:{listen.port} cannot be used ({error.strerror or error}); "
            "choose another host or port"
        ) from None
    return bound
