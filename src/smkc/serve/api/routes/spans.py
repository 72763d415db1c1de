"""Spans: routes to list, mark, end and delete spans of time, such as maintenance.

In: a watch, and a span. Out: spans, newest first.
"""

from typing import Annotated, Literal

from fastapi import APIRouter, Path, Query
from fastapi.responses import Response
from pydantic import BaseModel, BeforeValidator, ConfigDict, Field

from smkc.errors import InputError
from smkc.serve.api.access import (
    DAY_MILLISECONDS,
    LAST_TIME,
    REFUSALS,
    REFUSED_BODIES,
    Asking,
    GuardedRoute,
    Here,
    Watch,
    answered,
    needs,
)
from smkc.serve.api.answers import SpanAnswer, SpansAnswer
from smkc.serve.api.routes.alerts import LOCAL
from smkc.serve.rows import MarkedSpan
from smkc.serve.service import Service
from smkc.serve.view import UnknownError

router = APIRouter(prefix="/api/v1", route_class=GuardedRoute, tags=["spans"], responses=REFUSALS)

# Maximum number of spans in an answer.
MOST_SPANS = 1_000


def _whole(value: object) -> object:
    """Return 5 for 5.0, which JSON does not tell apart."""
    return int(value) if isinstance(value, float) and value.is_integer() else value


Time = Annotated[int, Field(ge=0, le=LAST_TIME), BeforeValidator(_whole)]
SpanId = Annotated[int, Path(ge=1, le=2**62, description="the id of a span")]


class Mark(BaseModel):
    """A span of time to mark."""

    model_config = ConfigDict(extra="forbid", strict=True)

    kind: Literal["maintenance", "missed", "deploy"] = Field(
        description="maintenance: alerts that begin in it are not sent; missed: a fault that "
        "raised no alert; deploy: only shown. Nothing is learned from the first two."
    )
    start: Time | None = Field(None, description="by default now; required for missed")
    end: Time | None = Field(
        None, description="by default open for maintenance, now for missed, start for deploy"
    )
    entity: Annotated[str, Field(max_length=1024)] | None = Field(
        None, description="the entity of one lane; by default the whole watch"
    )
    note: str = Field("", max_length=2000, description="for later readers")


@router.get("/watches/{watch}/spans", response_model=SpansAnswer, summary="Marked spans")
@needs("read")
def spans(
    service: Here,
    watch: Watch,
    entity: Annotated[
        str | None, Query(max_length=1024, description="only those that concern this entity")
    ] = None,
    since: Annotated[
        int | None, Query(ge=0, le=LAST_TIME, description="by default 30 d ago")
    ] = None,
    until: Annotated[
        int | None, Query(ge=0, le=LAST_TIME, description="by default in 30 d")
    ] = None,
) -> Response:
    """Return the latest 1,000 marked spans of a watch that overlap a time range."""
    month = 30 * DAY_MILLISECONDS
    first = service.now() - month if since is None else since
    last = service.now() + month if until is None else until
    found = service.spans(watch, first, last, entity=entity)[:MOST_SPANS]
    counts = service.store.spans.counts(watch)
    return answered(SpansAnswer.model_validate({"spans": found, "counts": counts}))


@router.post(
    "/watches/{watch}/spans", status_code=201, summary="Mark a span", responses=REFUSED_BODIES
)
@needs("admin")
def mark(service: Here, caller: Asking, watch: Watch, content: Mark) -> SpanAnswer:
    """Mark a span of time of a watch, or of one of its lanes."""
    service.entities(watch)  # an unknown watch comes before what is wrong with the span
    now = service.now()
    if content.kind == "missed" and content.start is None:
        raise InputError("start is missing: say when the fault began that raised no alert")
    start = now if content.start is None else content.start
    otherwise = {"maintenance": None, "missed": max(start, now), "deploy": start}
    end = otherwise[content.kind] if content.end is None else content.end
    if end is not None and end < start:
        raise InputError(f"the span ends at {end}, before its start at {start}; exchange them")
    span = MarkedSpan(
        watch=watch,
        kind=content.kind,
        start=start,
        end=end,
        entity=content.entity,
        who=caller.name or LOCAL,
        note=content.note,
    )
    return SpanAnswer.model_validate(service.mark(span))


@router.post("/watches/{watch}/spans/{span}/end", summary="End a span now")
@needs("admin")
def end(service: Here, watch: Watch, span: SpanId) -> SpanAnswer:
    """Let a span that goes on end now; one that has ended stays as it is."""
    now = service.now()
    if _known(service, watch, span).start > now:
        raise InputError(f"span {span} has not begun yet; delete it instead")
    service.store.spans.end(span, now)
    return SpanAnswer.model_validate(_known(service, watch, span))


@router.delete("/watches/{watch}/spans/{span}", status_code=204, summary="Delete a span")
@needs("admin")
def delete(service: Here, watch: Watch, span: SpanId) -> Response:
    """Delete a span, as if it had never been marked."""
    _known(service, watch, span)
    service.store.spans.delete(span)
    return Response(status_code=204)


def _known(service: Service, watch: str, id: int) -> MarkedSpan:
    found = service.store.spans.get(watch, id)
    if found is None:
        raise UnknownError(f"watch {watch!r} has no span {id}; list its spans")
    return found
