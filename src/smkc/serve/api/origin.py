"""Origin: protection against requests that pages of other sites send through a visitor's browser.

In: a request's headers. Out: a reason to refuse the request, or None. Without tokens, a service on
loopback trusts every client that can reach it, and a page of another site can make a browser reach
it: by a domain name that resolves to 127.0.0.1 (DNS rebinding) or by a form that posts across
sites. With tokens, browsers send the cookie from pages on other ports of the same host too, since
they belong to the same site; such requests are refused here.
"""

from urllib.parse import urlsplit

from starlette.types import Scope

from smkc.serve.api.listening import is_loopback_host

SAFE = frozenset({"GET", "HEAD", "OPTIONS"})


def foreign(scope: Scope, public_url: str, has_keys: bool) -> tuple[int, str] | None:
    """Return the status and message if a request must be refused for its origin, else None."""
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
