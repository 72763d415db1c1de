"""Answers: the shapes of the API's JSON, with the sentences that its description is made of.

In: the service's records. Out: pydantic models. Times are milliseconds since 1970, UTC; numbers
that JSON cannot hold (infinite, not a number) become null.
"""

import math
from collections.abc import Mapping
from typing import Annotated, Any

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field

__all__ = [
    "AlertAnswer",
    "AlertsAnswer",
    "CauseAnswer",
    "ExplainAnswer",
    "HealthAnswer",
    "LaneAnswer",
    "LoudVariableAnswer",
    "LoudestAnswer",
    "Number",
    "PresenceAnswer",
    "Problem",
    "ReceivedAnswer",
    "RefitAnswer",
    "ScoresAnswer",
    "SelfTestAnswer",
    "SessionAnswer",
    "Text",
    "TraceAnswer",
    "TracesAnswer",
    "VerdictAnswer",
    "WatchAnswer",
    "WatchesAnswer",
]


def _finite(value: Any) -> Any:
    if value is None:
        return None
    number = float(value)
    return number if math.isfinite(number) else None


def _utf8(value: Any) -> Any:
    """Replace halves of signs (lone surrogates), which UTF-8 cannot hold."""
    return value.encode("utf-8", "replace").decode() if isinstance(value, str) else value


Number = Annotated[float | None, BeforeValidator(_finite)]
Text = Annotated[str, BeforeValidator(_utf8)]


class Answer(BaseModel):
    """What all answers share: they are read from records, field by field."""

    model_config = ConfigDict(from_attributes=True, frozen=True)


class OfLane(Answer):
    """What answers about one recording share: whose it is."""

    watch: Text = Field(description="a watch's name")
    entity: Text = Field(description="empty where the watch is not split")


class Problem(Answer):
    """Why a request was not answered as asked."""

    error: Text = Field(description="one sentence: what is wrong, and the remedy")


class CauseAnswer(Answer):
    """A variable that contributed to an alert."""

    variable: Text = Field(description="its identifier")
    share: Number = Field(description="its part of the deviation, 0 to 1")
    kind: Text = Field(description="level, jump, relation, shape, presence or newcomer")
    joint_with: tuple[Text, ...] = Field(description="variables that the share belongs to as well")
    detail: Text = Field(description="the change in words")
    query: Text = Field("", description="PromQL that shows it; empty where there is none")
    links: Mapping[Text, Text] = Field(
        default_factory=dict, description="addresses by name at which the query is drawn"
    )


class VerdictAnswer(Answer):
    """What is said of one row."""

    number: int = Field(description="counts the rows of the lane from 0")
    time: int = Field(description="of the row")
    score: Number = Field(description="of the detector; higher is more anomalous")
    p_value: Number = Field(description="how likely so high a score is while all is normal")
    anomaly: Number = Field(description="more than 1 is anomalous")
    cardinality: int = Field(description="variables in the row")
    appeared: int = Field(description="variables that the row before lacked")
    vanished: int = Field(description="variables of the row before that are gone")
    evidences: Mapping[Text, Number] = Field(description="nats of each evidence")


class AlertAnswer(OfLane):
    """An alert: an interval of rows past the threshold."""

    id: Text = Field(description="16 hexadecimal digits")
    start: int = Field(description="time of its first row")
    end: int = Field(description="time of the latest row in which the trouble shows")
    peak: int = Field(description="time of its worst row")
    first_row: int = Field(description="number of the row at its start")
    last_row: int = Field(description="number of the latest row that was not calm")
    peak_row: int = Field(description="number of its worst row")
    anomaly: Number = Field(description="at the peak; more than 1 is anomalous")
    p_value: Number = Field(description="at the peak")
    is_open: bool = Field(description="whether it goes on")
    evidences: Mapping[Text, Number] = Field(description="nats of each evidence at the peak")
    causes_at: int = Field(
        description="time of the row that was explained: the peak, or a row before while it goes on"
    )
    causes_anomaly: Number = Field(description="of that row")
    causes: tuple[CauseAnswer, ...] = Field(description="of that row, most guilty first")
    acknowledged_by: Text | None = Field(None, description="who has seen it")
    acknowledged_at: int | None = Field(None, description="when that was")
    note: Text | None = Field(None, description="what was said on acknowledging")
    feedback: Text | None = Field(None, description="who said that it was normal")


class AlertsAnswer(Answer):
    """A page of alerts, newest first."""

    alerts: tuple[AlertAnswer, ...]
    next: str | None = Field(description="ask with before=this for the next page; null at the end")


class SelfTestAnswer(Answer):
    """What a model would catch, from anomalies planted in the rows that it learned from."""

    verdict: Text = Field(description="yes, partly, no or unknown")
    planted: int = Field(description="large anomalies that were planted")
    caught: int = Field(description="how many of them would raise an alert")
    rows: int = Field(description="rows that were learned from and judged for it")
    reason: Text = Field(description="why it is not more; empty if nothing stands in the way")
    remedy: Text = Field(description="a setting that would catch more; empty if none was found")


class LaneAnswer(OfLane):
    """One recording that is followed."""

    phase: Text = Field(description="backfilling, collecting, fitting, following or waiting")
    rows: int = Field(description="rows ever taken")
    rows_needed: int = Field(description="rows at which the first model is fitted; 0 once it is")
    time_left: Text = Field(description="how long that takes yet, and what would shorten it")
    series: int = Field(description="variables in the latest row")
    last_time: int | None = Field(description="of the latest row")
    lag: int = Field(description="milliseconds from the end of the latest row to now")
    appeared: int = Field(description="variables that came, since the service started")
    vanished: int = Field(description="variables that went, since the service started")
    refused: int = Field(description="variables beyond the limit, since the service started")
    set_aside: int = Field(description="rows that could not be taken, since the service started")
    window: int = Field(description="rows per window of the model; 0 before the first fit")
    fitted_at: int | None = Field(description="row before which the model took over")
    is_refitting: bool = Field(description="whether a new model is being fitted")
    latest: VerdictAnswer | None = Field(description="what was said of the latest row")
    alert: AlertAnswer | None = Field(description="the alert that is open")
    self_test: SelfTestAnswer | None = Field(description="null until it is known")
    problems: tuple[Text, ...] = Field(description="what is not as it should be")


class WatchAnswer(Answer):
    """One entry of the configuration."""

    name: Text
    source: Text = Field(description="prometheus or push")
    step: int = Field(description="milliseconds per row")
    phase: Text = Field(description="that of its least advanced lane")
    progress: float = Field(description="share of the history that was fetched, 0 to 1")
    lag: int = Field(description="milliseconds, the largest of its lanes")
    rows: int
    series: int
    last_error: Text = Field(description="what failed last; empty once it works again")
    errors: Mapping[Text, int] = Field(description="failures since the service started, by kind")
    late: int = Field(description="pushed samples that came too late")
    duplicates: int = Field(description="pushed samples that came twice")
    refused: int = Field(description="pushed samples beyond the limits")
    infinite: int = Field(description="infinite values, which count as not observed")
    inbox: int = Field(description="pushed bodies that wait for their rows to close")
    lanes: tuple[LaneAnswer, ...]
    problems: tuple[Text, ...]


class WatchesAnswer(Answer):
    """Every watch as it stands."""

    now: int = Field(description="the service's time")
    watches: tuple[WatchAnswer, ...]


class ScoresAnswer(OfLane):
    """Verdicts over time, as columns of equal length; thinned, the worst of each stretch kept."""

    since: int
    until: int
    times: tuple[int, ...]
    score: tuple[Number, ...]
    p_value: tuple[Number, ...]
    anomaly: tuple[Number, ...]
    cardinality: tuple[int, ...]
    appeared: tuple[int, ...] = Field(description="sums over the stretch of a point")
    vanished: tuple[int, ...] = Field(description="sums over the stretch of a point")
    evidences: Mapping[Text, tuple[Number, ...]] = Field(description="nats, a column an evidence")


class PresenceAnswer(OfLane):
    """Which variables were seen when."""

    names: tuple[Text, ...] = Field(description="variables that came and went most")
    n_names: int = Field(description="how many variables were seen in all")
    times: tuple[int, ...] = Field(description="when each stretch begins")
    seen: tuple[tuple[Number, ...], ...] = Field(
        description="a row a name, a column a stretch: share of the rows that held it, 0 to 1; "
        "null without rows"
    )


class TraceAnswer(Answer):
    """One variable's values."""

    name: Text
    times: tuple[int, ...]
    values: tuple[Number, ...]


class TracesAnswer(OfLane):
    """The values of some variables."""

    traces: tuple[TraceAnswer, ...]


class ExplainAnswer(OfLane):
    """Who is to blame at a time."""

    time: int = Field(description="that was asked for")
    causes_at: int = Field(
        description="time of the row that was explained: another one of the alert, if the row "
        "asked for is remembered no more"
    )
    causes: tuple[CauseAnswer, ...] = Field(description="most guilty first")


class LoudVariableAnswer(Answer):
    """A variable that is unusual by itself."""

    variable: Text = Field(description="its identifier")
    kind: Text = Field(description="what is unusual about it, as of a cause")
    p_value: Number = Field(
        description="how often it is as unusual while all is normal, by itself: of many variables "
        "some always are"
    )
    value: Number = Field(description="in the row; null if it is not there")
    lower: Number = Field(description="end of its usual band; null for counters and newcomers")
    upper: Number = Field(description="the other end")
    detail: Text = Field(description="the same in words")


class LoudestAnswer(OfLane):
    """What is most unusual now, whether or not anything alerts."""

    time: int | None = Field(description="of the latest row that was judged; null before the first")
    variables: tuple[LoudVariableAnswer, ...] = Field(description="the loudest first")


class RefitAnswer(Answer):
    """A new model is being fitted; the old one goes on until it is ready."""

    watch: Text
    entities: tuple[Text, ...] = Field(description="of the lanes that are fitted anew")


class ReceivedAnswer(Answer):
    """What became of pushed samples."""

    samples: int = Field(description="how many were taken")
    watches: tuple[Text, ...] = Field(description="which watches took some")


class HealthAnswer(Answer):
    """How the service is."""

    ok: bool = Field(description="whether there is no problem")
    n_problems: int
    problems: tuple[Text, ...] = Field(description="sentences; only for callers who may read")


class SessionAnswer(Answer):
    """Who the caller is to the service."""

    needs_token: bool = Field(description="whether the service has tokens at all")
    name: str | None = Field(description="of the token; null without a valid one")
    role: str | None = Field(description="read, write or admin; null without a valid one")
