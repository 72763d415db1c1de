"""Pushes: routes that receive samples by Prometheus' remote write, OTLP or plain JSON.

In: a body. Out: an answer once the samples are stored on disk. The size of a body and the number of
bodies processed at the same time are limited, so that memory is bounded. Bodies are decoded in
threads.
"""

import asyncio
from collections.abc import Callable
from typing import Annotated, Any

from fastapi import APIRouter, Query, Request
from fastapi.responses import Response

from smkc.serve.api.access import REFUSALS, REFUSED_BODIES, GuardedRoute, Here, in_pool, needs
from smkc.serve.api.answers import ReceivedAnswer
from smkc.serve.api.shell import refusal
from smkc.serve.config import Limits
from smkc.serve.decoding.differences import Differences
from smkc.serve.decoding.observations import decode_observations
from smkc.serve.decoding.otlp import decode_otlp, encode_otlp_response
from smkc.serve.decoding.remote_write import decode_remote_write
from smkc.serve.decoding.unpacking import media_type
from smkc.serve.intake.bins import AHEAD_MS
from smkc.serve.intake.samples import Samples
from smkc.serve.service import Service
from smkc.serve.view import BusyError, Received

router = APIRouter(
    route_class=GuardedRoute, tags=["push"], responses={**REFUSALS, **REFUSED_BODIES}
)

# Maximum number of bodies in memory at the same time.
MOST_PUSHES = 8

JSON = "application/json"
PROTOBUF = "application/x-protobuf"

WatchAsked = Annotated[
    str | None,
    Query(
        pattern=r"^[a-zA-Z0-9_.-]{1,64}$", description="only this watch; by default all that match"
    ),
]

OBSERVATION = {"time": "2026-01-31T12:00:00Z", "name": 'cpu{pod="web-1"}', "value": 0.5}
LABELLED = {"time": 1769860800, "metric": "cpu", "labels": {"pod": "web-1"}, "value": 0.5}

OBSERVATIONS = {
    "schema": {
        "type": ["object", "array"],
        "description": "Observations, columns of one length, or the list of observations alone. A "
        "time is ISO 8601, or seconds or milliseconds since 1970; a name is an identifier; the "
        "value null says that the variable is gone.",
    },
    "examples": {
        "observations": {"value": {"observations": [OBSERVATION, LABELLED]}},
        "columns": {"value": {"time": [1769860800, 1769860815], "series": {"cpu": [0.5, 0.7]}}},
        "list": {"value": [OBSERVATION]},
    },
}
OTLP = {"schema": {"type": "object", "title": "ExportMetricsServiceRequest"}}
BINARY = {"schema": {"type": "string", "format": "binary"}}


def _body(content: dict[str, Any]) -> dict[str, Any]:
    """Describe a body that FastAPI does not read itself."""
    return {"requestBody": {"required": True, "content": content}}


@router.post(
    "/api/v1/observations",
    summary="Push samples as JSON",
    openapi_extra=_body({JSON: OBSERVATIONS}),
)
@needs("write", takes_samples=True)
async def observations(request: Request, service: Here, watch: WatchAsked = None) -> ReceivedAnswer:
    """Receive samples as a list or as columns."""
    received, _, _ = await _received(request, service, watch, _decode_observations)
    return ReceivedAnswer.model_validate(received)


@router.post(
    "/api/v1/write",
    status_code=204,
    summary="Prometheus' remote write, 1.0 and 2.0",
    openapi_extra=_body({PROTOBUF: BINARY}),
)
@needs("write", takes_samples=True)
async def write(request: Request, service: Here, watch: WatchAsked = None) -> Response:
    """Receive samples as a snappy-compressed protobuf message."""
    received, n_readings, found = await _received(request, service, watch, decode_remote_write)
    # Senders of version 2.0 treat a missing or smaller count as lost data. Samples that match no
    # watch count as written; exemplars, which are not decoded, do not.
    n_samples = max(n_readings - found.n_readings - received.refused, 0)
    written = {"Samples": n_samples, "Histograms": found.n_histograms, "Exemplars": 0}
    headers = {f"X-Prometheus-Remote-Write-{what}-Written": str(n) for what, n in written.items()}
    if received.refused:  # after 400 a sender does not retry, and logs the message
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
    """Receive an ExportMetricsServiceRequest as protobuf or JSON, plain or gzipped."""
    received, _, _ = await _received(request, service, watch, decode_otlp)
    is_json = media_type(request.headers.get("content-type", ""))[0] == JSON
    answer = encode_otlp_response(received.refused, received.refusal, as_json=is_json)
    return Response(answer, headers={"Content-Type": JSON if is_json else PROTOBUF})


def _decode_observations(
    body: bytes, content_type: str, encoding: str, limits: Limits, _: Differences
) -> Samples:
    return decode_observations(body, content_type, encoding, limits)


async def _received(
    request: Request,
    service: Service,
    watch: str | None,
    decode: Callable[[bytes, str, str, Limits, Differences], Samples],
) -> tuple[Received, int, Differences]:
    """Decode and store a body; return also its number of readings, and those of histograms."""
    kind = request.headers.get("content-type", "")
    encoding = request.headers.get("content-encoding", "")
    places: asyncio.Semaphore = request.app.state.places_for_bodies
    if places.locked():
        raise BusyError(f"{MOST_PUSHES} pushes are being taken already; send it again")
    async with places:
        body = await request.body()

        def work() -> tuple[Received, int, Differences]:
            latest_time = service.now() + AHEAD_MS
            histograms = Differences(request.app.state.previous_histograms, latest_time)
            samples = decode(body, kind, encoding, service.config.limits, histograms)
            received = service.receive(watch, samples)
            histograms.keep()
            return received, len(samples.values), histograms

        return await in_pool(request, "pushes", work)
