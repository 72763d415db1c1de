"""Connection: what uvicorn leaves open before a request is whole.

In: bytes from a client. Out: uvicorn's own handling of them, except that a connection on which no
head of a request is completed in time is closed, that there are never more connections than the
process has files to spare, and that what is no HTTP at all gets the same headers and the same kind
of sentence as every other refusal.

Where all places are taken, or all that one address may have, the connection that was idle longest
is closed for the new one. Where none is idle, a few more are let in for the probes and for
``/metrics`` alone.
"""

import asyncio
import json
from collections import Counter
from collections.abc import Sequence
from typing import Protocol, TypeVar

import h11
from starlette.types import ASGIApp, Receive, Scope, Send
from uvicorn.protocols.http.h11_impl import H11Protocol, RequestResponseCycle

from smkc.serve.api.refusals import BUSY_SECONDS, refusal
from smkc.serve.api.shell import HEADERS

__all__ = [
    "ALWAYS_ANSWERED",
    "HEAD_SECONDS",
    "MOST_CONNECTIONS",
    "MOST_OF_AN_ADDRESS",
    "Connection",
    "to_make_room",
]

# A head of a request may take from so long to twice as long.
HEAD_SECONDS = 15.0

# Connections at a time; a process may mostly open 1,024 files, and the history needs some.
MOST_CONNECTIONS = 512

# Connections of one address; a proxy that all visitors come through has enough with these.
MOST_OF_AN_ADDRESS = 128

# Further connections, on which these paths alone are answered.
RESERVED_CONNECTIONS = 32
ALWAYS_ANSWERED = frozenset({"/healthz", "/readyz", "/metrics"})

NOT_HTTP = json.dumps({"error": "this is not a request that can be read; send HTTP/1.1"}).encode()


class Idling(Protocol):
    """What a choice among connections looks at."""

    address: str
    idle_since: float

    @property
    def is_idle(self) -> bool:
        """Whether no request is being answered."""
        ...


One = TypeVar("One", bound=Idling)


def to_make_room(connections: Sequence[One]) -> One | None:
    """Return the connection to close: of those idle, the address's with most, idle longest."""
    counts = Counter(one.address for one in connections)
    idle = [one for one in connections if one.is_idle]
    return min(idle, key=lambda one: (-counts[one.address], one.idle_since), default=None)


class Connection(H11Protocol):
    """One client's connection."""

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
        """Begin to look, now and then, whether a request has come."""
        super().connection_made(transport)
        self.address = self.client[0] if self.client else ""
        self.idle_since = self.loop.time()
        if not self._find_room():
            self._leave()
            return
        self._looking = self.loop.call_later(HEAD_SECONDS, self._look)

    def connection_lost(self, exc: Exception | None) -> None:
        """Stop looking."""
        if self._looking is not None:
            self._looking.cancel()
        super().connection_lost(exc)

    def send_400_response(self, msg: str) -> None:
        """Refuse what is no HTTP, and close."""
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
        """Note since when nothing is asked on this connection."""
        self.idle_since = self.loop.time()
        super().on_response_complete()

    def _find_room(self) -> bool:
        """Let an idle connection go where there are too many; tell whether this one may stay."""
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
        self.app = _Reserved(self.app)
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


class _Reserved:
    """An app of which only some paths are answered: there are too many connections for more."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "http" and scope["path"] in ALWAYS_ANSWERED:
            await self._app(scope, receive, send)
            return
        headers = {name.decode(): value.decode() for name, value in HEADERS.items()}
        headers |= {"Connection": "close", "Retry-After": str(BUSY_SECONDS)}
        answer = refusal(503, "too many connections are busy; try again later", headers)
        await answer(scope, receive, send)
