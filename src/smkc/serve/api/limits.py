"""Limits: limits on the rate, the number and the duration of requests.

In: an ASGI app. Out: an ASGI app that identifies the caller and answers 429 if a client sends too
many requests per minute, 503 if too many requests are in progress, and 408 (while receiving the
body) or 503 if a request takes too long. Live streams and probes have no time limit here. Live
streams, probes and ``/metrics`` are counted separately from other requests; ``/metrics`` has its
own rate per client, and probes have none.
"""

import asyncio
import math
import time
from collections import Counter

from fastapi.responses import JSONResponse
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from smkc.serve.api.access import CALLER
from smkc.serve.api.keys import Keys
from smkc.serve.api.origin import foreign
from smkc.serve.api.rate import Rate
from smkc.serve.api.refusals import BUSY_SECONDS, refusal
from smkc.serve.service import Service

PROBES = frozenset({"/healthz", "/readyz"})
LIVE = "/api/v1/live"
METRICS = "/metrics"

# Maximum number of concurrent requests (also of probes), live streams and scrapes.
MOST_AT_ONCE = 64
MOST_LIVE = 32
MOST_SCRAPES = 16

# Paths of pushes, refused with 503 in place of 429: Prometheus retries after 503, but drops the
# samples after 429.
SENT_AGAIN = frozenset({"/api/v1/write", "/v1/metrics", "/api/v1/otlp/v1/metrics"})


class Limited:
    """ASGI middleware around an app that identifies callers and enforces the service's limits."""

    def __init__(self, app: ASGIApp, service: Service, keys: Keys) -> None:
        self._app = app
        self._service = service
        self._keys = keys
        self._rate = Rate(service.config.limits.requests_per_minute)
        self._seconds = float(service.config.limits.request_timeout_seconds)
        self._n_running: Counter[str] = Counter()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass a request to the inner app, or refuse it."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        refused = self._refused(scope)
        if refused is not None:
            await refused(scope, receive, send)
        elif scope["path"] in PROBES:
            await self._counted("probes", MOST_AT_ONCE, scope, receive, send)
        elif scope["path"] == LIVE:
            await self._counted("live streams", MOST_LIVE, scope, receive, send)
        elif scope["path"] == METRICS:
            await self._in_time("scrapes", MOST_SCRAPES, scope, receive, send)
        else:
            await self._in_time("requests", MOST_AT_ONCE, scope, receive, send)

    def _refused(self, scope: Scope) -> JSONResponse | None:
        """Identify the caller; return a response if the request is refused, else None."""
        reason = foreign(scope, self._service.config.public_url, bool(self._keys))
        if reason is not None:
            return refusal(*reason)
        caller = self._keys.caller(scope, self._service.now())
        scope[CALLER] = caller
        if scope["path"] in PROBES:
            return None
        client = f"token {caller.name}" if caller.name else f"address {caller.address}"
        if scope["path"] == METRICS:  # separate from other requests of the same client
            client = f"{client}, scraping"
        wait = self._rate.wait(client, time.monotonic())
        if not wait:
            return None
        return refusal(
            503 if scope["path"] in SENT_AGAIN else 429,
            "more requests per minute than the limit allows; wait, or raise requests_per_minute",
            {"Retry-After": str(math.ceil(wait))},
        )

    async def _counted(
        self, kind: str, most: int, scope: Scope, receive: Receive, send: Send
    ) -> None:
        """Run the app without a time limit, unless ``most`` of its kind are running."""
        if self._n_running[kind] >= most:
            await _busy(kind)(scope, receive, send)
            return
        self._n_running[kind] += 1
        try:
            await self._app(scope, receive, send)
        finally:
            self._n_running[kind] -= 1

    async def _in_time(
        self, kind: str, most: int, scope: Scope, receive: Receive, send: Send
    ) -> None:
        """Run the app in a task with a time limit, unless ``most`` of its kind are running.

        A route that runs in a thread cannot be cancelled. Its client gets an answer at the time
        limit, but the request counts as in progress until the thread ends.
        """
        if self._n_running[kind] >= most:
            await _busy(kind)(scope, receive, send)
            return
        progress = _Progress(receive, send)
        self._n_running[kind] += 1
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
        self._n_running[kind] -= 1
        if not task.cancelled():
            task.exception()  # marks it as retrieved, in case the request timed out


class _Progress:
    """Progress of a request: whether its body is being received, and its response has begun."""

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
            return  # the client was answered at the time limit
        self.is_answering = True
        await self._send(message)

    def too_late(self, seconds: float) -> JSONResponse:
        headers = {"Connection": "close", "Retry-After": str(BUSY_SECONDS)}
        if self.is_reading:
            return refusal(408, f"the body took longer than {seconds:.0f} seconds", headers)
        return refusal(503, f"the answer took longer than {seconds:.0f} seconds", headers)


def _busy(kind: str) -> JSONResponse:
    sentence = f"too many concurrent {kind}; try again later"
    return refusal(503, sentence, {"Retry-After": str(BUSY_SECONDS)})
