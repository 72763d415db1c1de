"""Probes: is it alive, is it ready, what does it measure, what can be asked.

In: nothing. Out: health and readiness for whoever runs the service, metrics for Prometheus, and
the description of the API.
"""

from typing import Any

from fastapi import APIRouter, Request
from fastapi.responses import JSONResponse, Response

from smkc.serve import metrics
from smkc.serve.api.access import GuardedRoute, needs
from smkc.serve.api.answers import HealthAnswer, Problem
from smkc.serve.api.asking import REFUSALS, Asking, Here, in_pool
from smkc.serve.api.keys import OPEN

__all__ = ["router"]

router = APIRouter(route_class=GuardedRoute, tags=["health"])

NOT_READY: dict[int | str, dict[str, Any]] = {503: {"model": Problem, "description": "Not yet."}}
FOREIGN: dict[int | str, dict[str, Any]] = {key: REFUSALS[key] for key in (400, 403)}


@router.get("/healthz", summary="Is it alive, and is anything wrong?", responses=FOREIGN)
@needs(OPEN)
async def healthz(request: Request, service: Here, caller: Asking) -> HealthAnswer:
    """Say that the process answers, and whether all is well.

    The status is 200 even if something is wrong outside: to start the service again would not
    help. What is wrong is told to callers who may read.
    """
    health = await in_pool(request, "probes", lambda: service.health())
    return HealthAnswer(
        ok=health.ok,
        n_problems=len(health.problems),
        problems=health.problems if caller.may("read") else (),
    )


@router.get("/readyz", summary="Does every watch take rows?", responses={**FOREIGN, **NOT_READY})
@needs(OPEN)
async def readyz(request: Request, service: Here) -> Response:
    """Answer 200 once every watch takes rows, 503 before."""
    if await in_pool(request, "probes", lambda: service.is_ready):
        return JSONResponse({"ready": True})
    return JSONResponse(
        {"error": "a watch is still fetching its history; ask again"}, 503, {"Retry-After": "5"}
    )


@router.get(
    "/metrics",
    summary="Metrics for Prometheus",
    response_class=Response,
    responses={**REFUSALS, 200: {"content": {"text/plain": {"schema": {"type": "string"}}}}},
)
@needs("read")
async def metrics_text(request: Request, service: Here) -> Response:
    """Return scores and the service's own health in Prometheus' text format."""
    text = await in_pool(request, "metrics", lambda: metrics.render(service))
    return Response(text, headers={"Content-Type": metrics.CONTENT_TYPE})


@router.get("/openapi.json", include_in_schema=False)
@needs("read")
def description(request: Request) -> dict[str, Any]:
    """Return the description of the API."""
    found: dict[str, Any] = request.app.openapi()
    return found
