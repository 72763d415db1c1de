"""Metrics: scores of every lane and the health of the service, for Prometheus to scrape.

In: a running service. Out: the text of ``/metrics``.

Scores are those of the lane's latest row. If no row has arrived for longer than Prometheus looks
back, the scores of the lane are omitted, so that an old score does not look like a new one.
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from prometheus_client import CollectorRegistry, ProcessCollector, generate_latest
from prometheus_client.core import CounterMetricFamily as Counter
from prometheus_client.core import GaugeMetricFamily as Gauge
from prometheus_client.core import Metric
from prometheus_client.registry import Collector

from smkc.serve.service import Service
from smkc.serve.view import PHASES, LaneStatus, WatchStatus
from smkc.version import VERSION

if TYPE_CHECKING:
    from smkc.serve.delivery import ReceiverStatus

CONTENT_TYPE = "text/plain; version=0.0.4; charset=utf-8"

# Milliseconds after the next row was due; the default of Prometheus' --query.lookback-delta.
STALE_AFTER = 300_000

LANE = ("watch", "entity")
RECEIVER = ("kind", "receiver")

# Field of a record -> name and description of its metric.
Fields = Mapping[str, tuple[str, str]]
VERDICT_GAUGES: Fields = {
    "anomaly": (
        "anomaly_score",
        "Anomaly of the latest row; more than 1 exceeds the configured rate of false alarms.",
    ),
    "p_value": ("smkc_p_value", "P-value of the latest row."),
    "cardinality": ("smkc_cardinality", "Variables in the latest row."),
}
LANE_COUNTERS: Fields = {
    "rows": ("smkc_rows", "Total number of rows."),
    "refused": ("smkc_refused_variables", "Variables left out because of max_series."),
    "set_aside": ("smkc_rows_set_aside", "Rows that could not be stored or judged."),
}
SELF_TEST_GAUGES: Fields = {
    "planted": (
        "smkc_self_test_planted",
        "Large anomalies that were planted in copies of the rows learned from.",
    ),
    "caught": ("smkc_self_test_caught", "How many of them would raise an alert."),
}
WATCH_COUNTERS: Fields = {
    "late": ("smkc_late_samples", "Pushed samples that arrived after their row was closed."),
    "duplicates": ("smkc_duplicate_samples", "Pushed samples that arrived more than once."),
    "refused": ("smkc_refused_samples", "Samples and variables beyond the limits."),
    "infinite": ("smkc_infinite_values", "Infinite values, which count as not observed."),
}
WATCH_GAUGES: Fields = {"inbox": ("smkc_inbox", "Pushed bodies that wait for their rows to close.")}
RECEIVER_COUNTERS: Fields = {
    "sent": ("smkc_receiver_sent", "Requests that a receiver accepted."),
    "failed": (
        "smkc_receiver_failed",
        "Requests that a receiver did not accept; most are retried.",
    ),
    "given_up": ("smkc_receiver_dropped", "Messages that were dropped."),
}
RECEIVER_GAUGES: Fields = {
    "waiting": ("smkc_receiver_waiting", "Messages that wait to be sent."),
}

# Kinds exported as 0 before the first failure: rate() cannot see the first increment of a counter
# that does not exist before it.
ERRORS = ("source", "store", "decode", "unexpected")


def render(service: Service) -> bytes:
    """Return the metrics in Prometheus' text format."""
    registry = CollectorRegistry()
    registry.register(_Service(service))
    ProcessCollector(registry=registry)
    return generate_latest(registry)


class _Service(Collector):
    """Collector that turns the state of a service into metrics on each scrape."""

    def __init__(self, service: Service) -> None:
        self._service = service

    def collect(self) -> Iterator[Metric]:
        watches = self._service.watches()
        due = {
            watch.name: watch.step + watch.lateness + STALE_AFTER
            for watch in self._service.config.watches
        }
        lanes = [lane for watch in watches for lane in watch.lanes]
        yield from _scores([lane for lane in lanes if lane.lag <= due.get(lane.watch, STALE_AFTER)])
        yield from _lanes(lanes)
        yield from _watches(watches)
        store = self._service.store
        spans = Gauge(
            "smkc_spans", "Spans that users or silences marked.", labels=("watch", "kind")
        )
        for watch in watches:
            for kind, count in store.spans.counts(watch.name).items():
                spans.add_metric([watch.name, kind], count)
        yield spans
        yield Gauge("smkc_incident_open", "Number of open incidents.", store.n_open_incidents())
        yield Gauge("smkc_outbox_waiting", "Messages that wait to be sent.", store.n_waiting())
        yield Gauge("smkc_store_bytes", "Size of the history on disk.", store.size_bytes())
        receivers = self._service.receivers()
        named = list(zip(_receiver_labels(receivers), receivers, strict=True))
        yield from _each(Counter, RECEIVER, RECEIVER_COUNTERS, named)
        yield from _each(Gauge, RECEIVER, RECEIVER_GAUGES, named)
        health = self._service.health()
        yield Gauge("smkc_healthy", "Whether there is no problem; /healthz lists them.", health.ok)
        yield Gauge("smkc_ready", "Whether every watch can take new rows.", self._service.is_ready)
        yield Gauge("smkc_problems", "Number of current problems.", len(health.problems))
        build = Gauge("smkc_build_info", "Version of smkc.", labels=["version"])
        build.add_metric([VERSION], 1)
        yield build


def _scores(lanes: list[LaneStatus]) -> Iterator[Metric]:
    """Yield the metrics of each lane's latest row."""
    judged = [(_whose(lane), lane, lane.latest) for lane in lanes if lane.latest is not None]
    yield from _each(Gauge, LANE, VERDICT_GAUGES, [(whose, said) for whose, _, said in judged])
    evidence = Gauge(
        "smkc_evidence_nats",
        "Nats of each evidence in the latest row; evidences without a contribution are omitted.",
        labels=(*LANE, "evidence"),
    )
    observed = Gauge(
        "smkc_observed",
        "Value of the variables that are most unusual in the latest row.",
        labels=(*LANE, "variable"),
    )
    expected = Gauge(
        "smkc_expected",
        "Usual band of these variables, if it is known.",
        labels=(*LANE, "variable", "bound"),
    )
    for whose, lane, verdict in judged:
        for name, nats in verdict.evidences.items():
            evidence.add_metric([*whose, name], nats)
        for one in lane.loudest:
            who = [*whose, _utf8(one.variable)]
            if one.value is not None:
                observed.add_metric(who, one.value)
            for end, value in (("lower", one.lower), ("upper", one.upper)):
                if value is not None:
                    expected.add_metric([*who, end], value)
    yield from (evidence, observed, expected)


def _lanes(lanes: list[LaneStatus]) -> Iterator[Metric]:
    """Yield counters, lag, alert state and self-test results of each lane."""
    churn = Counter("smkc_churn", "Variables that appeared or vanished.", labels=(*LANE, "change"))
    lag = Gauge("smkc_lag_seconds", "Time since the end of the latest row.", labels=LANE)
    is_open = Gauge("smkc_alert_open", "Whether an alert is open.", labels=LANE)
    for lane in lanes:
        whose = _whose(lane)
        churn.add_metric([*whose, "appeared"], lane.appeared)
        churn.add_metric([*whose, "vanished"], lane.vanished)
        is_open.add_metric(whose, lane.alert is not None)
        if lane.last_time is not None:
            lag.add_metric(whose, lane.lag / 1000)
    yield from (churn, lag, is_open)
    yield from _each(Counter, LANE, LANE_COUNTERS, [(_whose(lane), lane) for lane in lanes])
    for field, (name, about) in SELF_TEST_GAUGES.items():
        metric = Gauge(name, about, labels=(*LANE, "kind"))
        for lane in lanes:
            for kind, counts in (lane.self_test.kinds if lane.self_test else {}).items():
                metric.add_metric([*_whose(lane), kind], counts[field])
        yield metric


def _watches(watches: list[WatchStatus]) -> Iterator[Metric]:
    """Yield failures, counts of omitted samples, inbox size and phase of each watch."""
    errors = Counter("smkc_errors", "Failures that were retried.", labels=("watch", "kind"))
    phase = Gauge(
        "smkc_phase",
        "Phase of a watch: 1 for the current phase, else 0.",
        labels=("watch", "phase"),
    )
    for watch in watches:
        for kind, count in {**dict.fromkeys(ERRORS, 0), **watch.errors}.items():
            errors.add_metric([watch.name, kind], count)
        for name in PHASES:
            phase.add_metric([watch.name, name], name == watch.phase)
    yield from (errors, phase)
    named = [([watch.name], watch) for watch in watches]
    yield from _each(Counter, ("watch",), WATCH_COUNTERS, named)
    yield from _each(Gauge, ("watch",), WATCH_GAUGES, named)


def _each(
    family: type[Counter] | type[Gauge],
    labels: Sequence[str],
    fields: Fields,
    records: Sequence[tuple[list[str], object]],
) -> Iterator[Metric]:
    """Yield a metric for each field of some records, given with their label values."""
    for field, (name, about) in fields.items():
        metric = family(name, about, labels=labels)
        for whose, record in records:
            metric.add_metric(whose, getattr(record, field))
        yield metric


def _receiver_labels(receivers: "Sequence[ReceiverStatus]") -> list[list[str]]:
    """Return the kind and a unique name of each receiver.

    Of a URL only the host is shown, since the path may contain a secret. Receivers of one kind that
    share a host are numbered in the order of the configuration.
    """
    found: list[list[str]] = []
    for receiver in receivers:
        is_named = receiver.kind == "webhook"
        shown = _utf8(receiver.name if is_named else urlsplit(receiver.name).netloc)
        label, number = shown, 2
        while [receiver.kind, label] in found:
            label, number = f"{shown} {number}", number + 1
        found.append([receiver.kind, label])
    return found


def _whose(lane: LaneStatus) -> list[str]:
    """Return the values of a lane's labels."""
    return [lane.watch, _utf8(lane.entity)]


def _utf8(text: str) -> str:
    return text.encode("utf-8", "replace").decode()
