"""Access: what the routes share: the check of their callers, parameters and error responses.

In: the permission that a route needs, and a request. Out: the route's answer, or 401, 403 or 413;
annotated types that FastAPI validates and documents. A route cannot be created without stating what
it needs (:func:`needs`), so that none is open by mistake. The check is done before the body is
read.
"""

from collections.abc import Callable
from typing import Annotated, Any, TypeVar

import anyio.to_thread
from fastapi import Depends, HTTPException, Path, Query, Request
from fastapi.responses import Response
from fastapi.routing import APIRoute
from pydantic import BaseModel
from starlette.types import Message, Receive, Scope, Send

from smkc.serve.api.answers import Problem
from smkc.serve.api.keys import ALLOWED, OPEN, Caller
from smkc.serve.service import Service

# Key of the caller in a request's scope.
CALLER = "smkc.caller"

# Maximum number of bytes in the body of a route that takes no samples, such as a note or a token.
SMALL_BODY = 64 * 1024

# Milliseconds up to the end of the year 9999.
LAST_TIME = 253_402_300_799_999

DAY_MILLISECONDS = 86_400_000
DEFAULT_SPAN = DAY_MILLISECONDS // 4

REFUSALS: dict[int | str, dict[str, Any]] = {
    400: {"model": Problem, "description": "The request is invalid."},
    401: {"model": Problem, "description": "A valid token is needed."},
    403: {"model": Problem, "description": "The token's role may not do this."},
    404: {"model": Problem, "description": "Not found."},
    422: {"model": Problem, "description": "A parameter is not as described."},
    429: {"model": Problem, "description": "Too many requests per minute; see Retry-After."},
    503: {"model": Problem, "description": "Not now; see Retry-After."},
}

REFUSED_BODIES: dict[int | str, dict[str, Any]] = {
    408: {"model": Problem, "description": "The body took too long."},
    413: {"model": Problem, "description": "The body is too long, packed or unpacked."},
    415: {"model": Problem, "description": "The body is of a kind that is not read here."},
}

Endpoint = TypeVar("Endpoint", bound=Callable[..., Any])
T = TypeVar("T")


class GuardedRoute(APIRoute):
    """A route that checks the caller before the body is read.

    The endpoint must be decorated with :func:`needs`.
    """

    def __init__(self, path: str, endpoint: Callable[..., Any], **further: Any) -> None:
        self.needs: str = endpoint.needs  # type: ignore[attr-defined]
        self.takes_samples: bool = endpoint.takes_samples  # type: ignore[attr-defined]
        super().__init__(path, endpoint, **further)

    async def handle(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Run the route if the caller may use it, else raise HTTPException."""
        caller: Caller = scope[CALLER]
        if not caller.may(self.needs):
            raise _refusal(caller, self.needs)
        most = scope["app"].state.limits.body_bytes if self.takes_samples else SMALL_BODY
        await super().handle(scope, _limited(scope, receive, most), send)


def needs(need: str, *, takes_samples: bool = False) -> Callable[[Endpoint], Endpoint]:
    """Declare the permission that a route needs; a decorator to place below that of the route.

    The permission is "open", "read", "write" or "admin". If ``takes_samples``, the body may be as
    large as the configured limit, instead of SMALL_BODY bytes.
    """
    if need != OPEN and need not in ALLOWED:
        raise ValueError(f"need={need!r}: give {OPEN!r} or one of {sorted(ALLOWED)}")

    def mark(endpoint: Endpoint) -> Endpoint:
        endpoint.needs = need  # type: ignore[attr-defined]
        endpoint.takes_samples = takes_samples  # type: ignore[attr-defined]
        return endpoint

    return mark


async def _service(request: Request) -> Service:
    service: Service = request.app.state.service
    return service


async def _caller(request: Request) -> Caller:
    caller: Caller = request.scope[CALLER]
    return caller


Here = Annotated[Service, Depends(_service)]
Asking = Annotated[Caller, Depends(_caller)]

_TIME = "milliseconds since 1970, UTC"
Since = Annotated[
    int | None, Query(ge=0, le=LAST_TIME, description=f"{_TIME}; by default 6 h before until")
]
Until = Annotated[int | None, Query(ge=0, le=LAST_TIME, description=f"{_TIME}; by default now")]
Watch = Annotated[str, Path(pattern=r"^[a-zA-Z0-9_.-]{1,64}$", description="a watch's name")]
Entity = Annotated[
    str, Query(max_length=1024, description="which lane of a watch that is split by a label")
]
Names = Annotated[
    list[Annotated[str, Query(min_length=1, max_length=4096)]],
    Query(alias="name", min_length=1, max_length=50, description="variables, by identifier"),
]
AlertId = Annotated[str, Path(pattern=r"^[0-9a-f]{16}$", description="an alert's id")]


def span(service: Service, since: int | None, until: int | None) -> tuple[int, int]:
    """Return first and last time; by default the last is now, the first 6 hours before the last."""
    last = service.now() if until is None else until
    first = max(0, last - DEFAULT_SPAN) if since is None else since
    return first, max(first, last)


def answered(answer: BaseModel) -> Response:
    """Serialize an answer as JSON in the current thread, instead of in the event loop."""
    return Response(answer.model_dump_json(), media_type="application/json")


async def in_pool(request: Request, pool: str, work: Callable[[], T]) -> T:
    """Run a function in one of the app's thread pools, so that no kind of work blocks another."""
    return await anyio.to_thread.run_sync(work, limiter=request.app.state.pools[pool])


def _refusal(caller: Caller, need: str) -> HTTPException:
    if caller.role is not None:
        roles = " or ".join(sorted(ALLOWED[need]))
        return HTTPException(
            403, f"a token of role {caller.role} may not do this; use one of {roles}"
        )
    if caller.presented:
        challenge, error = (
            'Bearer realm="smkc", error="invalid_token"',
            "the token is not known or has expired; ask whoever runs this service for another",
        )
    else:
        challenge, error = (
            'Bearer realm="smkc"',
            "a token is needed; send it as 'Authorization: Bearer TOKEN'",
        )
    return HTTPException(401, error, {"WWW-Authenticate": challenge})


def _limited(scope: Scope, receive: Receive, most: int) -> Receive:
    """Return a ``receive`` that answers bodies of more than ``most`` bytes with 413.

    Before the answer up to as many bytes again are read and discarded, so that a client that sends
    its whole body before it reads still gets the answer.
    """
    lengths = [value for name, value in scope["headers"] if name == b"content-length"]
    is_announced = any(  # too large, or malformed
        not value.isdigit() or len(value) > 18 or int(value) > most for value in lengths
    )
    is_waiting = any(name == b"expect" for name, _ in scope["headers"])
    taken = 0

    async def counted() -> Message:
        nonlocal taken
        if is_announced and is_waiting:  # Expect: 100-continue: the client has sent no body yet
            raise _too_long(most)
        message = await receive()
        taken += len(message.get("body", b""))
        if taken > most or (is_announced and message["type"] == "http.request"):
            thrown = 0
            while message.get("more_body", False) and thrown < most:
                message = await receive()
                thrown += len(message.get("body", b""))
            raise _too_long(most)
        return message

    return counted


def _too_long(most: int) -> HTTPException:
    return HTTPException(
        413, f"the body is longer than {most:,} bytes; send it in parts", {"Connection": "close"}
    )
