"""Origin: requests that a page of somebody else makes a visitor's browser send are refused.

In: a request's headers. Out: a reason to refuse it, or none. Without tokens a service on loopback
trusts whoever can reach it; a browser can be talked into reaching it, by a foreign name that points
to 127.0.0.1 (DNS rebinding) or by a form that posts across sites. With tokens, a page of another
port of the same machine counts as the same site to the cookie, and is refused here.
"""

from urllib.parse import urlsplit

from starlette.types import Scope

from smkc.serve.api.listening import is_loopback_host

__all__ = ["foreign"]

SAFE = frozenset({"GET", "HEAD", "OPTIONS"})


def foreign(scope: Scope, public_url: str, has_keys: bool) -> tuple[int, str] | None:
    """Return status and sentence if a request must be refused for where it comes from."""
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
