"""Refusals: conversion of exceptions to JSON error responses that reveal no secrets.

In: an exception. Out: ``{"error": sentence}`` with a matching status. Responses do not repeat what
the caller sent. Of an unexpected exception only the type and the place in the code are logged, not
the message and the full traceback, which may contain secrets.
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

log = logging.getLogger("smkc.serve.api")

# Value of Retry-After in 503 responses.
BUSY_SECONDS = 5

# Maximum length of an error message; it may contain a field name chosen by the sender.
MAX_ERROR_CHARACTERS = 500

# Number of stack frames logged for an unexpected exception, innermost first.
MOST_PLACES = 6


def refusal(status: int, sentence: str, headers: Mapping[str, str] | None = None) -> JSONResponse:
    """Return an error response."""
    shown = sentence[:MAX_ERROR_CHARACTERS].encode("utf-8", "replace").decode()
    return JSONResponse({"error": shown}, status, headers)


def unforeseen(error: BaseException, method: str, path: str) -> JSONResponse:
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
