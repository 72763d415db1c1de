"""Alerts: routes to list alerts, to acknowledge them and to mark them as normal.

In: an alert's id, or filters. Out: alerts with their causes.
"""

from collections.abc import Sequence
from typing import Annotated

from fastapi import APIRouter, Body, Query
from fastapi.responses import Response
from pydantic import BaseModel, Field

from smkc.serve.api.access import (
    LAST_TIME,
    REFUSALS,
    REFUSED_BODIES,
    AlertId,
    Asking,
    GuardedRoute,
    Here,
    answered,
    needs,
)
from smkc.serve.api.answers import AcknowledgementAnswer, AlertAnswer, AlertsAnswer
from smkc.serve.queries import graph_links, query_of_cause
from smkc.serve.service import Service
from smkc.serve.store import Acknowledgement, StoredAlert
from smkc.serve.view import UnknownError

router = APIRouter(prefix="/api/v1", route_class=GuardedRoute, tags=["alerts"], responses=REFUSALS)

LOCAL = "local"


class Note(BaseModel):
    """Body of an acknowledgement."""

    note: Annotated[str, Field(max_length=2000, description="for later readers")] = ""


@router.get("/alerts", response_model=AlertsAnswer, summary="Alerts, newest first")
@needs("read")
def alerts(
    service: Here,
    watch: Annotated[str | None, Query(max_length=64)] = None,
    entity: Annotated[str | None, Query(max_length=1024)] = None,
    open_only: Annotated[bool, Query(alias="open", description="only open alerts")] = False,
    since: Annotated[int | None, Query(ge=0, le=LAST_TIME)] = None,
    until: Annotated[int | None, Query(ge=0, le=LAST_TIME)] = None,
    limit: Annotated[int, Query(ge=1, le=500, description="alerts per page")] = 100,
    before: Annotated[
        str | None, Query(pattern=r"^[0-9a-f]{16}$", description="the page after this alert")
    ] = None,
) -> Response:
    """Return alerts, optionally only those of a watch, an entity or a span of time."""
    found = service.store.alerts(
        watch=watch,
        entity=entity,
        open_only=open_only,
        since=since,
        until=until,
        limit=limit,
        before_id=before,
    )
    said = service.store.acknowledgements([one.record.id for one in found])
    answer = AlertsAnswer(
        alerts=tuple(alert_answer(one, service, said[one.record.id]) for one in found),
        next=found[-1].record.id if len(found) == limit else None,
    )
    return answered(answer)


@router.get("/alerts/{id}", response_model=AlertAnswer, summary="One alert")
@needs("read")
def alert(service: Here, id: AlertId) -> Response:
    """Return an alert with its causes, acknowledgements and feedback."""
    return answered(_answer(service, id))


@router.post("/alerts/{id}/acknowledge", summary="Acknowledge an alert", responses=REFUSED_BODIES)
@needs("admin")
def acknowledge(
    service: Here, caller: Asking, id: AlertId, content: Annotated[Note | None, Body()] = None
) -> AlertAnswer:
    """Record who acknowledged an alert, when, and with which note.

    Earlier acknowledgements are kept.
    """
    _known(service, id)
    note = content.note if content is not None else ""
    service.store.acknowledge(id, caller.name or LOCAL, note, service.now())
    return _answer(service, id)


@router.post("/alerts/{id}/feedback", summary="Mark an alert as normal")
@needs("admin")
def feedback(service: Here, caller: Asking, id: AlertId) -> AlertAnswer:
    """Mark an alert as normal, which adds its rows to the reference."""
    _known(service, id)
    service.feedback(id, caller.name or LOCAL)
    return _answer(service, id)


def _answer(service: Service, id: str) -> AlertAnswer:
    return alert_answer(_known(service, id), service, service.store.acknowledgements([id])[id])


def alert_answer(
    stored: StoredAlert, service: Service, said: Sequence[Acknowledgement]
) -> AlertAnswer:
    """Return an alert with links for its causes, its acknowledgements and its feedback."""
    alert, config = stored.record, service.config
    answer = AlertAnswer.model_validate(alert)
    causes = []
    for cause in answer.causes:
        query = query_of_cause(cause.variable, alert, config)
        told = {"query": query, "links": graph_links(alert, query, config)}
        causes.append(cause.model_copy(update=told))
    by_users = {key: value for key, value in vars(stored).items() if key != "record"}
    by_users["acknowledgements"] = tuple(AcknowledgementAnswer.model_validate(one) for one in said)
    return answer.model_copy(update={"causes": tuple(causes), **by_users})


def _known(service: Service, id: str) -> StoredAlert:
    found = service.store.alert(id)
    if found is None:
        raise UnknownError(f"there is no alert {id!r}; it may be older than the retention")
    return found
