"""Listening: the HTTP server, and checks of the address that it listens on.

In: an app and an address. Out: a server that runs in its own thread. Without tokens the address
must be a loopback address, and requests must name one in their Host header.
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

# Seconds for which an idle connection is kept, and for which requests may finish on shutdown.
IDLE_SECONDS = 30
LEAVING_SECONDS = 3

# Maximum size of a request head.
HEAD_BYTES = 32 * 1024

WAITING_CONNECTIONS = 256
START_SECONDS = 30.0

log = logging.getLogger("smkc.serve.api")


def check_listening(listen: Listen, keys: Keys) -> None:
    """Raise SettingError if other machines can reach the address and there are no tokens."""
    if not keys and not listen.is_loopback:
        raise SettingError(
            f"listen: host {listen.host!r} can be reached by others, and there is no token; "
            f"set tokens = 'FILE' or {TOKENS_VARIABLE}, or listen at 127.0.0.1"
        )


def is_loopback_host(host: str) -> bool:
    """Return whether a request's Host header names a loopback address.

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
    """HTTP server for an app, in its own thread; for port 0, a free port is chosen."""

    def __init__(self, app: FastAPI, listen: Listen) -> None:
        check_listening(listen, app.state.keys)
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
        """Bind the address and start the thread; return once requests are answered."""
        self._socket = _bound(self._listen)
        self._thread.start()
        until = time.monotonic() + START_SECONDS
        while not self._server.started and self._thread.is_alive() and time.monotonic() < until:
            time.sleep(0.01)
        if not self._server.started:
            raise SettingError(f"listen: {self._listen.url} did not start; the log says why")
        return self

    def stop(self) -> None:
        """Let requests in progress finish, and stop the server."""
        self._server.should_exit = True
        if self._thread.is_alive():
            self._thread.join(LEAVING_SECONDS + START_SECONDS)
        if self._socket is not None:
            self._socket.close()

    @property
    def port(self) -> int:
        """Port that the server listens on."""
        return self._listen.port if self._socket is None else int(self._socket.getsockname()[1])

    @property
    def url(self) -> str:
        """URL of the server on this machine."""
        return Listen(host=self._listen.host, port=self.port).url

    def __enter__(self) -> "Server":
        return self.start()

    def __exit__(self, *failure: Any) -> None:
        self.stop()

    def _run(self) -> None:
        assert self._socket is not None
        self._server.run(sockets=[self._socket])


def _bound(listen: Listen) -> socket.socket:
    """Return a socket that listens on an address."""
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
