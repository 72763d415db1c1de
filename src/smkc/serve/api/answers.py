"""Answers: pydantic models of the API's JSON, with the descriptions for its OpenAPI document.

In: the service's records. Out: pydantic models. Times are milliseconds since 1970, UTC; infinite
numbers and NaN, which JSON cannot represent, become null.
"""

import math
from collections.abc import Mapping
from typing import Annotated, Any

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field


def _finite(value: Any) -> Any:
    if value is None:
        return None
    number = float(value)
    return number if math.isfinite(number) else None


def _utf8(value: Any) -> Any:
    """Replace lone surrogates, which UTF-8 cannot encode."""
    return value.encode("utf-8", "replace").decode() if isinstance(value, str) else value


Number = Annotated[float | None, BeforeValidator(_finite)]
Text = Annotated[str, BeforeValidator(_utf8)]


class Answer(BaseModel):
    """Base class of all answers; fields are read from the attributes of records."""

    model_config = ConfigDict(from_attributes=True, frozen=True)


class OfLane(Answer):
    """Base class of answers about one lane."""

    watch: Text = Field(description="a watch's name")
    entity: Text = Field(description="empty if the watch is not split")


class Problem(Answer):
    """Error of a request."""

    error: Text = Field(description="one sentence: what is wrong, and the remedy")


class CauseAnswer(Answer):
    """A variable that contributed to an alert."""

    variable: Text = Field(description="its identifier")
    share: Number = Field(description="its share of the deviation, 0 to 1")
    kind: Text = Field(description="level, jump, frozen, relation, presence, peers or newcomer")
    joint_with: tuple[Text, ...] = Field(description="variables that share this cause")
    detail: Text = Field(description="description of the change")
    reason: Text = Field("", description="question or evidence that found it, such as long level")
    query: Text = Field("", description="PromQL that selects it; empty if there is none")
    links: Mapping[Text, Text] = Field(
        default_factory=dict, description="URLs of pages that plot the query, by name"
    )


class VerdictAnswer(Answer):
    """Verdict on one row."""

    number: int = Field(description="number of the row; the lane's first row is 0")
    time: int = Field(description="of the row")
    score: Number = Field(description="of the detector; higher is more anomalous")
    p_value: Number = Field(description="probability of so high a score in normal data")
    anomaly: Number = Field(description="more than 1 is anomalous")
    cardinality: int = Field(description="number of variables in the row")
    appeared: int = Field(description="number of variables that the previous row lacked")
    vanished: int = Field(description="number of variables that only the previous row had")
    evidences: Mapping[Text, Number] = Field(description="nats of each evidence")


class AcknowledgementAnswer(Answer):
    """An acknowledgement of an alert."""

    by: Text = Field(description="who acknowledged it")
    at: int = Field(description="time of the acknowledgement")
    note: Text


class AlertAnswer(OfLane):
    """An alert: an interval of rows past the threshold."""

    id: Text = Field(description="16 hexadecimal digits")
    start: int = Field(description="time of its first row")
    end: int = Field(description="time of the latest anomalous row")
    peak: int = Field(description="time of its most anomalous row")
    first_row: int = Field(description="number of its first row")
    last_row: int = Field(description="number of the last row past the release threshold")
    peak_row: int = Field(description="number of its most anomalous row")
    anomaly: Number = Field(description="at the peak; more than 1 is anomalous")
    p_value: Number = Field(description="at the peak")
    is_open: bool = Field(description="whether it has not closed yet")
    is_muted: bool = Field(
        description="whether no receiver was notified, as it began during maintenance"
    )
    evidences: Mapping[Text, Number] = Field(description="nats of each evidence at the peak")
    causes_at: int = Field(
        description="time of the explained row: the peak, or an earlier row of an open alert"
    )
    causes_anomaly: Number = Field(description="of that row")
    causes: tuple[CauseAnswer, ...] = Field(description="of that row, largest share first")
    acknowledged_by: Text | None = Field(None, description="who acknowledged it last")
    acknowledged_at: int | None = Field(None, description="time of the last acknowledgement")
    note: Text | None = Field(None, description="note of the last acknowledgement")
    acknowledgements: tuple[AcknowledgementAnswer, ...] = Field(
        (), description="all acknowledgements, newest first"
    )
    feedback: Text | None = Field(None, description="who marked it as normal")
    incident: Text | None = Field(None, description="id of its incident; null if it has none")


class AlertsAnswer(Answer):
    """A page of alerts, newest first."""

    alerts: tuple[AlertAnswer, ...]
    next: str | None = Field(description="value of before for the next page; null at the end")


class SpanAnswer(Answer):
    """A marked span of time."""

    id: int = Field(description="0 for spans of the configuration, which cannot be changed here")
    watch: Text = Field(description="a watch's name")
    entity: Text | None = Field(description="null if it concerns the whole watch")
    kind: Text = Field(description="maintenance, missed or deploy")
    start: int
    end: int | None = Field(description="null if it goes on")
    who: Text = Field(description="who marked it")
    note: Text


class SpansAnswer(Answer):
    """Marked spans of a watch, newest first."""

    spans: tuple[SpanAnswer, ...]
    counts: Mapping[Text, int] = Field(
        description="number of spans that users or silences marked, by kind, whenever they were"
    )


class PlantedAnswer(Answer):
    """Number of anomalies of one kind in a self-test."""

    planted: int
    caught: int


class SelfTestAnswer(Answer):
    """Result of testing a model with anomalies planted in the rows that it was fitted to."""

    verdict: Text = Field(description="yes, partly, no or unknown")
    planted: int = Field(description="number of large anomalies that were planted")
    caught: int = Field(description="how many of them would raise an alert")
    kinds: Mapping[Text, PlantedAnswer] = Field(
        description="the same by kind of anomaly; empty if the test is older than these numbers"
    )
    rows: int = Field(description="number of rows that the test learned from and judged")
    reason: Text = Field(
        description="the problems that were found, such as kinds that are missed, or why the test "
        "failed; else empty"
    )
    remedy: Text = Field(description="a setting that would catch more; empty if none was found")


class LaneAnswer(OfLane):
    """Status of one lane."""

    phase: Text = Field(description="backfilling, collecting, fitting, following or waiting")
    rows: int = Field(description="total number of rows")
    rows_needed: int = Field(description="rows at which the first model is fitted; 0 once it is")
    time_left: Text = Field(description="time left until then, and what would shorten it")
    series: int = Field(description="variables in the latest row")
    last_time: int | None = Field(description="of the latest row")
    lag: int = Field(description="milliseconds from the end of the latest row to now")
    appeared: int = Field(description="variables that appeared since the service started")
    vanished: int = Field(description="variables that vanished since the service started")
    refused: int = Field(description="variables beyond max_series since the service started")
    set_aside: int = Field(description="rows set aside since the service started")
    window: int = Field(description="rows per window of the model; 0 before the first fit")
    fitted_at: int | None = Field(description="number of the first row judged by the model")
    is_refitting: bool = Field(description="whether a new model is being fitted")
    latest: VerdictAnswer | None = Field(description="verdict on the latest row")
    alert: AlertAnswer | None = Field(description="the open alert")
    self_test: SelfTestAnswer | None = Field(description="null until it is known")
    problems: tuple[Text, ...] = Field(description="sentences that describe current problems")


class WatchAnswer(Answer):
    """Status of one watch."""

    name: Text
    source: Text = Field(description="prometheus or push")
    step: int = Field(description="milliseconds per row")
    phase: Text = Field(description="waiting, backfilling, fitting, collecting or following")
    progress: float = Field(description="share of the history that was fetched, 0 to 1")
    lag: int = Field(description="smallest lag of its lanes, in milliseconds")
    rows: int
    series: int
    last_error: Text = Field(description="message of the current failure; empty once it is over")
    errors: Mapping[Text, int] = Field(description="failures since the service started, by kind")
    late: int = Field(description="pushed samples that arrived too late")
    duplicates: int = Field(description="pushed samples that arrived more than once")
    refused: int = Field(description="samples and variables beyond the limits")
    infinite: int = Field(description="infinite values, which count as not observed")
    inbox: int = Field(description="pushed bodies that wait for their rows to close")
    lanes: tuple[LaneAnswer, ...]
    problems: tuple[Text, ...]


class WatchesAnswer(Answer):
    """Status of every watch."""

    now: int = Field(description="the service's time")
    watches: tuple[WatchAnswer, ...]


class ScoresAnswer(OfLane):
    """Verdicts over time, as columns of equal length.

    If thinned, each point is the most anomalous row of its interval.
    """

    since: int
    until: int
    times: tuple[int, ...]
    score: tuple[Number, ...]
    p_value: tuple[Number, ...]
    anomaly: tuple[Number, ...]
    cardinality: tuple[int, ...]
    appeared: tuple[int, ...] = Field(description="sum over the interval of a point")
    vanished: tuple[int, ...] = Field(description="sum over the interval of a point")
    evidences: Mapping[Text, tuple[Number, ...]] = Field(
        description="nats; one column per evidence"
    )


class PresenceAnswer(OfLane):
    """Presence of variables over time."""

    names: tuple[Text, ...] = Field(description="variables that appeared and vanished most")
    n_names: int = Field(description="total number of variables seen")
    times: tuple[int, ...] = Field(description="start of each interval")
    seen: tuple[tuple[Number, ...], ...] = Field(
        description="one row per name, one column per interval: share of rows that had it, 0 to 1; "
        "null without rows"
    )


class TraceAnswer(Answer):
    """Values of one variable."""

    name: Text
    times: tuple[int, ...]
    values: tuple[Number, ...]
    lower: tuple[Number, ...] | None = Field(
        description="lower end of its usual band at these times, by the current model; null for "
        "counters and newcomers"
    )
    upper: tuple[Number, ...] | None = Field(description="upper end of the band")


class TracesAnswer(OfLane):
    """Values of several variables."""

    traces: tuple[TraceAnswer, ...]


class LoudVariableAnswer(Answer):
    """A variable that is unusual by itself."""

    variable: Text = Field(description="its identifier")
    kind: Text = Field(description="kind of the deviation, as for a cause")
    p_value: Number = Field(
        description="how often it is as unusual in normal data, by itself: of many variables "
        "some always are"
    )
    value: Number = Field(description="value in the row; null if it is absent")
    lower: Number = Field(
        description="lower end of its usual band; null for counters and newcomers"
    )
    upper: Number = Field(description="upper end of the band")
    detail: Text = Field(description="description of the deviation")


class LoudestAnswer(OfLane):
    """The most unusual variables of the latest row, whether or not there is an alert."""

    time: int | None = Field(description="of the latest row that was judged; null before the first")
    variables: tuple[LoudVariableAnswer, ...] = Field(description="most unusual first")


class NewNormalAnswer(Answer):
    """A variable that has been unusual for so long that it is judged by what it does since."""

    variable: Text
    since: int | None = Field(description="when the change began; null if that is too long ago")
    before: Number = Field(description="usual value in the reference; null for roles")
    now: Number = Field(description="mean since the change; null for roles. Rates for counters")


class NewNormalsAnswer(OfLane):
    """Lasting changes that wait for an answer."""

    variables: tuple[NewNormalAnswer, ...] = Field(description="the latest first")


class RefitAnswer(Answer):
    """Lanes for which a new model is being fitted; the old one is used until it is ready."""

    watch: Text
    entities: tuple[Text, ...] = Field(description="entities of the lanes that are refitted")


class ReceivedAnswer(Answer):
    """Result of pushing samples."""

    samples: int = Field(description="number of samples accepted")
    watches: tuple[Text, ...] = Field(description="names of the watches that accepted some")


class HealthAnswer(Answer):
    """Health of the service."""

    ok: bool = Field(description="whether there is no problem")
    n_problems: int
    problems: tuple[Text, ...] = Field(description="sentences; only for callers who may read")


class SessionAnswer(Answer):
    """Name and role of the caller."""

    needs_token: bool = Field(description="whether the service has tokens at all")
    name: str | None = Field(description="of the token; null without a valid one")
    role: str | None = Field(description="read, write or admin; null without a valid one")
