"""Dashboard: pages of fleet, watches, incidents and alerts, rendered in the browser from the API.

In: JSON of the API, requested by the scripts of the pages. Out: :func:`routes`, which the app
mounts.

The pages are files of this package, without a build step, external resources, inline scripts or
inline styles, so that they work under a content security policy of ``default-src 'self'``. They
contain no secrets and need no token; the data comes from ``/api/v1`` with the visitor's cookie, and
a 401 answer leads to ``/login``. Only ``assets/api.js`` depends on the JSON format of the API.

Pages and assets are served from memory. Browsers revalidate pages on each visit by their ETag. The
path of assets contains a hash of their content, so they may be cached forever.
"""

import hashlib
import json
from dataclasses import asdict
from functools import lru_cache
from importlib.resources import files

from fastapi import APIRouter, Request
from fastapi.responses import Response

from smkc.decide.words import EVIDENCES, KINDS, OTHER_KIND

# Colours, shared with the report.
PALETTE = "palette.css"

# Script generated from the words of the report.
TERMS = "terms.js"

# Placeholder in pages for the path of the assets.
FOLDER = "{{assets}}"

CONTENT_TYPES = {
    "css": "text/css; charset=utf-8",
    "html": "text/html; charset=utf-8",
    "js": "text/javascript; charset=utf-8",
    "svg": "image/svg+xml",
}

FOR_EVER = "public, max-age=31536000, immutable"
ASK_AGAIN = "no-cache"


def routes() -> APIRouter:
    """Return the routes: ``/``, pages of watches, incidents, alerts, ``/login``, ``/assets/``."""
    router = APIRouter(include_in_schema=False)

    async def page(request: Request) -> Response:
        return _answer(request, "login.html" if request.scope["path"] == "/login" else "page.html")

    async def asset(version: str, name: str) -> Response:
        body = _assets().get(name)
        if body is None or version != _version():
            return Response("there is no such file\n", 404, media_type="text/plain")
        kind = CONTENT_TYPES[name.rpartition(".")[2]]
        return Response(body, headers={"Cache-Control": FOR_EVER, "Content-Type": kind})

    pages = ("/", "/watches/{watch}", "/incidents/{incident}", "/alerts/{alert}", "/login")
    for path in pages:
        router.add_api_route(path, page, methods=["GET", "HEAD"])
    router.add_api_route("/assets/{version}/{name}", asset, methods=["GET", "HEAD"])
    return router


def _answer(request: Request, name: str) -> Response:
    """Return a page, or 304 if the visitor's copy is current."""
    body = _page(name)
    tag = f'"{_digest(body)}"'
    headers = {"Cache-Control": ASK_AGAIN, "ETag": tag}
    if tag in request.headers.get("if-none-match", ""):
        return Response(status_code=304, headers=headers)
    return Response(body, headers=headers | {"Content-Type": CONTENT_TYPES["html"]})


@lru_cache
def _page(name: str) -> bytes:
    """Read a page and fill in the path of the assets."""
    text = files(__name__).joinpath(name).read_text("utf-8")
    return text.replace(FOLDER, f"/assets/{_version()}").encode()


@lru_cache(maxsize=1)
def _assets() -> dict[str, bytes]:
    """Return the assets by name."""
    folder = files(__name__).joinpath("assets")
    found = [files("smkc.plot").joinpath(PALETTE), *folder.iterdir()]
    read = {
        one.name: one.read_bytes() for one in found if one.name.rpartition(".")[2] in CONTENT_TYPES
    }
    return dict(sorted((read | {TERMS: terms_script().encode()}).items()))


def terms_script() -> str:
    """Return the words for kinds and evidences as a JavaScript module."""
    terms = {
        "KINDS": {name: asdict(words) for name, words in KINDS.items()},
        "OTHER_KIND": asdict(OTHER_KIND),
        "EVIDENCES": {name: words.sentence for name, words in EVIDENCES.items()},
    }
    return "".join(f"export const {name} = {json.dumps(one)};\n" for name, one in terms.items())


@lru_cache(maxsize=1)
def _version() -> str:
    """Return a hash of all assets, which changes when any of them changes."""
    return _digest(b"".join(name.encode() + body for name, body in _assets().items()))


def _digest(body: bytes) -> str:
    return hashlib.sha256(body).hexdigest()[:16]
