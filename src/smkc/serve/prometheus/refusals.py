"""Refusals: what an answer of Prometheus other than the one wanted means.

In: an HTTP answer. Out: an error that says what to do, and whether it may pass by itself.
"""

import json
import re

import httpx

from smkc.errors import SmkcError

__all__ = ["AskLessError", "SourceError", "one_line", "refuse_failure", "unreached"]

MOST_SAID = 64 * 2**10  # bytes of an answer that explains a failure

# How Prometheus, Thanos, Mimir and VictoriaMetrics say that less must be asked for at once.
TOO_MUCH = re.compile(r"too many|exceed|limit|maximum", re.IGNORECASE)

# How servers of HTTPS answer who speaks plain HTTP to them: Go's, and nginx.
PLAIN_TO_HTTPS = re.compile(r"HTTP request .*HTTPS", re.IGNORECASE)

MAY_PASS = (408, 425, 429)


class SourceError(SmkcError):
    """Samples could not be had.

    Parameters
    ----------
    message
        what failed, where, and what to do.
    retry
        whether asking again later may help, with nothing changed.
    """

    def __init__(self, message: str, *, retry: bool) -> None:
        super().__init__(message)
        self.retry = retry


class AskLessError(SourceError):
    """An answer would be too long, or was; a shorter range may do."""


def refuse_failure(answer: httpx.Response, url: str, query: str) -> None:
    """Raise what an answer other than 200 means; its body must not have been read yet."""
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
        raise SourceError(f"{place}; it is asked again", retry=True)
    if status in (401, 403):
        raise SourceError(f"{place}; see that the token is right and may read", retry=False)
    if status == 400 and PLAIN_TO_HTTPS.search(said):
        raise SourceError(f"{place}; write https:// instead of http://", retry=False)
    if status in (400, 422):
        raise SourceError(f"{place}; correct the query {query!r}", retry=False)
    raise SourceError(f"{place}; give the address of a Prometheus, without /api/v1", retry=False)


def unreached(error: httpx.HTTPError, url: str) -> SourceError:
    """Return what it means that no whole answer came, with what to do about it."""
    said = one_line(str(error))
    remedy = "see that it runs and that this machine may reach it"
    if "WRONG_VERSION_NUMBER" in said:
        remedy = "it does not seem to speak HTTPS: write http:// instead of https://"
    elif "CERTIFICATE_VERIFY_FAILED" in said:
        remedy = "give the certificate of whoever vouches for it as ca_file under [prometheus]"
    return SourceError(f"{url} cannot be reached or broke off ({said}); {remedy}", retry=True)


def one_line(text: str) -> str:
    """Return text in one short line that can be shown."""
    return " ".join("".join(sign if sign.isprintable() else " " for sign in text).split())[:300]


def _explained(answer: httpx.Response) -> tuple[str, str]:
    """Return the kind and the words of a failure as Prometheus gives them, or what was sent."""
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
