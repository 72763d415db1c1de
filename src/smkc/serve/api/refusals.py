"""Refusals: every failure becomes one JSON sentence, and none tells more than it should.

In: an exception. Out: ``{"error": sentence}`` with a fitting status. What the caller sent is not
repeated, and an unforeseen failure is logged by its type and place alone: neither its message nor
its traceback, which may hold secrets, goes anywhere.
"""

import logging
import secrets
import traceback
from collections.abc import Mapping

from fastapi import FastAPI, Request
from fastapi.exceptions import RequestValidationError
from fastapi.responses import JSONResponse
from starlette.exceptions import HTTPException

from smkc.errors import InputError, SmkcError
from smkc.serve.view import BusyError, UnknownError

__all__ = ["BUSY_SECONDS", "add_refusals", "refusal", "unforeseen"]

log = logging.getLogger("smkc.serve.api")

# Who is told to come back is told to wait so long.
BUSY_SECONDS = 5

# So much of a sentence is sent; a place in a body may be named by its sender.
MAX_ERROR_CHARACTERS = 500

# So many places of a failure are logged, the innermost.
MOST_PLACES = 6


def refusal(status: int, sentence: str, headers: Mapping[str, str] | None = None) -> JSONResponse:
    """Return an error as everybody gets it."""
    shown = sentence[:MAX_ERROR_CHARACTERS].encode("utf-8", "replace").decode()
    return JSONResponse({"error": shown}, status, headers)


def unforeseen(error: BaseException, method: str, path: str) -> JSONResponse:
    """Log a failure that nobody foresaw, by type and place, and admit it."""
    reference = secrets.token_hex(4)
    frames = traceback.extract_tb(error.__traceback__)[-MOST_PLACES:]
    places = " < ".join(f"{frame.name}:{frame.lineno}" for frame in reversed(frames))
    log.error(
        "failure %s: %s in %s %.100r, at %s", reference, type(error).__name__, method, path, places
    )
    return refusal(500, f"something went wrong inside; the log says more at {reference}")


def add_refusals(app: FastAPI) -> None:
    """Teach an app what to answer to each kind of error."""

    async def on_http(request: Request, error: Exception) -> JSONResponse:
        assert isinstance(error, HTTPException)
        return refusal(error.status_code, _sentence(error), error.headers)

    async def on_shape(request: Request, error: Exception) -> JSONResponse:
        assert isinstance(error, RequestValidationError)
        return refusal(422, "; ".join(_one(found) for found in error.errors()[:5]))

    async def on_unknown(request: Request, error: Exception) -> JSONResponse:
        return refusal(404, str(error))

    async def on_input(request: Request, error: Exception) -> JSONResponse:
        return refusal(getattr(error, "status", 400), str(error))

    async def on_busy(request: Request, error: Exception) -> JSONResponse:
        return refusal(503, str(error), {"Retry-After": str(BUSY_SECONDS)})

    async def on_smkc(request: Request, error: Exception) -> JSONResponse:
        log.warning("%s in %s", type(error).__name__, request.url.path[:100].encode())
        return refusal(
            503,
            "the service cannot do this now; try again, and look at its health",
            {"Retry-After": str(BUSY_SECONDS)},
        )

    app.add_exception_handler(HTTPException, on_http)
    app.add_exception_handler(RequestValidationError, on_shape)
    app.add_exception_handler(UnknownError, on_unknown)
    app.add_exception_handler(InputError, on_input)
    app.add_exception_handler(BusyError, on_busy)
    app.add_exception_handler(SmkcError, on_smkc)


def _sentence(error: HTTPException) -> str:
    match error.status_code, error.detail:
        case 404, "Not Found":
            return "there is nothing under this address; /openapi.json lists what there is"
        case 405, _:
            return "this address does not take this method; /openapi.json lists what there is"
        case _, detail:
            return str(detail)


def _one(found: Mapping[str, object]) -> str:
    """Say what is wrong with one value, by its place and without repeating it."""
    loc = found.get("loc", ())
    place = ".".join(str(part)[:60] for part in loc) if isinstance(loc, tuple) else ""
    return f"{place}: {found.get('msg', 'cannot be used')}"
