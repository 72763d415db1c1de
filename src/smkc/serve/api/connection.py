"""Connection: limits on connections, in addition to those of uvicorn.

In: bytes from a client. Out: the handling of uvicorn with three changes. A connection on which no
request head is completed in time is closed. The number of connections is limited, so that the
process does not run out of file descriptors. Input that is not HTTP gets an error in the same
format and with the same headers as other errors.

When the limit of all connections, or of one address, is reached, the connection that was idle
longest is closed in favour of the new one. If none is idle, a few more connections are accepted,
on which only the probes and ``/metrics`` are answered.
"""

import asyncio
import json
from collections import Counter
from collections.abc import Sequence

import h11
from starlette.types import ASGIApp, Receive, Scope, Send
from uvicorn.protocols.http.h11_impl import H11Protocol, RequestResponseCycle

from smkc.serve.api.shell import BUSY_SECONDS, HEADERS, refusal

# Seconds between checks: a connection without a complete request head is closed after 1 to 2 times
# this long.
HEAD_SECONDS = 15.0

# Maximum number of connections. A process can often open 1,024 files only, and the history needs
# some of them.
MOST_CONNECTIONS = 512

# Maximum number of connections of one address; enough for a proxy that serves all visitors.
MOST_OF_AN_ADDRESS = 128

# Number of additional connections, on which only these paths are answered.
RESERVED_CONNECTIONS = 32
ALWAYS_ANSWERED = frozenset({"/healthz", "/readyz", "/metrics"})

NOT_HTTP = json.dumps({"error": "this is not a request that can be read; send HTTP/1.1"}).encode()


def to_make_room(connections: "Sequence[Connection]") -> "Connection | None":
    """Return the connection to close, or None if none is idle.

    Among the idle connections that is one of the address with the most connections; among those,
    the one idle for longest.
    """
    counts = Counter(one.address for one in connections)
    idle = [one for one in connections if one.is_idle]
    return min(idle, key=lambda one: (-counts[one.address], one.idle_since), default=None)


class Connection(H11Protocol):
    """Connection of one client."""

    address = ""
    idle_since = 0.0
    _is_leaving = False
    _looking: asyncio.TimerHandle | None = None
    _seen: RequestResponseCycle | None = None

    @property
    def is_idle(self) -> bool:
        """Whether no request is being answered."""
        return self.cycle is None or self.cycle.response_complete

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Accept the connection if there is room, and start the checks for a request."""
        super().connection_made(transport)
        self.address = self.client[0] if self.client else ""
        self.idle_since = self.loop.time()
        if not self._find_room():
            self._leave()
            return
        self._looking = self.loop.call_later(HEAD_SECONDS, self._look)

    def connection_lost(self, exc: Exception | None) -> None:
        """Stop the checks."""
        if self._looking is not None:
            self._looking.cancel()
        super().connection_lost(exc)

    def send_400_response(self, msg: str) -> None:
        """Answer input that is not HTTP with 400, and close the connection."""
        head = [
            (b"content-type", b"application/json"),
            (b"content-length", str(len(NOT_HTTP)).encode()),
            (b"connection", b"close"),
            *HEADERS.items(),
        ]
        for event in (
            h11.Response(status_code=400, headers=head, reason=b"Bad Request"),
            h11.Data(data=NOT_HTTP),
            h11.EndOfMessage(),
        ):
            self.transport.write(self.conn.send(event) or b"")
        self.transport.close()

    def on_response_complete(self) -> None:
        """Record the time from which the connection is idle."""
        self.idle_since = self.loop.time()
        super().on_response_complete()

    def _find_room(self) -> bool:
        """Close an idle connection if there are too many; return whether this one may stay."""
        others = [
            one
            for one in self.connections
            if isinstance(one, Connection) and one is not self and not one._is_leaving
        ]
        own = [one for one in others if one.address == self.address]
        crowd = own if len(own) >= MOST_OF_AN_ADDRESS else others
        most = MOST_OF_AN_ADDRESS if crowd is own else MOST_CONNECTIONS
        if len(crowd) < most:
            return True
        longest_idle = to_make_room(crowd)
        if longest_idle is not None:
            longest_idle._leave()
            return True
        self.app = _reserved(self.app)
        return len(others) < MOST_CONNECTIONS + RESERVED_CONNECTIONS

    def _leave(self) -> None:
        self._is_leaving = True
        self.transport.abort()

    def _look(self) -> None:
        is_idle = self.is_idle
        if is_idle and self._looking is not None and self.cycle is self._seen:
            self.transport.close()
            return
        self._seen = self.cycle if is_idle else None
        self._looking = self.loop.call_later(HEAD_SECONDS, self._look)


def _reserved(app: ASGIApp) -> ASGIApp:
    """Return an app that answers only the paths in ALWAYS_ANSWERED, and 503 for others."""

    async def answer(scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "http" and scope["path"] in ALWAYS_ANSWERED:
            await app(scope, receive, send)
            return
        headers = {name.decode(): value.decode() for name, value in HEADERS.items()}
        headers |= {"Connection": "close", "Retry-After": str(BUSY_SECONDS)}
        refused = refusal(503, "too many connections are busy; try again later", headers)
        await refused(scope, receive, send)

    return answer
