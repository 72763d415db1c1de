"""Watches: what is followed, its scores over time, who was there, and who is to blame.

In: a watch, an entity, a span of time. Out: columns for charts, and causes.
"""

from typing import Annotated

from fastapi import APIRouter, Query, Request
from fastapi.responses import Response

from smkc.serve.api.access import GuardedRoute, needs
from smkc.serve.api.answers import (
    ExplainAnswer,
    LoudestAnswer,
    PresenceAnswer,
    RefitAnswer,
    ScoresAnswer,
    TracesAnswer,
    WatchAnswer,
    WatchesAnswer,
)
from smkc.serve.api.asking import (
    REFUSALS,
    Asking,
    Entity,
    Here,
    Names,
    Since,
    Time,
    Until,
    Watch,
    answered,
    in_pool,
    known_lane,
    span,
)
from smkc.serve.view import UnknownError, WatchStatus

__all__ = ["router"]

router = APIRouter(prefix="/api/v1", route_class=GuardedRoute, tags=["watches"], responses=REFUSALS)

# What the store puts before the name of an evidence's column.
EVIDENCE = "evidence."


@router.get("/watches", response_model=WatchesAnswer, summary="Every watch as it stands")
@needs("read")
def watches(service: Here) -> Response:
    """Return each watch with its lanes, their latest verdicts and open alerts."""
    steps = {watch.name: watch.step for watch in service.config.watches}
    found = tuple(_watch(status, steps[status.name]) for status in service.watches())
    return answered(WatchesAnswer(now=service.now(), watches=found))


@router.get("/watches/{watch}/scores", response_model=ScoresAnswer, summary="Verdicts over time")
@needs("read")
def scores(
    service: Here,
    watch: Watch,
    entity: Entity = "",
    since: Since = None,
    until: Until = None,
    points: Annotated[int, Query(ge=2, le=5000, description="at most so many")] = 1000,
) -> Response:
    """Return a lane's verdicts as columns, thinned to so many points; peaks are kept."""
    first, last = span(service, since, until)
    lane = known_lane(service, watch, entity)
    columns = {name: column.tolist() for name, column in lane.verdicts(first, last, points).items()}
    evidences = {name: column for name, column in columns.items() if name.startswith(EVIDENCE)}
    answer = ScoresAnswer.model_validate(
        {
            **columns,
            "watch": watch,
            "entity": entity,
            "since": first,
            "until": last,
            "times": columns["time"],
            "evidences": {name.removeprefix(EVIDENCE): evidences[name] for name in evidences},
        }
    )
    return answered(answer)


@router.get(
    "/watches/{watch}/presence",
    response_model=PresenceAnswer,
    summary="Which variables were seen when",
)
@needs("read")
async def presence(
    request: Request,
    service: Here,
    watch: Watch,
    entity: Entity = "",
    since: Since = None,
    until: Until = None,
    columns: Annotated[int, Query(ge=1, le=500, description="stretches of time")] = 120,
    names: Annotated[int, Query(ge=1, le=500, description="at most so many variables")] = 100,
) -> Response:
    """Return a map of names against time; those that came and went most are kept."""
    first, last = span(service, since, until)

    def work() -> Response:
        seen = known_lane(service, watch, entity).presence(first, last, columns, names)
        answer = PresenceAnswer.model_validate(
            {
                "watch": watch,
                "entity": entity,
                "names": seen.names,
                "n_names": seen.n_seen,
                "times": seen.edges[:-1].tolist(),
                "seen": seen.shares.tolist(),
            }
        )
        return answered(answer)

    answer: Response = await in_pool(request, "heavy", work)
    return answer


@router.get(
    "/watches/{watch}/traces", response_model=TracesAnswer, summary="The values of some variables"
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
    """Return what was read of some variables, as far back as rows are kept."""
    first, last = span(service, since, until)

    def work() -> Response:
        lane = known_lane(service, watch, entity)
        found = lane.traces(list(dict.fromkeys(names)), first, last)
        answer = TracesAnswer.model_validate(
            {
                "watch": watch,
                "entity": entity,
                "traces": [
                    {"name": name, "times": times.tolist(), "values": values.tolist()}
                    for name, (times, values) in found.items()
                ],
            }
        )
        return answered(answer)

    answer: Response = await in_pool(request, "heavy", work)
    return answer


@router.get(
    "/watches/{watch}/loudest", response_model=LoudestAnswer, summary="What is most unusual now"
)
@needs("read")
def loudest(service: Here, watch: Watch, entity: Entity = "") -> Response:
    """Return the variables that are most unusual in the latest row, whether or not it alerts."""
    known_lane(service, watch, entity)
    lanes = [lane for one in service.watches() if one.name == watch for lane in one.lanes]
    lane = next(lane for lane in lanes if lane.entity == entity)
    time = None if lane.latest is None else lane.latest.time
    who = {"watch": watch, "entity": entity, "time": time}
    return answered(LoudestAnswer.model_validate({**who, "variables": lane.loudest}))


@router.get("/explain", response_model=ExplainAnswer, summary="Who is to blame at a time")
@needs("read")
async def explain(
    request: Request,
    service: Here,
    watch: Annotated[str, Query(pattern=r"^[a-zA-Z0-9_.-]{1,64}$")],
    time: Time,
    entity: Entity = "",
) -> Response:
    """Return the causes of a row, most guilty first."""

    def work() -> Response:
        known_lane(service, watch, entity)
        found = service.explain(watch, entity, time)
        who = {"watch": watch, "entity": entity, "time": time}
        answer = ExplainAnswer.model_validate(
            {**who, "causes_at": found.time, "causes": found.causes}
        )
        return answered(answer)

    answer: Response = await in_pool(request, "heavy", work)
    return answer


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
    """Fit a new model beside the old one, which goes on until the new one takes over."""
    status = next((one for one in service.watches() if one.name == watch), None)
    if status is None:
        raise UnknownError("there is no watch of this name; /api/v1/watches lists them")
    entities = [lane.entity for lane in status.lanes if entity is None or lane.entity == entity]
    if not entities:
        raise UnknownError(f"watch {watch!r} has no such lane; /api/v1/watches lists them")
    for one in entities:
        service.refit(watch, one, reason=f"asked for by {caller.name or 'a local user'}")
    return RefitAnswer(watch=watch, entities=tuple(entities))


def _watch(status: WatchStatus, step: int) -> WatchAnswer:
    known = {name: getattr(status, name) for name in WatchAnswer.model_fields if name != "step"}
    return WatchAnswer.model_validate({**known, "step": step})
