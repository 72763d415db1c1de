"""Asking: the parameters, dependencies and error responses shared by the routes.

In: path and query of a request. Out: annotated types that FastAPI validates and documents, the
service and the caller of a request, and the error responses listed in the API description.
"""

from collections.abc import Callable
from typing import Annotated, Any, TypeVar

import anyio.to_thread
from fastapi import Depends, Path, Query, Request
from fastapi.responses import Response
from pydantic import BaseModel

from smkc.serve.api.access import CALLER
from smkc.serve.api.answers import Problem
from smkc.serve.api.keys import Caller
from smkc.serve.service import Service

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


async def _service(request: Request) -> Service:
    service: Service = request.app.state.service
    return service


async def _caller(request: Request) -> Caller:
    caller: Caller = request.scope[CALLER]
    return caller


T = TypeVar("T")

Here = Annotated[Service, Depends(_service)]
Asking = Annotated[Caller, Depends(_caller)]

_TIME = "milliseconds since 1970, UTC"
Time = Annotated[int, Query(ge=0, le=LAST_TIME, description=_TIME)]
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
