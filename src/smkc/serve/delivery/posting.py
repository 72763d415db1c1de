"""Posting: one HTTP request to a server outside, and what became of it.

In: how the server is reached, and a body. Out: an answer that says whether it arrived, is worth
another try, or never will arrive; no secret is in it, nor in a log, nor in a repr.
"""

import logging
from collections.abc import Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from urllib.parse import SplitResult, urlsplit, urlunsplit
from urllib.request import getproxies, proxy_bypass

import httpx

from smkc.errors import SettingError
from smkc.serve.config import PeerConfig
from smkc.serve.config.reaching import is_loopback
from smkc.version import VERSION

__all__ = ["Answer", "Receiver"]

# The fault lies with the server or with the way there, and may be mended: credentials that were
# rotated, a proxy whose backend is not up yet, too many requests.
MAY_BE_MENDED = frozenset({401, 403, 404, 407, 408, 421, 425, 429})

# Of an answer that is an error, so much is read and so much is shown.
MOST_READ_BYTES = 16_384
MOST_SHOWN = 200


@dataclass(frozen=True, kw_only=True)
class Answer:
    """What became of a request.

    Parameters
    ----------
    status
        ``sent``, ``later`` (worth another try) or ``refused`` (the same again would be refused).
    said
        what went wrong, in words; empty if nothing did.
    wait_s
        how long the other side asks to be left alone.
    """

    status: str
    said: str = ""
    wait_s: float = 0.0


class Receiver:
    """A server that takes POST requests.

    Parameters
    ----------
    peer
        how it is reached; its secrets are read anew for each request.
    path
        put behind the address.
    answers_pages
        whether an HTML page may be the server's own answer; that of a proxy never is.

    Notes
    -----
    The environment's proxies are not asked for this machine's own addresses. Elsewhere a proxy may
    answer a plain HTTP request itself: a page in answer to it is not counted as a delivery. Through
    HTTPS a proxy only passes bytes on.
    """

    def __init__(self, peer: PeerConfig, path: str = "", *, answers_pages: bool = True) -> None:
        # httpx writes each request's whole address into its log, and addresses hold secrets.
        logging.getLogger("httpx").setLevel(logging.WARNING)
        parts = urlsplit(peer.url)
        self._peer = peer
        self._url = urlunsplit(parts._replace(path=parts.path.rstrip("/") + path or "/"))
        is_here = is_loopback(parts.hostname or "")
        self._takes_pages = answers_pages and (is_here or not _is_proxied(parts))
        self._client = httpx.Client(
            trust_env=not is_here,
            headers={"User-Agent": f"smkc/{VERSION}"},
            timeout=peer.timeout / 1000,
            verify=peer.trust(),
            follow_redirects=False,
        )

    def __repr__(self) -> str:
        return f"Receiver({urlsplit(self._url).netloc!r})"

    def post(self, body: bytes, headers: Mapping[str, str]) -> Answer:
        """Send a body; whatever happens, return an answer."""
        try:
            own = self._peer.request_headers()
        except SettingError as error:
            return Answer(status="later", said=str(error))
        try:
            request = self._client.build_request(
                "POST", self._url, content=body, headers={**headers, **own}
            )
            response = self._client.send(request, stream=True)
        except httpx.TimeoutException:
            return Answer(status="later", said=f"no answer within {self._peer.timeout / 1000:g} s")
        except (httpx.LocalProtocolError, httpx.InvalidURL, ValueError) as error:
            # Their texts repeat what was to be sent.
            return Answer(status="later", said=f"cannot be asked ({type(error).__name__})")
        except (httpx.HTTPError, OSError) as error:
            return Answer(status="later", said=self._shown("cannot be reached", str(error), own))
        try:
            return self._judged(response, own)
        finally:
            response.close()

    def close(self) -> None:
        """Give up the connections."""
        self._client.close()

    def _judged(self, response: httpx.Response, own: Mapping[str, str]) -> Answer:
        code = response.status_code
        if response.is_success and not self._takes_pages and _is_page(response):
            said = (
                f"answered {code} with a page, as a proxy or another server does; correct the "
                "address, or name its host in NO_PROXY"
            )
            return Answer(status="later", said=said)
        if response.is_success:
            return Answer(status="sent")
        is_final = response.is_client_error and code not in MAY_BE_MENDED
        return Answer(
            status="refused" if is_final else "later",
            said=self._shown(f"answered {code}", _beginning(response), own),
            wait_s=_retry_after(response.headers.get("retry-after", "")),
        )

    def _shown(self, what: str, detail: str, own: Mapping[str, str]) -> str:
        """Join what happened and what was said of it, without the secrets that were sent."""
        parts = urlsplit(self._url)
        sent = [parts.path, parts.query, *own.values()]
        for secret in sorted(_words(sent), key=len, reverse=True):
            detail = detail.replace(secret, "***")
        flat = " ".join("".join(sign if sign.isprintable() else " " for sign in detail).split())
        return f"{what}: {flat[:MOST_SHOWN]}" if flat else what


def _is_proxied(parts: SplitResult) -> bool:
    """Whether the environment has plain HTTP requests to an address sent to a proxy."""
    proxies = getproxies()
    is_named = "http" in proxies or "all" in proxies
    return parts.scheme == "http" and is_named and not proxy_bypass(parts.hostname or "")


def _is_page(response: httpx.Response) -> bool:
    return "html" in response.headers.get("content-type", "").lower()


def _words(texts: Iterable[str]) -> set[str]:
    """Return texts and their words; those too short to be secrets are left out."""
    return {part for text in texts for part in (text, *text.split()) if len(part) > 3}


def _beginning(response: httpx.Response) -> str:
    """Return the start of a body; what cannot be read is left out."""
    content = b""
    with suppress(httpx.HTTPError, OSError):  # the status says enough
        for part in response.iter_raw():
            content += part
            if len(content) >= MOST_READ_BYTES:
                break
    return content[:MOST_READ_BYTES].decode("utf-8", "replace")


def _retry_after(text: str) -> float:
    """Return the seconds that the header Retry-After asks for, as a number or a date; else 0."""
    if text.isascii() and text.isdigit():
        return float(text[:9])
    try:
        return max((parsedate_to_datetime(text) - datetime.now(UTC)).total_seconds(), 0.0)
    except (TypeError, ValueError):
        return 0.0
