"""Probes: routes for health, readiness, metrics and the description of the API.

In: nothing. Out: health and readiness for operators, metrics for Prometheus, and the OpenAPI
document.
"""

from typing import Any

from fastapi import APIRouter, Request
from fastapi.responses import JSONResponse, Response

from smkc.serve import metrics
from smkc.serve.api.access import REFUSALS, Asking, GuardedRoute, Here, in_pool, needs
from smkc.serve.api.answers import HealthAnswer, Problem
from smkc.serve.api.keys import OPEN

router = APIRouter(route_class=GuardedRoute, tags=["health"])

NOT_READY: dict[int | str, dict[str, Any]] = {503: {"model": Problem, "description": "Not yet."}}
FOREIGN: dict[int | str, dict[str, Any]] = {key: REFUSALS[key] for key in (400, 403)}


@router.get("/healthz", summary="Health of the service", responses=FOREIGN)
@needs(OPEN)
async def healthz(request: Request, service: Here, caller: Asking) -> HealthAnswer:
    """Return the health of the service.

    The status is 200 even if there are problems, since restarting the service would not solve
    them. Only callers with permission to read see the problems.
    """
    health = await in_pool(request, "probes", lambda: service.health())
    return HealthAnswer(
        ok=health.ok,
        n_problems=len(health.problems),
        problems=health.problems if caller.may("read") else (),
    )


@router.get("/readyz", summary="Readiness of every watch", responses={**FOREIGN, **NOT_READY})
@needs(OPEN)
async def readyz(request: Request, service: Here) -> Response:
    """Answer 200 once every watch can take new rows, 503 before."""
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
    """Return scores and the health of the service in Prometheus' text format."""
    text = await in_pool(request, "metrics", lambda: metrics.render(service))
    return Response(text, headers={"Content-Type": metrics.CONTENT_TYPE})


@router.get("/openapi.json", include_in_schema=False)
@needs("read")
def description(request: Request) -> dict[str, Any]:
    """Return the OpenAPI document."""
    found: dict[str, Any] = request.app.openapi()
    return found
