"""Prometheus: ranges of samples from its HTTP interface, or from what answers as it does.

In: a query in PromQL and a grid of times. Out: samples on the grid; a failure says what to do, and
whether it may pass by itself.
"""

import logging
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from ssl import SSLContext
from types import TracebackType
from typing import Any, Self
from urllib.parse import urlsplit

import httpx

from smkc.errors import SettingError
from smkc.serve.config import PrometheusConfig
from smkc.serve.config.reaching import check_url, is_loopback
from smkc.serve.intake.samples import Samples
from smkc.serve.prometheus.collected import Collected
from smkc.serve.prometheus.matrix import CutShortError, ForeignError, MatrixReader, TooLongError
from smkc.serve.prometheus.refusals import AskLessError, SourceError, refuse_failure, unreached

__all__ = ["Prometheus", "SourceError"]

log = logging.getLogger("smkc.serve.prometheus")

MOST_POINTS = 11_000  # of a series in an answer: Prometheus refuses more
FIRST_POINTS = 256  # asked for before it is known how many series there are
USUAL_SAMPLES = 2_000_000  # that an answer shall have
MOST_BYTES = 2**30  # of an answer
MOST_SAMPLES = 100_000_000  # of a range: 2.4 GB
MOST_KNOWN = 100_000  # series whose names are remembered

Headers = Mapping[str, str] | Callable[[], Mapping[str, str]]


class Prometheus:
    """Asks one server.

    Parameters
    ----------
    url
        where it is, such as ``http://localhost:9090``; what comes before ``/api/v1``.
    token
        sent as a bearer token.
    timeout_s
        seconds within which an answer must be whole.
    headers
        further headers, or a function that is asked for them each time.
    verify
        whether certificates are checked, or what they are checked with.
    client
        used instead of one of its own; it is closed by its owner.

    Attributes
    ----------
    n_infinite, n_histograms
        infinite values that were left out, and native histograms that were passed over, so far.
    infinite_name
        the variable of the latest infinite value; empty if there was none.
    """

    def __init__(
        self,
        url: str,
        *,
        token: str | None = None,
        timeout_s: float = 30.0,
        headers: Headers | None = None,
        verify: SSLContext | bool = True,
        client: httpx.Client | None = None,
    ) -> None:
        check_url("url", url)
        if token is not None and not (token.isascii() and token.isprintable()):
            raise SettingError("token holds signs that no header can; give one line of text")
        self.url = url.rstrip("/")
        self.n_infinite = self.n_histograms = 0
        self.infinite_name = ""
        self._token, self._headers, self._timeout_s = token, headers, timeout_s
        self._owns_client = client is None
        self._is_near = is_loopback(urlsplit(url).hostname or "")
        self._client = client or httpx.Client(verify=verify, trust_env=not self._is_near)
        self._known: dict[bytes, str] = {}
        self._points, self._most = FIRST_POINTS, MOST_POINTS  # wanted, and let pass by the server
        self._method = "POST"  # a query may be longer than an address can be
        self._warned: tuple[str, ...] = ()

    @classmethod
    def of(cls, config: PrometheusConfig) -> Self:
        """Return a client as configured; secrets are read anew for each request."""
        return cls(
            config.url,
            timeout_s=config.timeout / 1000,
            headers=config.request_headers,
            verify=config.trust(),
        )

    def range(self, query: str, start: int, end: int, step: int) -> Samples:
        """Return what a query gives at ``start``, ``start + step`` and so on, up to ``end``.

        Long ranges are asked for in parts, each about as long as the server and the memory bear.

        Parameters
        ----------
        query
            PromQL.
        start, end, step
            milliseconds.

        Returns
        -------
        samples
            all finite; what is NaN or infinite counts as not observed.
        """
        if step < 1:
            raise SettingError(f"step={step!r} ms: give 1 or more")
        self._most = min(2 * self._most, MOST_POINTS)  # what was refused once may pass today
        collected, at = Collected(), start
        while at <= end:
            points = min(self._points, self._most, (end - at) // step + 1)
            n_samples = len(collected)
            try:
                asked = {"start": at, "end": at + (points - 1) * step, "step": step}
                n_found = self._take(collected, "query_range", query, asked)
            except AskLessError as error:
                collected.cut(n_samples)  # what came of an answer that is too long
                if points == 1:
                    raise SourceError(f"{error}; narrow the query", retry=error.retry) from None
                self._most = points // 2
                log.info(
                    "%s: asking for %d points at once instead of %d", error, points // 2, points
                )
                continue
            if len(collected) > MOST_SAMPLES:
                raise SourceError(
                    f"{query!r} gives more than {MOST_SAMPLES:,} samples from {start} to {end} ms; "
                    "narrow the query, shorten the history or lengthen the step",
                    retry=False,
                )
            at += points * step
            self._points = _next_points(self._points, points, n_found)
        return collected.samples()

    def stored(self, selector: str, end: int, span: int) -> Samples:
        """Return samples at the times that they were stored with, ``span`` ms up to ``end``.

        Parameters
        ----------
        selector
            PromQL that names series and computes nothing.
        end, span
            milliseconds.
        """
        collected = Collected()
        self._take(collected, "query", f"{selector}[{span}ms]", {"time": end})
        return collected.samples()

    def is_ready(self) -> bool:
        """Say whether the server answers queries."""
        try:
            with self._answer("query", {"query": "1"}) as answer:
                return answer.status_code == 200
        except SourceError:
            return False

    def close(self) -> None:
        """Let go of the connections."""
        if self._owns_client:
            self._client.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    # ------------------------------------------------------------------ asking

    def _take(self, collected: Collected, what: str, query: str, times: Mapping[str, int]) -> int:
        """Ask once for samples, at times in milliseconds; return how many there were."""
        if len(self._known) > MOST_KNOWN:
            self._known.clear()
        reader = MatrixReader(
            collected, self._known, most_bytes=MOST_BYTES, most_samples=10 * USUAL_SAMPLES
        )
        asked = {
            "query": query,
            **{name: _seconds(time) for name, time in times.items()},
            "timeout": f"{max(1, round(self._timeout_s * 1000))}ms",
        }
        deadline = time.monotonic() + self._timeout_s
        try:
            with self._answer(what, asked) as answer:
                refuse_failure(answer, self.url, query)
                for piece in answer.iter_bytes():
                    reader.feed(piece)
                    if time.monotonic() > deadline:
                        raise httpx.ReadTimeout("the answer is not whole in time")
            reader.close()
        except TooLongError as error:
            raise AskLessError(f"{self.url}: {error} to {query!r}", retry=False) from None
        except CutShortError as error:
            raise SourceError(f"{self.url}: {error}; it is asked again", retry=True) from None
        except ForeignError as error:
            raise SourceError(
                f"{self.url}: {error}; give the address of a Prometheus, without /api/v1",
                retry=False,
            ) from None
        self.n_infinite += reader.n_infinite
        self.infinite_name = reader.infinite_name or self.infinite_name
        self.n_histograms += reader.n_histograms
        if reader.warnings and reader.warnings != self._warned:
            log.warning("%s says of %r: %s", self.url, query, "; ".join(reader.warnings)[:500])
        self._warned = reader.warnings
        return reader.n_samples

    @contextmanager
    def _answer(self, what: str, asked: Mapping[str, str]) -> Iterator[httpx.Response]:
        """Send a request and give its answer to be read; turn failures on the way into ours."""
        try:
            with self._sent(what, asked) as answer:
                if answer.status_code != 405 or self._method == "GET":
                    yield answer
                    return
            self._method = "GET"  # a server, or a proxy before it, that only lets read
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
            raise SourceError(  # what was to be sent may hold a secret: it is not shown
                f"no request can be made to {self.url}; correct its address and headers",
                retry=False,
            ) from None
        except httpx.HTTPError as error:
            raise unreached(error, self.url) from None

    def _sent(self, what: str, asked: Mapping[str, str]) -> Any:
        headers = {"Accept": "application/json", "Accept-Encoding": "gzip"}
        if self._is_near:
            headers["Accept-Encoding"] = "identity"  # packing takes longer than it saves
        try:
            headers |= self._headers() if callable(self._headers) else self._headers or {}
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
            follow_redirects=False,  # a token is for this server alone
        )


def _next_points(usual: int, points: int, n_samples: int) -> int:
    """Return how much to ask for next, from how much the last part held."""
    if points < usual:  # the end of a range: it says less
        return usual
    wanted = USUAL_SAMPLES * points // max(n_samples, 1)
    return min(max(wanted, 1), 4 * points, MOST_POINTS)


def _seconds(milliseconds: int) -> str:
    return f"{milliseconds / 1000:.3f}"
