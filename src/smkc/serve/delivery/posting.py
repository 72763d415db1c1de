"""Posting: HTTP requests to a receiver, its delivery status, and the waits between retries.

In: the settings of the server, and bodies. Out: answers that say whether the server accepted a
body, whether to retry later, or whether the server refused it; a status record for people and
metrics. Neither answers nor logs nor reprs contain secrets.
"""

import logging
import random
import threading
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, replace
from urllib.parse import SplitResult, urlsplit, urlunsplit
from urllib.request import getproxies, proxy_bypass

import httpx

from smkc.errors import SettingError
from smkc.serve.config import AlertmanagerConfig, GrafanaConfig, WebhookConfig
from smkc.serve.config.reaching import is_loopback
from smkc.serve.messages import address
from smkc.serve.view import IN_HEALTH
from smkc.version import VERSION

# Milliseconds: the wait after the first failure, and the maximum wait.
FIRST_WAIT = 1_000
MAX_RETRY_MILLISECONDS = 300_000

log = logging.getLogger("smkc.serve.delivery")

# Client errors that may be temporary: rotated credentials, a proxy whose backend is not up yet, too
# many requests.
MAY_BE_MENDED = frozenset({401, 403, 404, 407, 408, 421, 425, 429})

# Number of bytes read of an error response, and of characters shown of it.
MOST_READ_BYTES = 16_384
MOST_SHOWN = 200


ReceiverConfig = AlertmanagerConfig | WebhookConfig | GrafanaConfig


@dataclass(frozen=True, kw_only=True)
class Answer:
    """Outcome of a request.

    The status is ``sent``, ``later`` (may succeed if retried) or ``refused`` (would be refused
    again), ``said`` describes the failure, and ``wait_s`` are the seconds to wait before a retry,
    as requested by the server. ``body`` is the start of the answer, if it is to be read.
    """

    status: str
    said: str = ""
    wait_s: float = 0.0
    body: str = ""


@dataclass(frozen=True, kw_only=True)
class ReceiverStatus:
    """Delivery status of one receiver since the start; times are in milliseconds.

    The name is the URL of an ``alertmanager`` or a ``grafana``, or that of a ``webhook``. Requests
    are ``sent`` or ``failed``; messages are ``waiting`` or ``given_up``, the latest at
    ``dropped_at``. Requests fail since ``failing_since``; it is None, and ``last_error`` empty, if
    the last one succeeded.
    """

    kind: str
    name: str
    sent: int = 0
    failed: int = 0
    waiting: int = 0
    given_up: int = 0
    dropped_at: int | None = None
    failing_since: int | None = None
    last_error: str = ""


class Receiver:
    """A server that accepts messages, with its delivery status; thread-safe.

    Secrets of its settings are read for each request. ``rng`` randomizes the waits, so that many
    services do not retry at the same moment; no request should be sent before ``not_before``, in
    milliseconds.

    Neither an Alertmanager nor the API of Grafana answers with an HTML page. Proxies set in the
    environment are not used for loopback addresses. For other addresses, a proxy may answer a plain
    HTTP request itself, so an HTML page as the answer does not count as a delivery. With HTTPS a
    proxy only forwards bytes.

    Requests go to ``path`` instead of the path for messages if it is given. Answers from there, and
    those of Grafana, are read up to ``max_answer_bytes``.
    """

    def __init__(
        self,
        peer: ReceiverConfig,
        rng: random.Random,
        *,
        path: str = "",
        max_answer_bytes: int = MOST_READ_BYTES,
    ) -> None:
        if isinstance(peer, AlertmanagerConfig):
            self.kind, self.name, usual = "alertmanager", address(peer.url), "/api/v2/alerts"
        elif isinstance(peer, GrafanaConfig):
            self.kind, self.name, usual = "grafana", address(peer.url), "/api/annotations"
        else:
            self.kind, self.name, usual = "webhook", peer.name, ""
        self.name += path
        self.not_before = 0
        self._rng = rng
        self._lock = threading.Lock()
        self._status = ReceiverStatus(kind=self.kind, name=self.name)
        self._in_a_row = 0
        # httpx logs the full URL of each request, and URLs may contain secrets.
        logging.getLogger("httpx").setLevel(logging.WARNING)
        parts = urlsplit(peer.url)
        self._peer = peer
        self._url = urlunsplit(parts._replace(path=parts.path.rstrip("/") + (path or usual) or "/"))
        is_here = is_loopback(parts.hostname or "")
        self._reads_answers = self.kind == "grafana" or bool(path)
        self._max_answer_bytes = max_answer_bytes
        self._takes_pages = self.kind == "webhook" and (is_here or not _is_proxied(parts))
        self._client = httpx.Client(
            trust_env=not is_here,
            headers={"User-Agent": f"smkc/{VERSION}"},
            timeout=peer.timeout / 1000,
            verify=peer.trust(),
            follow_redirects=False,
        )

    def __repr__(self) -> str:
        return f"Receiver({urlsplit(self._url).netloc!r})"

    def post(self, body: bytes, headers: Mapping[str, str], now: int) -> Answer:
        """Send a body, record the outcome and return it; failures do not raise."""
        return self.note(self.ask(body, headers), now)

    def must_wait(self, now: int) -> bool:
        """Return whether to wait before the next request; a clock set back ends the wait."""
        return self.not_before - MAX_RETRY_MILLISECONDS <= now < self.not_before

    def note(self, answer: Answer, now: int) -> Answer:
        """Record an outcome and return it; the wait doubles with each failure in a row.

        A refused request counts as failed, but does not start a wait.
        """
        with self._lock:
            status = self._status
            if answer.status == "sent":
                self._in_a_row = 0
                sent = status.sent + 1
                self._status = replace(status, sent=sent, failing_since=None, last_error="")
                return answer
            status = replace(status, failed=status.failed + 1, last_error=answer.said)
            if answer.status == "later":
                if status.failing_since is None:
                    status = replace(status, failing_since=now)
                    who = self.kind, self.name
                    log.warning("%s %s: %s; it is tried again", *who, answer.said, extra=IN_HEALTH)
                wait = min(FIRST_WAIT * 2.0 ** min(self._in_a_row, 30), MAX_RETRY_MILLISECONDS)
                wait *= self._rng.uniform(0.5, 1.0)
                wait = max(wait, min(1000 * answer.wait_s, MAX_RETRY_MILLISECONDS))
                self._in_a_row += 1
                self.not_before = now + int(wait)
            self._status = status
            return answer

    def drop(self, key: str, reason: str, now: int) -> None:
        """Count and log a message that is dropped."""
        with self._lock:
            given_up = self._status.given_up + 1
            self._status = replace(self._status, given_up=given_up, dropped_at=now)
        log.error("%s %s: message %s dropped; %s", self.kind, self.name, key, reason)

    def status(self, waiting: int = 0) -> ReceiverStatus:
        """Return the status, given the number of messages that wait."""
        return replace(self._status, waiting=waiting)

    def close(self) -> None:
        """Close the connections."""
        self._client.close()

    def ask(
        self, body: bytes, headers: Mapping[str, str], *, method: str = "POST", suffix: str = ""
    ) -> Answer:
        """Send a request and return its outcome, unrecorded; the suffix is added to the URL."""
        try:
            own = self._peer.request_headers()
        except SettingError as error:
            return Answer(status="later", said=str(error))
        try:
            request = self._client.build_request(
                method, self._url + suffix, content=body or None, headers={**headers, **own}
            )
            response = self._client.send(request, stream=True)
        except httpx.TimeoutException:
            return Answer(status="later", said=f"no answer within {self._peer.timeout / 1000:g} s")
        except (httpx.LocalProtocolError, httpx.InvalidURL, ValueError) as error:
            # The messages of these exceptions may contain what was to be sent.
            return Answer(status="later", said=f"cannot be asked ({type(error).__name__})")
        except (httpx.HTTPError, OSError) as error:
            return Answer(status="later", said=self._shown("cannot be reached", str(error), own))
        try:
            return self._judged(response, own)
        finally:
            response.close()

    def _judged(self, response: httpx.Response, own: Mapping[str, str]) -> Answer:
        code = response.status_code
        is_page = "html" in response.headers.get("content-type", "").lower()
        if response.is_success and is_page and not self._takes_pages:
            said = (
                f"answered {code} with a page, as a proxy or another server does; correct the "
                "address, or name its host in NO_PROXY"
            )
            return Answer(status="later", said=said)
        if response.is_success:
            if not self._reads_answers:
                return Answer(status="sent")
            return Answer(status="sent", body=_beginning(response, self._max_answer_bytes))
        is_final = response.is_client_error and code not in MAY_BE_MENDED
        return Answer(
            status="refused" if is_final else "later",
            said=self._shown(f"answered {code}", _beginning(response), own),
            wait_s=_retry_after(response.headers.get("retry-after", "")),
        )

    def _shown(self, what: str, detail: str, own: Mapping[str, str]) -> str:
        """Return a failure and its detail as one text, with the secrets of the request masked."""
        parts = urlsplit(self._url)
        sent = [parts.path, parts.query, *own.values()]
        words = {word for text in sent for word in (text, *text.split()) if len(word) > 3}
        for secret in sorted(words, key=len, reverse=True):
            detail = detail.replace(secret, "***")
        flat = " ".join("".join(sign if sign.isprintable() else " " for sign in detail).split())
        return f"{what}: {flat[:MOST_SHOWN]}" if flat else what


def _is_proxied(parts: SplitResult) -> bool:
    """Return whether a plain HTTP request to a URL goes through a proxy of the environment."""
    proxies = getproxies()
    is_named = "http" in proxies or "all" in proxies
    return parts.scheme == "http" and is_named and not proxy_bypass(parts.hostname or "")


def _beginning(response: httpx.Response, most: int = MOST_READ_BYTES) -> str:
    """Return the start of a response body, as far as it can be read."""
    content = bytearray()
    with suppress(httpx.HTTPError, OSError):  # the status says enough
        for part in response.iter_raw():
            content += part
            if len(content) >= most:
                break
    return content[:most].decode("utf-8", "replace")


def _retry_after(text: str) -> float:
    """Return the seconds in a Retry-After header; 0 if it is not a number."""
    return float(text[:9]) if text.isascii() and text.isdigit() else 0.0
