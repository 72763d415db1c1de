"""Shell: the security headers of every response, and the responses to errors.

In: an ASGI app. Out: an ASGI app with security headers on every response; exceptions become
``{"error": sentence}`` with a matching status. Responses do not repeat what the caller sent. Of an
unexpected exception only the type and the place in the code are logged, not the message and the
full traceback, which may contain secrets.
"""

import logging
import secrets
import traceback
from collections.abc import Mapping

from fastapi import FastAPI, Request
from fastapi.exceptions import RequestValidationError
from fastapi.responses import JSONResponse
from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from smkc.errors import InputError, SmkcError
from smkc.serve.view import BusyError, UnknownError

# Pages load resources from the service only, and no site may embed them in a frame.
CONTENT_POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; "
    "font-src 'self'; connect-src 'self'; manifest-src 'self'; base-uri 'none'; "
    "form-action 'self'; frame-ancestors 'none'"
)

HEADERS = {
    b"content-security-policy": CONTENT_POLICY.encode(),
    b"cross-origin-opener-policy": b"same-origin",
    b"cross-origin-resource-policy": b"same-origin",
    b"permissions-policy": b"camera=(), geolocation=(), microphone=()",
    b"referrer-policy": b"no-referrer",
    b"x-content-type-options": b"nosniff",
    b"x-frame-options": b"DENY",
}

# Added unless the response sets this header itself; HTTPS_ALONE only if the service uses HTTPS.
NOT_KEPT = (b"cache-control", b"no-store")
HTTPS_ALONE = (b"strict-transport-security", b"max-age=31536000")

# Value of Retry-After in 503 responses.
BUSY_SECONDS = 5

# Maximum length of an error message; it may contain a field name chosen by the sender.
MAX_ERROR_CHARACTERS = 500

# Number of stack frames logged for an unexpected exception, innermost first.
MOST_PLACES = 6

log = logging.getLogger("smkc.serve.api")


class Shell:
    """Outermost ASGI middleware around an app."""

    def __init__(self, app: ASGIApp, is_https: bool = False) -> None:
        self._app = app
        self._headers = [*HEADERS.items(), *([HTTPS_ALONE] if is_https else [])]

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request; websockets are refused."""
        if scope["type"] == "websocket":
            await send({"type": "websocket.close", "code": 1003})
            return
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        is_started = False

        async def carrying(message: Message) -> None:
            nonlocal is_started
            if message["type"] == "http.response.start":
                is_started = True
                message = {**message, "headers": self._carried(message.get("headers", ()))}
            await send(message)

        try:
            await self._app(scope, receive, carrying)
        except ClientDisconnect:
            log.debug("a client went before its request was whole")
        except Exception as error:
            answer = _unforeseen(error, scope["method"], scope["path"])
            if not is_started:
                await answer(scope, receive, carrying)

    def _carried(self, headers: object) -> list[tuple[bytes, bytes]]:
        given = list(headers)  # type: ignore[call-overload]
        names = {name.lower() for name, _ in given}
        own = [(name, value) for name, value in self._headers if name not in names]
        return [*given, *own, *([] if NOT_KEPT[0] in names else [NOT_KEPT])]


def refusal(status: int, sentence: str, headers: Mapping[str, str] | None = None) -> JSONResponse:
    """Return an error response."""
    shown = sentence[:MAX_ERROR_CHARACTERS].encode("utf-8", "replace").decode()
    return JSONResponse({"error": shown}, status, headers)


def _unforeseen(error: BaseException, method: str, path: str) -> JSONResponse:
    """Log the type and place of an unexpected exception; return a 500 response."""
    reference = secrets.token_hex(4)
    frames = traceback.extract_tb(error.__traceback__)[-MOST_PLACES:]
    places = " < ".join(f"{frame.name}:{frame.lineno}" for frame in reversed(frames))
    log.error(
        "failure %s: %s in %s %.100r, at %s", reference, type(error).__name__, method, path, places
    )
    return refusal(500, f"something went wrong inside; the log says more at {reference}")


def add_refusals(app: FastAPI) -> None:
    """Add a handler for all expected exceptions to an app."""
    for kind in (HTTPException, RequestValidationError, SmkcError):
        app.add_exception_handler(kind, _answer)


async def _answer(request: Request, error: Exception) -> JSONResponse:
    later = {"Retry-After": str(BUSY_SECONDS)}
    match error:
        case HTTPException():
            return refusal(error.status_code, _sentence(error), error.headers)
        case RequestValidationError():
            return refusal(422, "; ".join(_one(found) for found in error.errors()[:5]))
        case UnknownError():
            return refusal(404, str(error))
        case InputError():
            return refusal(getattr(error, "status", 400), str(error))
        case BusyError():
            return refusal(503, str(error), later)
    log.warning("%s in %s", type(error).__name__, request.url.path[:100].encode())
    sentence = "the service cannot do this now; try again, and look at its health"
    return refusal(503, sentence, later)


def _sentence(error: HTTPException) -> str:
    match error.status_code, error.detail:
        case 404, "Not Found":
            return "there is nothing under this address; /openapi.json lists what there is"
        case 405, _:
            return "this address does not take this method; /openapi.json lists what there is"
        case _, detail:
            return str(detail)


def _one(found: Mapping[str, object]) -> str:
    """Describe one validation error by its place, without the value."""
    loc = found.get("loc", ())
    place = ".".join(str(part)[:60] for part in loc) if isinstance(loc, tuple) else ""
    return f"{place}: {found.get('msg', 'cannot be used')}"
