"""Refusals: error responses of Prometheus -> exceptions.

In: an HTTP response. Out: an error that names the remedy and says whether a retry may help.
"""

import json
import re

import httpx

from smkc.errors import SmkcError

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


def refuse_failure(answer: httpx.Response, url: str, query: str) -> None:
    """Raise SourceError for a response other than 200; its body must not have been read yet."""
    status = answer.status_code
    if status == 200:
        return
    place = f"{url} answers {status}"
    if answer.has_redirect_location:
        target = one_line(answer.headers["location"].partition("?")[0])
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


def unreached(error: httpx.HTTPError, url: str) -> SourceError:
    """Return the error for a request without a complete response, with a remedy."""
    said = one_line(str(error))
    remedy = "see that it runs and that this machine may reach it"
    if "WRONG_VERSION_NUMBER" in said:
        remedy = "it does not seem to speak HTTPS: write http:// instead of https://"
    elif "CERTIFICATE_VERIFY_FAILED" in said:
        remedy = "give the certificate of its CA as ca_file under [prometheus]"
    return SourceError(f"{url} cannot be reached or broke off ({said}); {remedy}", retry=True)


def one_line(text: str) -> str:
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
        return str(content["errorType"]), one_line(str(content["error"]))
    except (ValueError, KeyError, TypeError, RecursionError):
        return "", one_line(body[:1000].decode("utf-8", "replace"))
