"""Limits: limits on the origin, the rate, the number and the duration of requests.

In: an ASGI app. Out: an ASGI app that identifies the caller and answers 400 or 403 if a page of
another site sent the request through a visitor's browser, 429 if a client sends too many requests
per minute, 503 if too many requests are in progress, and 408 (while receiving the body) or 503 if a
request takes too long. Probes and ``/metrics`` are counted separately from other requests;
``/metrics`` has its own rate per client, and probes have none.
"""

import asyncio
import math
import time
from collections import Counter, OrderedDict
from urllib.parse import urlsplit

from fastapi.responses import JSONResponse
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from smkc.serve.api.access import CALLER
from smkc.serve.api.keys import Keys
from smkc.serve.api.listening import is_loopback_host
from smkc.serve.api.shell import BUSY_SECONDS, refusal
from smkc.serve.service import Service

PROBES = frozenset({"/healthz", "/readyz"})
METRICS = "/metrics"

# Maximum number of concurrent requests (also of probes) and scrapes.
MOST_AT_ONCE = 64
MOST_SCRAPES = 16

# Paths of pushes, refused with 503 in place of 429: Prometheus retries after 503, but drops the
# samples after 429.
SENT_AGAIN = frozenset({"/api/v1/write", "/v1/metrics", "/api/v1/otlp/v1/metrics"})

# Maximum number of clients remembered; a forgotten one starts with a full bucket.
MOST_CLIENTS = 10_000

SAFE = frozenset({"GET", "HEAD", "OPTIONS"})


class Rate:
    """Rate limiter for all clients, with bursts of up to a minute's requests.

    Examples
    --------
    >>> rate = Rate(60)
    >>> sum(rate.wait("a", 0.0) == 0 for _ in range(100))
    60
    >>> rate.wait("a", 0.5), rate.wait("a", 1.0), rate.wait("b", 1.0)
    (0.5, 0.0, 0.0)
    """

    def __init__(self, per_minute: int) -> None:
        self._size = float(per_minute)
        self._per_second = per_minute / 60.0
        self._clients: OrderedDict[str, tuple[float, float]] = OrderedDict()

    def wait(self, client: str, now: float) -> float:
        """Count a request at time ``now`` in seconds; return the seconds to wait, 0 if allowed."""
        left, before = self._clients.pop(client, (self._size, now))
        left = min(self._size, left + max(0.0, now - before) * self._per_second)
        is_allowed = left >= 1.0
        self._clients[client] = (left - 1.0 if is_allowed else left, now)
        if len(self._clients) > MOST_CLIENTS:
            self._clients.popitem(last=False)
        return 0.0 if is_allowed else (1.0 - left) / self._per_second


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
        kind, most = "requests", MOST_AT_ONCE
        if scope["path"] in PROBES:
            kind = "probes"
        elif scope["path"] == METRICS:
            kind, most = "scrapes", MOST_SCRAPES
        refused = self._refused(scope)
        if refused is None and self._n_running[kind] >= most:
            sentence = f"too many concurrent {kind}; try again later"
            refused = refusal(503, sentence, {"Retry-After": str(BUSY_SECONDS)})
        if refused is not None:
            await refused(scope, receive, send)
        else:
            await self._in_time(kind, scope, receive, send)

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

    async def _in_time(self, kind: str, scope: Scope, receive: Receive, send: Send) -> None:
        """Run the app in a task with a time limit.

        A route that runs in a thread cannot be cancelled. Its client gets an answer at the time
        limit, but the request counts as in progress until the thread ends.
        """
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


def foreign(scope: Scope, public_url: str, has_keys: bool) -> tuple[int, str] | None:
    """Return the status and message if a request must be refused for its origin, else None.

    Without tokens, a service on loopback trusts every client that can reach it, and a page of
    another site can make a browser reach it: by a domain name that resolves to 127.0.0.1 (DNS
    rebinding) or by a form that posts across sites. With tokens, browsers send the cookie from
    pages on other ports of the same host too, since they belong to the same site.
    """
    hosts = [value for name, value in scope["headers"] if name == b"host"]
    host = hosts[0].decode("latin-1").lower() if len(hosts) == 1 else ""
    if not has_keys and not is_loopback_host(host):
        return 400, (
            "without tokens the service is asked as localhost or 127.0.0.1 alone; use one of "
            "these, or set tokens"
        )
    headers = dict(scope["headers"])
    is_safe = scope["method"] in SAFE
    site = headers.get(b"sec-fetch-site", b"none")
    is_visit = is_safe and headers.get(b"sec-fetch-mode") == b"navigate"
    if site not in (b"none", b"same-origin") and not is_visit:
        return 403, "a page of another site asked for this; open the dashboard itself"
    origin = headers.get(b"origin")
    if origin is not None and not is_safe and not _is_own(origin, host, public_url):
        return 403, "a page of another site sent this; open the dashboard itself"
    return None


def _is_own(origin: bytes, host: str, public_url: str) -> bool:
    try:
        place = urlsplit(origin.decode("latin-1").lower()).netloc
    except ValueError:
        return False
    return bool(place) and place in (host, urlsplit(public_url.lower()).netloc)
