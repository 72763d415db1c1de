"""Connection: what uvicorn leaves open before a request is whole.

In: bytes from a client. Out: uvicorn's own handling of them, except that a connection on which no
head of a request is completed in time is closed, that there are never more connections than the
process has files to spare, and that what is no HTTP at all gets the same headers and the same kind
of sentence as every other refusal.
"""

import asyncio
import json

import h11
from uvicorn.protocols.http.h11_impl import H11Protocol, RequestResponseCycle

from smkc.serve.api.shell import HEADERS

__all__ = ["HEAD_SECONDS", "MOST_CONNECTIONS", "Connection"]

# A head of a request may take from so long to twice as long.
HEAD_SECONDS = 15.0

# Connections at a time; a process may mostly open 1,024 files, and the history needs some.
MOST_CONNECTIONS = 512

NOT_HTTP = json.dumps({"error": "this is not a request that can be read; send HTTP/1.1"}).encode()


class Connection(H11Protocol):
    """One client's connection."""

    _looking: asyncio.TimerHandle | None = None
    _seen: RequestResponseCycle | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Begin to look, now and then, whether a request has come."""
        super().connection_made(transport)
        if len(self.connections) > MOST_CONNECTIONS:
            transport.abort()
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

    def _look(self) -> None:
        is_idle = self.cycle is None or self.cycle.response_complete
        if is_idle and self._looking is not None and self.cycle is self._seen:
            self.transport.close()
            return
        self._seen = self.cycle if is_idle else None
        self._looking = self.loop.call_later(HEAD_SECONDS, self._look)
