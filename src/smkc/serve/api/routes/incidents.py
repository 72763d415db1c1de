"""Incidents: routes to list incidents, and for the story of one.

In: an incident's id, or filters. Out: incidents with their timeline and who is likely to blame.
"""

from collections.abc import Mapping, Sequence
from typing import Annotated

from fastapi import APIRouter, Query
from fastapi.responses import Response
from pydantic import Field

from smkc.serve.api.access import (
    LAST_TIME,
    REFUSALS,
    AlertId,
    GuardedRoute,
    Here,
    answered,
    needs,
)
from smkc.serve.api.answers import Answer, Number, OfLane, Text
from smkc.serve.incidents.grouping import Incident
from smkc.serve.incidents.names import Dependencies
from smkc.serve.incidents.story import Step, lead_of, story_of
from smkc.serve.messages import first_query
from smkc.serve.queries import graph_links
from smkc.serve.rows import AlertRecord
from smkc.serve.service import Service
from smkc.serve.view import UnknownError

router = APIRouter(
    prefix="/api/v1", route_class=GuardedRoute, tags=["incidents"], responses=REFUSALS
)


class StepAnswer(OfLane):
    """One alert in the timeline of an incident."""

    alert: Text = Field(description="its id")
    start: int = Field(description="time of its first row")
    end: int = Field(description="time of its latest anomalous row")
    after: int = Field(description="milliseconds from the first alert's start to this one's")
    is_open: bool = Field(description="whether it has not closed yet")
    anomaly: Number = Field(description="at its peak; more than 1 is anomalous")
    variable: Text = Field(description="its first cause; empty if it has none")
    share: Number = Field(description="the first cause's share of the deviation, 0 to 1")
    detail: Text = Field(description="description of the first cause's change")
    place: Text = Field(description="service, job or machine of the first cause; may be empty")
    in_common: tuple[Text, ...] = Field(description="names that it shares with alerts before it")


class BlameAnswer(OfLane):
    """The alert of an incident that is likely to blame."""

    alert: Text = Field(description="its id")
    variable: Text = Field(description="its first cause; empty if it has none")
    detail: Text = Field(description="description of the first cause's change")
    reason: Text = Field(description="why it is blamed")
    query: Text = Field("", description="PromQL that selects the variable; empty if there is none")
    links: Mapping[Text, Text] = Field(
        default_factory=dict, description="URLs of pages that plot the query, by name"
    )


class IncidentAnswer(Answer):
    """An incident: alerts that overlap or nearly do, and share a cause or a dependency."""

    id: Text = Field(description="16 hexadecimal digits")
    start: int = Field(description="of its first alert")
    end: int = Field(description="of its last alert")
    is_open: bool = Field(description="whether one of its alerts is open")
    severity: Text = Field(description="worst of its alerts: warning or critical; may be empty")
    timeline: tuple[StepAnswer, ...] = Field(description="its alerts, first to move first")
    likely_to_blame: BlameAnswer


class IncidentsAnswer(Answer):
    """A page of incidents, newest first."""

    incidents: tuple[IncidentAnswer, ...]
    next: str | None = Field(description="value of before for the next page; null at the end")


@router.get("/incidents", response_model=IncidentsAnswer, summary="Incidents, newest first")
@needs("read")
def incidents(
    service: Here,
    open_only: Annotated[bool, Query(alias="open", description="only open incidents")] = False,
    since: Annotated[int | None, Query(ge=0, le=LAST_TIME)] = None,
    until: Annotated[int | None, Query(ge=0, le=LAST_TIME)] = None,
    limit: Annotated[int, Query(ge=1, le=100, description="incidents per page")] = 20,
    before: Annotated[
        str | None, Query(pattern=r"^[0-9a-f]{16}$", description="the page after this incident")
    ] = None,
) -> Response:
    """Return incidents, optionally only those of a span of time."""
    found = service.store.incidents(
        open_only=open_only, since=since, until=until, limit=limit, before_id=before
    )
    answer = IncidentsAnswer(
        incidents=tuple(_answer(*one, service) for one in found),
        next=found[-1][0].id if len(found) == limit else None,
    )
    return answered(answer)


@router.get("/incidents/{id}", response_model=IncidentAnswer, summary="One incident")
@needs("read")
def incident(service: Here, id: AlertId) -> Response:
    """Return an incident; for one that was merged into another, that other one."""
    found = service.store.incident(id)
    if found is None:
        raise UnknownError(f"there is no incident {id!r}; it may be older than the retention")
    return answered(_answer(*found, service))


def _answer(incident: Incident, alerts: Sequence[AlertRecord], service: Service) -> IncidentAnswer:
    story = story_of(alerts, Dependencies(service.config.dependencies))
    query = first_query(story.blamed, service.config)
    blamed = BlameAnswer(
        **lead_of(story.blamed),
        reason=story.reason,
        query=query,
        links=graph_links(story.blamed, query, service.config),
    )
    return IncidentAnswer(
        id=incident.id,
        start=incident.start,
        end=incident.end,
        is_open=incident.is_open,
        severity=incident.severity,
        timeline=tuple(map(_step, story.timeline)),
        likely_to_blame=blamed,
    )


def _step(step: Step) -> StepAnswer:
    alert = step.alert
    return StepAnswer(
        **lead_of(alert),
        start=alert.start,
        end=alert.end,
        after=step.after,
        is_open=alert.is_open,
        anomaly=alert.anomaly,
        share=alert.causes[0].share if alert.causes else 0.0,
        place=step.place,
        in_common=step.shared,
    )
