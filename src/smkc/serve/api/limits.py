"""Limits: how often, how many at once and how long.

In: an ASGI app. Out: the same, where a client that asks too often waits (429), a service with too
much to do says so (503), and every request ends in time (408 while its body is still coming, 503
after). Before all that it is settled who is asking. Live streams end with their client; they, the
two probes, which have no rate, and ``/metrics``, which has one of its own, are counted by
themselves.
"""

import asyncio
import math
import time

from fastapi.responses import JSONResponse
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from smkc.serve.api.access import CALLER
from smkc.serve.api.keys import Keys
from smkc.serve.api.origin import foreign
from smkc.serve.api.rate import Rate
from smkc.serve.api.refusals import BUSY_SECONDS, refusal
from smkc.serve.view import ServiceView

__all__ = ["LIVE", "MOST_AT_ONCE", "MOST_LIVE", "Limited"]

PROBES = frozenset({"/healthz", "/readyz"})
LIVE = "/api/v1/live"
METRICS = "/metrics"

# Requests that are worked on together, and live streams that are open together.
MOST_AT_ONCE = 64
MOST_LIVE = 32
MOST_SCRAPES = 16

# Prometheus sends again after 503, but throws away what was answered with 429.
SENT_AGAIN = frozenset({"/api/v1/write", "/v1/metrics", "/api/v1/otlp/v1/metrics"})


class Limited:
    """Layer of the app that lets requests through one by one.

    Parameters
    ----------
    app
        everything within.
    service
        whose limits and time count.
    keys
        who may ask.
    """

    def __init__(self, app: ASGIApp, service: ServiceView, keys: Keys) -> None:
        self._app = app
        self._service = service
        self._keys = keys
        self._rate = Rate(service.config.limits.requests_per_minute)
        self._seconds = float(service.config.limits.request_timeout_seconds)
        self._n_working = {"requests": 0, "scrapes": 0}
        self._n_live = 0
        self._n_probes = 0

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Let a request through, or say why not."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        refused = self._refused(scope)
        if refused is not None:
            await refused(scope, receive, send)
        elif scope["path"] in PROBES:
            await self._probe(scope, receive, send)
        elif scope["path"] == LIVE:
            await self._stream(scope, receive, send)
        elif scope["path"] == METRICS:
            await self._in_time("scrapes", MOST_SCRAPES, scope, receive, send)
        else:
            await self._in_time("requests", MOST_AT_ONCE, scope, receive, send)

    def _refused(self, scope: Scope) -> JSONResponse | None:
        """Settle who asks; return an answer if it ends here."""
        reason = foreign(scope, self._service.config.public_url, bool(self._keys))
        if reason is not None:
            return refusal(*reason)
        caller = self._keys.caller(scope, self._service.now())
        scope[CALLER] = caller
        if scope["path"] in PROBES:
            return None
        client = f"token {caller.name}" if caller.name else f"address {caller.address}"
        if scope["path"] == METRICS:  # what others ask from the same address does not count
            client = f"{client}, scraping"
        wait = self._rate.wait(client, time.monotonic())
        if not wait:
            return None
        return refusal(
            503 if scope["path"] in SENT_AGAIN else 429,
            "more requests per minute than the limit allows; wait, or raise requests_per_minute",
            {"Retry-After": str(math.ceil(wait))},
        )

    async def _probe(self, scope: Scope, receive: Receive, send: Send) -> None:
        if self._n_probes >= MOST_AT_ONCE:
            await _busy("probes are answered")(scope, receive, send)
            return
        self._n_probes += 1
        try:
            await self._app(scope, receive, send)
        finally:
            self._n_probes -= 1

    async def _stream(self, scope: Scope, receive: Receive, send: Send) -> None:
        if self._n_live >= MOST_LIVE:
            await _busy("live streams are open")(scope, receive, send)
            return
        self._n_live += 1
        try:
            await self._app(scope, receive, send)
        finally:
            self._n_live -= 1

    async def _in_time(
        self, kind: str, most: int, scope: Scope, receive: Receive, send: Send
    ) -> None:
        """Run the app in a task of its own, one of a kind that there may be so many of.

        A route that waits in a thread cannot be cancelled; it is answered for, and counts as being
        worked on until it ends.
        """
        if self._n_working[kind] >= most:
            await _busy(f"{kind} are worked on")(scope, receive, send)
            return
        progress = _Progress(receive, send)
        self._n_working[kind] += 1
        task = asyncio.ensure_future(self._app(scope, progress.receive, progress.send))
        task.add_done_callback(lambda task: self._ended(kind, task))
        try:
            done, _ = await asyncio.wait({task}, timeout=self._seconds)
        except asyncio.CancelledError:
            task.cancel()
            raise
        if done:
            task.result()
            return
        progress.is_over = True
        task.cancel()
        if not progress.is_answering:
            await progress.too_late(self._seconds)(scope, receive, send)

    def _ended(self, kind: str, task: "asyncio.Future[None]") -> None:
        self._n_working[kind] -= 1
        if not task.cancelled():
            task.exception()  # seen by whoever waits; nobody may be


class _Progress:
    """How far a request has come: a body that is still on its way, an answer that has begun."""

    def __init__(self, receive: Receive, send: Send) -> None:
        self._receive = receive
        self._send = send
        self.is_reading = False
        self.is_answering = False
        self.is_over = False

    async def receive(self) -> Message:
        self.is_reading = True
        message = await self._receive()
        self.is_reading = bool(message.get("more_body", False))
        return message

    async def send(self, message: Message) -> None:
        if self.is_over:
            return  # the client has its answer already
        self.is_answering = True
        await self._send(message)

    def too_late(self, seconds: float) -> JSONResponse:
        headers = {"Connection": "close", "Retry-After": str(BUSY_SECONDS)}
        if self.is_reading:
            return refusal(408, f"the body took longer than {seconds:.0f} seconds", headers)
        return refusal(503, f"the answer took longer than {seconds:.0f} seconds", headers)


def _busy(what: str) -> JSONResponse:
    return refusal(503, f"too many {what}; try again later", {"Retry-After": str(BUSY_SECONDS)})
