"""Watches: routes for the status of watches, scores, presence, traces and refits.

In: a watch, an entity, a span of time. Out: columns for charts.
"""

from typing import Annotated

from fastapi import APIRouter, Query, Request
from fastapi.responses import Response
from pydantic import BaseModel, ConfigDict, Field

from smkc.serve.api.access import (
    REFUSALS,
    REFUSED_BODIES,
    Asking,
    Entity,
    GuardedRoute,
    Here,
    Names,
    Since,
    Until,
    Watch,
    answered,
    in_pool,
    needs,
    span,
)
from smkc.serve.api.answers import (
    LoudestAnswer,
    NewNormalsAnswer,
    PresenceAnswer,
    RefitAnswer,
    ScoresAnswer,
    TracesAnswer,
    WatchesAnswer,
)
from smkc.serve.api.routes.alerts import LOCAL

router = APIRouter(prefix="/api/v1", route_class=GuardedRoute, tags=["watches"], responses=REFUSALS)


class IsItNormal(BaseModel):
    """Answer to the question whether a variable's new normal is one."""

    model_config = ConfigDict(extra="forbid", strict=True)

    variable: Annotated[str, Field(min_length=1, max_length=65_536)]
    is_normal: bool = Field(description="false: judge it by the reference alone")


# Prefix of evidence columns in the store.
EVIDENCE = "evidence."


@router.get("/watches", response_model=WatchesAnswer, summary="Status of every watch")
@needs("read")
def watches(service: Here) -> Response:
    """Return each watch with its lanes, their latest verdicts and open alerts."""
    found = {"now": service.now(), "watches": service.watches()}
    return answered(WatchesAnswer.model_validate(found))


@router.get("/watches/{watch}/scores", response_model=ScoresAnswer, summary="Verdicts over time")
@needs("read")
def scores(
    service: Here,
    watch: Watch,
    entity: Entity = "",
    since: Since = None,
    until: Until = None,
    points: Annotated[int, Query(ge=2, le=5000, description="maximum number of points")] = 1000,
) -> Response:
    """Return a lane's verdicts as columns, thinned to at most ``points``; peaks are kept."""
    first, last = span(service, since, until)
    found = service.lane(watch, entity).journal.verdicts(first, last, points)
    columns = {name: column.tolist() for name, column in found.items()}
    evidences = [name for name in columns if name.startswith(EVIDENCE)]
    return _of_lane(
        ScoresAnswer,
        watch,
        entity,
        **columns,
        since=first,
        until=last,
        times=columns["time"],
        evidences={name.removeprefix(EVIDENCE): columns[name] for name in evidences},
    )


@router.get(
    "/watches/{watch}/presence",
    response_model=PresenceAnswer,
    summary="Presence of variables over time",
)
@needs("read")
async def presence(
    request: Request,
    service: Here,
    watch: Watch,
    entity: Entity = "",
    since: Since = None,
    until: Until = None,
    columns: Annotated[int, Query(ge=1, le=500, description="number of intervals")] = 120,
    names: Annotated[int, Query(ge=1, le=500, description="maximum number of variables")] = 100,
) -> Response:
    """Return the presence of variables over time, of those that appeared and vanished most."""
    first, last = span(service, since, until)

    def work() -> Response:
        seen = service.lane(watch, entity).journal.presence(first, last, columns, names)
        return _of_lane(
            PresenceAnswer,
            watch,
            entity,
            names=seen.names,
            n_names=seen.n_seen,
            times=seen.edges[:-1].tolist(),
            seen=seen.shares.tolist(),
        )

    return await in_pool(request, "heavy", work)


@router.get(
    "/watches/{watch}/traces", response_model=TracesAnswer, summary="Values of some variables"
)
@needs("read")
async def traces(
    request: Request,
    service: Here,
    watch: Watch,
    names: Names,
    entity: Entity = "",
    since: Since = None,
    until: Until = None,
) -> Response:
    """Return the values of some variables, and their usual bands, as far back as rows are kept."""
    first, last = span(service, since, until)

    def work() -> Response:
        lane = service.lane(watch, entity)
        traces = []
        for name, (times, values) in lane.journal.traces(
            list(dict.fromkeys(names)), first, last
        ).items():
            band = lane.usual_band(name, times)
            lower, upper = (None, None) if band is None else (end.tolist() for end in band)
            columns = {"times": times.tolist(), "values": values.tolist()}
            traces.append({"name": name, **columns, "lower": lower, "upper": upper})
        return _of_lane(TracesAnswer, watch, entity, traces=traces)

    return await in_pool(request, "heavy", work)


@router.get(
    "/watches/{watch}/loudest", response_model=LoudestAnswer, summary="Most unusual variables now"
)
@needs("read")
def loudest(service: Here, watch: Watch, entity: Entity = "") -> Response:
    """Return the most unusual variables of the latest row, whether or not there is an alert."""
    lane = service.lane(watch, entity).status(service.now())
    time = None if lane.latest is None else lane.latest.time
    return _of_lane(LoudestAnswer, watch, entity, time=time, variables=lane.loudest)


@router.get(
    "/watches/{watch}/new-normals", response_model=NewNormalsAnswer, summary="Lasting changes"
)
@needs("read")
def new_normals(service: Here, watch: Watch, entity: Entity = "") -> Response:
    """Return the variables that are judged by a new normal which nobody has confirmed."""
    lane = service.lane(watch, entity).status(service.now())
    return _of_lane(NewNormalsAnswer, watch, entity, variables=lane.new_normals)


@router.post(
    "/watches/{watch}/new-normals",
    response_model=NewNormalsAnswer,
    summary="Confirm or refuse a lasting change",
    responses=REFUSED_BODIES,
)
@needs("admin")
def answer(
    service: Here, caller: Asking, watch: Watch, content: IsItNormal, entity: Entity = ""
) -> Response:
    """Confirm a new normal, or judge its variable by the reference alone again.

    A variable whose new normal is refused is unusual until it is back to usual.
    """
    who = caller.name or LOCAL
    service.answer(watch, entity, content.variable, who, is_normal=content.is_normal)
    return new_normals(service, watch, entity)


@router.post("/watches/{watch}/refit", status_code=202, summary="Fit a new model")
@needs("admin")
def refit(
    service: Here,
    caller: Asking,
    watch: Watch,
    entity: Annotated[
        str | None, Query(max_length=1024, description="one lane; by default all of the watch")
    ] = None,
) -> RefitAnswer:
    """Start fitting a new model; the old one is used until the new one is ready."""
    entities = service.entities(watch) if entity is None else [entity]
    for one in entities:
        service.refit(watch, one, reason=f"asked for by {caller.name or 'a local user'}")
    return RefitAnswer(watch=watch, entities=tuple(entities))


def _of_lane(answer: type[BaseModel], watch: str, entity: str, **content: object) -> Response:
    """Return an answer about one lane as JSON."""
    return answered(answer.model_validate({"watch": watch, "entity": entity, **content}))
