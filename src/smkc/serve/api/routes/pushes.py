"""Pushes: samples that others send, as Prometheus' remote write, OTLP or plain JSON.

In: a body. Out: an answer once the samples are on the disk. Bodies are read as they come, up to
the limit; a few are worked on together, each unpacked in a thread, so that memory stays bounded.
"""

from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import Annotated, Any

from fastapi import APIRouter, Query, Request
from fastapi.responses import Response

from smkc.serve.api.access import GuardedRoute, needs
from smkc.serve.api.answers import ReceivedAnswer
from smkc.serve.api.asking import REFUSALS, REFUSED_BODIES, Here, in_pool
from smkc.serve.api.body import read_body
from smkc.serve.api.refusals import refusal
from smkc.serve.decoding.observations import decode_observations
from smkc.serve.decoding.otlp import decode_otlp, encode_otlp_response
from smkc.serve.decoding.remote_write import decode_remote_write
from smkc.serve.intake.samples import Samples
from smkc.serve.view import BusyError, Received, ServiceView

__all__ = ["MOST_PUSHES", "router"]

router = APIRouter(
    route_class=GuardedRoute, tags=["push"], responses={**REFUSALS, **REFUSED_BODIES}
)

# Bodies that are held together.
MOST_PUSHES = 8

JSON = "application/json"
NDJSON = "application/x-ndjson"
PROTOBUF = "application/x-protobuf"

WatchAsked = Annotated[
    str | None,
    Query(
        pattern=r"^[a-zA-Z0-9_.-]{1,64}$", description="only this watch; by default all that match"
    ),
]

TIME = {
    "anyOf": [{"type": "number"}, {"type": "string", "format": "date-time"}],
    "description": "ISO 8601, or seconds or milliseconds since 1970",
}
VALUE = {"type": ["number", "null"], "description": "null says that the variable is gone"}

OBSERVATION = {
    "type": "object",
    "required": ["time", "value"],
    "properties": {
        "time": TIME,
        "name": {"type": "string", "description": 'an identifier, as in metric{label="value"}'},
        "metric": {"type": "string", "description": "in place of a name, with labels"},
        "labels": {"type": "object", "additionalProperties": {"type": "string"}},
        "value": VALUE,
    },
    "oneOf": [{"required": ["name"]}, {"required": ["metric"]}],
}

LIST = {
    "type": "object",
    "title": "Observations",
    "required": ["observations"],
    "properties": {"observations": {"type": "array", "items": OBSERVATION}},
}

COLUMNS = {
    "type": "object",
    "title": "Columns",
    "description": "all of one length",
    "required": ["time", "series"],
    "properties": {
        "time": {"type": "array", "items": TIME},
        "series": {
            "type": "object",
            "description": "values by name",
            "additionalProperties": {"type": "array", "items": VALUE},
        },
    },
}

OTLP = {
    "type": "object",
    "title": "ExportMetricsServiceRequest",
    "properties": {"resourceMetrics": {"type": "array", "items": {"type": "object"}}},
}

BARE_LIST = {"type": "array", "title": "The list alone", "items": OBSERVATION}
BINARY = {"type": "string", "format": "binary"}


def _body(schemas: dict[str, Any]) -> dict[str, Any]:
    """Describe a body that FastAPI does not read itself."""
    content = {kind: {"schema": schema} for kind, schema in schemas.items()}
    return {"requestBody": {"required": True, "content": content}}


@router.post(
    "/api/v1/observations",
    summary="Push samples as JSON",
    openapi_extra=_body({JSON: {"anyOf": [LIST, BARE_LIST, COLUMNS]}, NDJSON: {"type": "string"}}),
)
@needs("write", takes_samples=True)
async def observations(request: Request, service: Here, watch: WatchAsked = None) -> ReceivedAnswer:
    """Take samples as a list, as columns, or one JSON object a line."""
    kind = request.headers.get("content-type", JSON)
    encoding = request.headers.get("content-encoding", "")
    limits = service.config.limits
    received = await _received(
        request, service, watch, lambda body: decode_observations(body, kind, encoding, limits)
    )
    return ReceivedAnswer.model_validate(received)


@router.post(
    "/api/v1/write",
    status_code=204,
    summary="Prometheus' remote write, 1.0 and 2.0",
    openapi_extra=_body({PROTOBUF: BINARY}),
)
@needs("write", takes_samples=True)
async def write(request: Request, service: Here, watch: WatchAsked = None) -> Response:
    """Take samples as a snappy-compressed protobuf message."""
    kind = request.headers.get("content-type", "")
    encoding = request.headers.get("content-encoding", "")
    limits = service.config.limits
    n_samples = 0

    def decode(body: bytes) -> Samples:
        nonlocal n_samples
        samples = decode_remote_write(body, kind, encoding, limits)
        n_samples = len(samples)
        return samples

    received = await _received(request, service, watch, decode)
    # Senders of 2.0 take a missing or smaller count for a loss. What no watch wants is no loss;
    # native histograms and exemplars, which are not read, are.
    written = {"Samples": n_samples - received.refused, "Histograms": 0, "Exemplars": 0}
    headers = {f"X-Prometheus-Remote-Write-{what}-Written": str(n) for what, n in written.items()}
    if received.refused:  # a sender does not send again after 400, and logs the sentence
        return refusal(400, received.refusal, headers)
    return Response(status_code=204, headers=headers)


@router.post(
    "/v1/metrics",
    summary="OTLP metrics",
    response_class=Response,
    responses={200: {"content": {PROTOBUF: {}, JSON: {}}}},
    openapi_extra=_body({PROTOBUF: BINARY, JSON: OTLP}),
)
@router.post("/api/v1/otlp/v1/metrics", include_in_schema=False, response_class=Response)
@needs("write", takes_samples=True)
async def otlp(request: Request, service: Here, watch: WatchAsked = None) -> Response:
    """Take an ExportMetricsServiceRequest as protobuf or JSON, plain or gzipped."""
    kind = request.headers.get("content-type", "")
    encoding = request.headers.get("content-encoding", "")
    limits = service.config.limits
    received = await _received(
        request, service, watch, lambda body: decode_otlp(body, kind, encoding, limits)
    )
    is_json = kind.partition(";")[0].strip().lower() == JSON
    answer = encode_otlp_response(received.refused, received.refusal, as_json=is_json)
    return Response(answer, headers={"Content-Type": JSON if is_json else PROTOBUF})


async def _received(
    request: Request, service: ServiceView, watch: str | None, decode: Callable[[bytes], Samples]
) -> Received:
    async with _place(request):
        body = await read_body(request)
        received: Received = await in_pool(
            request, "pushes", lambda: service.receive(watch, decode(body))
        )
    return received


@asynccontextmanager
async def _place(request: Request) -> AsyncIterator[None]:
    """Hold one of the places for bodies; all taken, the sender comes back later."""
    state = request.app.state
    if state.n_pushes >= MOST_PUSHES:
        raise BusyError(f"{MOST_PUSHES} pushes are being taken already; send it again")
    state.n_pushes += 1
    try:
        yield
    finally:
        state.n_pushes -= 1
