"""Prometheus client: ranges of samples from the HTTP API of Prometheus or a compatible server.

In: a PromQL query and a grid of times. Out: samples on the grid. An error names the remedy and says
whether a retry may help.
"""

import json
import logging
import re
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from ssl import SSLContext
from typing import Any, Self
from urllib.parse import urlsplit

import httpx

from smkc.errors import SettingError, SmkcError
from smkc.serve.config import PeerConfig
from smkc.serve.config.reaching import check_url, is_loopback
from smkc.serve.intake.samples import Samples
from smkc.serve.prometheus.collected import Collected
from smkc.serve.prometheus.matrix import (
    CutShortError,
    ForeignError,
    MatrixReader,
    TooLongError,
)

log = logging.getLogger("smkc.serve.prometheus")

MOST_POINTS = 11_000  # per series in a response: Prometheus refuses more
FIRST_POINTS = 256  # per series in the first request, before the number of series is known
USUAL_SAMPLES = 2_000_000  # aimed for in a response
MOST_BYTES = 2**30  # per response
MOST_SAMPLES = 100_000_000  # per range: 2.4 GB
MOST_KNOWN = 100_000  # series whose names are cached

MOST_SAID = 64 * 2**10  # bytes read from an error response

# Words by which Prometheus, Thanos, Mimir and VictoriaMetrics report that a query is too large.
TOO_MUCH = re.compile(r"too many|exceed|limit|maximum", re.IGNORECASE)

# Error message of HTTPS servers (Go's and nginx) for a plain HTTP request.
PLAIN_TO_HTTPS = re.compile(r"HTTP request .*HTTPS", re.IGNORECASE)

MAY_PASS = (408, 425, 429)


class SourceError(SmkcError):
    """Samples could not be fetched; ``retry`` says whether the same request may succeed later."""

    def __init__(self, message: str, *, retry: bool) -> None:
        super().__init__(message)
        self.retry = retry


class AskLessError(SourceError):
    """A response is or would be too large; a shorter range may succeed."""


class Prometheus:
    """Client of one server.

    Parameters
    ----------
    url
        address of the server without ``/api/v1``, such as ``http://localhost:9090``.
    token
        sent as a bearer token.
    timeout_s
        seconds within which a response must be complete.
    headers
        returns further headers for each request.
    verify
        whether certificates are checked, or the SSL context to check them with.
    """

    def __init__(
        self,
        url: str,
        *,
        token: str | None = None,
        timeout_s: float = 30.0,
        headers: Callable[[], Mapping[str, str]] = dict,
        verify: SSLContext | bool = True,
    ) -> None:
        check_url("url", url)
        if token is not None and not (token.isascii() and token.isprintable()):
            raise SettingError(
                "token has characters that no header can hold; give one line of text"
            )
        self.url = url.rstrip("/")
        self._token, self._headers, self._timeout_s = token, headers, timeout_s
        self._is_near = is_loopback(urlsplit(url).hostname or "")
        self._client = httpx.Client(verify=verify, trust_env=not self._is_near)
        self._known: dict[bytes, str] = {}
        self._points, self._most = FIRST_POINTS, MOST_POINTS  # preferred, and the server's maximum
        self._method = "POST"  # a query may be too long for a URL
        self._warned: tuple[str, ...] = ()
        self._looks_back = False  # whether there are native histograms, which need the step before

    @classmethod
    def of(cls, config: PeerConfig) -> Self:
        """Return a client with the configured settings; secrets are read again for each request."""
        return cls(
            config.url,
            timeout_s=config.timeout / 1000,
            headers=config.request_headers,
            verify=config.trust(),
        )

    def range(self, query: str, start: int, end: int, step: int) -> Samples:
        """Return a PromQL query's results at ``start``, ``start + step`` and so on, up to ``end``.

        Times are in milliseconds. A long range is split into several requests, sized to the limits
        of server and memory. NaN counts as not observed and is left out. A native histogram becomes
        its count, its sum and quantiles of the observations of each step.
        """
        if step < 1:
            raise SettingError(f"step={step!r} ms: give 1 or more")
        self._most = min(2 * self._most, MOST_POINTS)  # the server may accept more than last time
        collected, at = Collected(), start
        while at <= end:
            back = step if self._looks_back and at >= step else 0
            most = min(self._points, self._most - bool(back))
            points = max(1, min(most, (end - at) // step + 1))
            n_samples = len(collected)
            try:
                asked = {"start": at - back, "end": at + (points - 1) * step, "step": step}
                found = self._take(
                    collected, "query_range", query, asked, start=at if back else None
                )
            except AskLessError as error:
                collected.cut(n_samples)  # drop the samples of this response
                if points == 1:
                    raise SourceError(f"{error}; narrow the query", retry=error.retry) from None
                self._most = points // 2
                log.info(
                    "%s: asking for %d points at once instead of %d", error, points // 2, points
                )
                continue
            if found.has_histograms and not self._looks_back:
                self._looks_back = True
                collected.cut(n_samples)  # ask again, with the step before the first
                continue
            if len(collected) > MOST_SAMPLES:
                raise SourceError(
                    f"{query!r} gives more than {MOST_SAMPLES:,} samples from {start} to {end} ms; "
                    "narrow the query, shorten the history or lengthen the step",
                    retry=False,
                )
            at += points * step
            self._points = _next_points(self._points, points, found.n_samples)
        return collected.samples()

    def stored(self, selector: str, end: int, span: int) -> Samples:
        """Return stored samples with their own times, for ``span`` milliseconds up to ``end``."""
        collected = Collected()
        self._take(collected, "query", f"{selector}[{span}ms]", {"time": end})
        return collected.samples()

    def close(self) -> None:
        """Close the connections."""
        self._client.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    # ------------------------------------------------------------------ asking

    def _take(
        self,
        collected: Collected,
        what: str,
        query: str,
        times: Mapping[str, int],
        start: int | None = None,
    ) -> MatrixReader:
        """Send one request, with times in milliseconds; leave out the step before ``start``."""
        if len(self._known) > MOST_KNOWN:
            self._known.clear()
        reader = MatrixReader(
            collected,
            self._known,
            most_bytes=MOST_BYTES,
            most_samples=10 * USUAL_SAMPLES,
            start=start,
            step=times.get("step"),
        )
        asked = {
            "query": query,
            **{name: _seconds(time) for name, time in times.items()},
            "timeout": f"{max(1, round(self._timeout_s * 1000))}ms",
        }
        deadline = time.monotonic() + self._timeout_s
        try:
            with self._answer(what, asked) as answer:
                _refuse_failure(answer, self.url, query)
                for piece in answer.iter_bytes():
                    reader.feed(piece)
                    if time.monotonic() > deadline:
                        raise httpx.ReadTimeout("the answer is not whole in time")
            reader.close()
        except TooLongError as error:
            raise AskLessError(f"{self.url}: {error} to {query!r}", retry=False) from None
        except CutShortError as error:
            raise SourceError(f"{self.url}: {error}; the request is repeated", retry=True) from None
        except ForeignError as error:
            raise SourceError(
                f"{self.url}: {error}; give the address of a Prometheus, without /api/v1",
                retry=False,
            ) from None
        if reader.warnings and reader.warnings != self._warned:
            log.warning("%s says of %r: %s", self.url, query, "; ".join(reader.warnings)[:500])
        self._warned = reader.warnings
        return reader

    @contextmanager
    def _answer(self, what: str, asked: Mapping[str, str]) -> Iterator[httpx.Response]:
        """Send a request and yield its response, with httpx errors turned into SourceError."""
        try:
            with self._sent(what, asked) as answer:
                if answer.status_code != 405 or self._method == "GET":
                    yield answer
                    return
            self._method = "GET"  # the server, or a proxy, does not allow POST
            with self._sent(what, asked) as answer:
                yield answer
        except httpx.TimeoutException:
            self._points = max(1, self._points // 4)
            raise SourceError(
                f"{self.url} did not answer within {self._timeout_s:g} s; less is asked for next "
                "time; if it stays so, narrow the query or raise the timeout",
                retry=True,
            ) from None
        except (httpx.UnsupportedProtocol, httpx.InvalidURL, httpx.LocalProtocolError):
            raise SourceError(  # the request may contain a secret: do not show it
                f"no request can be made to {self.url}; correct its address and headers",
                retry=False,
            ) from None
        except httpx.HTTPError as error:
            raise _unreached(error, self.url) from None

    def _sent(self, what: str, asked: Mapping[str, str]) -> Any:
        headers = {"Accept": "application/json", "Accept-Encoding": "gzip"}
        if self._is_near:
            headers["Accept-Encoding"] = "identity"  # locally, compression costs more than it saves
        try:
            headers |= self._headers()
        except SettingError as error:
            raise SourceError(f"{self.url}: {error}", retry=True) from None
        if self._token is not None:
            headers["Authorization"] = f"Bearer {self._token}"
        in_body = self._method == "POST"
        return self._client.stream(
            self._method,
            f"{self.url}/api/v1/{what}",
            params=None if in_body else asked,
            data=asked if in_body else None,
            headers=headers,
            timeout=self._timeout_s,
            follow_redirects=False,  # the token must not go to another server
        )


def _next_points(usual: int, points: int, n_samples: int) -> int:
    """Return the number of points for the next request, from the size of the last response."""
    if points < usual:  # a shorter request, such as the end of a range: a poor estimate
        return usual
    wanted = USUAL_SAMPLES * points // max(n_samples, 1)
    return min(max(wanted, 1), 4 * points, MOST_POINTS)


def _seconds(milliseconds: int) -> str:
    return f"{milliseconds / 1000:.3f}"


def _refuse_failure(answer: httpx.Response, url: str, query: str) -> None:
    """Raise SourceError for a response other than 200; its body must not have been read yet."""
    status = answer.status_code
    if status == 200:
        return
    place = f"{url} answers {status}"
    if answer.has_redirect_location:
        target = _one_line(answer.headers["location"].partition("?")[0])
        raise SourceError(
            f"{place}, which leads to {target}; give the address that answers itself", retry=False
        )
    kind, said = _explained(answer)
    place = f"{place} ({said})" if said else place
    if status == 413 or (status in (400, 422) and TOO_MUCH.search(said)):
        raise AskLessError(place, retry=False)
    if status == 503 and kind == "timeout":
        raise AskLessError(place, retry=True)
    if status >= 500 or status in MAY_PASS:
        raise SourceError(f"{place}; the request is repeated", retry=True)
    if status in (401, 403):
        raise SourceError(f"{place}; see that the token is right and may read", retry=False)
    if status == 400 and PLAIN_TO_HTTPS.search(said):
        raise SourceError(f"{place}; write https:// instead of http://", retry=False)
    if status in (400, 422):
        raise SourceError(f"{place}; correct the query {query!r}", retry=False)
    raise SourceError(f"{place}; give the address of a Prometheus, without /api/v1", retry=False)


def _unreached(error: httpx.HTTPError, url: str) -> SourceError:
    """Return the error for a request without a complete response, with a remedy."""
    said = _one_line(str(error))
    remedy = "see that it runs and that this machine may reach it"
    if "WRONG_VERSION_NUMBER" in said:
        remedy = "it does not seem to speak HTTPS: write http:// instead of https://"
    elif "CERTIFICATE_VERIFY_FAILED" in said:
        remedy = "give the certificate of its CA as ca_file under [prometheus]"
    return SourceError(f"{url} cannot be reached or broke off ({said}); {remedy}", retry=True)


def _one_line(text: str) -> str:
    """Return text as one printable line of at most 300 characters."""
    return " ".join("".join(sign if sign.isprintable() else " " for sign in text).split())[:300]


def _explained(answer: httpx.Response) -> tuple[str, str]:
    """Return Prometheus' error type and message, or "" and the start of any other body."""
    body = b""
    for piece in answer.iter_bytes():
        body += piece
        if len(body) > MOST_SAID:
            break
    try:
        content = json.loads(body)
        return str(content["errorType"]), _one_line(str(content["error"]))
    except (ValueError, KeyError, TypeError, RecursionError):
        return "", _one_line(body[:1000].decode("utf-8", "replace"))
