"""Metrics: what Prometheus may scrape: scores of every lane, and the service's own health.

In: a running service. Out: the text of ``/metrics``.

A score is that of the lane's latest row. Once that row is older than Prometheus itself would look
back, the lane's scores are left out: an old score must not look like a new one.
"""

import os
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from prometheus_client import CollectorRegistry, ProcessCollector, generate_latest
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, Metric
from prometheus_client.registry import Collector

from smkc.serve.view import PHASES, LaneStatus, ServiceView, WatchStatus
from smkc.version import VERSION

if TYPE_CHECKING:
    from smkc.serve.delivery import ReceiverStatus
    from smkc.serve.store import Store

__all__ = ["CONTENT_TYPE", "STALE_AFTER", "render"]

CONTENT_TYPE = "text/plain; version=0.0.4; charset=utf-8"

# Milliseconds past a row's due time; Prometheus' own --query.lookback-delta.
STALE_AFTER = 300_000

LANE = ("watch", "entity")
RECEIVER = ("kind", "receiver")

# Told as 0 before they happen: a counter that appears with its first failure hides that one.
ERRORS = ("source", "store", "model", "decode")


def render(service: ServiceView) -> bytes:
    """Return the metrics in Prometheus' text format."""
    registry = CollectorRegistry()
    registry.register(_Service(service))
    ProcessCollector(registry=registry)
    return generate_latest(registry)


class _Service(Collector):
    """Turns the state of a service into metrics, each time it is asked."""

    def __init__(self, service: ServiceView) -> None:
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
        yield from _store(self._service.store)
        yield from _receivers(self._service.receivers())
        health = self._service.health()
        yield _gauge("smkc_healthy", "Whether nothing is wrong; /healthz says what is.", health.ok)
        yield _gauge("smkc_ready", "Whether every watch takes rows.", self._service.is_ready)
        yield _gauge("smkc_problems", "Sentences on what is wrong.", len(health.problems))
        resident = _resident_bytes()
        if resident is not None:
            yield _gauge("smkc_resident_bytes", "Memory that the process occupies.", resident)
        build = GaugeMetricFamily("smkc_build_info", "Version in use.", labels=["version"])
        build.add_metric([VERSION], 1)
        yield build


def _scores(lanes: list[LaneStatus]) -> Iterator[Metric]:
    """Yield what was said of each lane's latest row."""
    anomaly = GaugeMetricFamily(
        "anomaly_score",
        "How anomalous the latest row is: more than 1 is past the rate of false alarms asked for.",
        labels=LANE,
    )
    p_value = GaugeMetricFamily("smkc_p_value", "P-value of the latest row.", labels=LANE)
    cardinality = GaugeMetricFamily("smkc_cardinality", "Variables in the latest row.", labels=LANE)
    evidence = GaugeMetricFamily(
        "smkc_evidence_nats",
        "What each evidence says against the latest row; those with nothing to say are left out.",
        labels=[*LANE, "evidence"],
    )
    observed = GaugeMetricFamily(
        "smkc_observed",
        "Value of the variables that are most unusual in the latest row.",
        labels=[*LANE, "variable"],
    )
    expected = GaugeMetricFamily(
        "smkc_expected",
        "Between which values these usually are, where that is known.",
        labels=[*LANE, "variable", "bound"],
    )
    for lane in lanes:
        if lane.latest is None:
            continue
        whose = _whose(lane)
        for one in lane.loudest:
            who = [*whose, one.variable.encode("utf-8", "replace").decode()]
            if one.value is not None:
                observed.add_metric(who, one.value)
            for end, value in (("lower", one.lower), ("upper", one.upper)):
                if value is not None:
                    expected.add_metric([*who, end], value)
        anomaly.add_metric(whose, lane.latest.anomaly)
        p_value.add_metric(whose, lane.latest.p_value)
        cardinality.add_metric(whose, lane.latest.cardinality)
        for name, nats in lane.latest.evidences.items():
            evidence.add_metric([*whose, name], nats)
    yield from (anomaly, p_value, cardinality, evidence, observed, expected)


def _lanes(lanes: list[LaneStatus]) -> Iterator[Metric]:
    """Yield where each lane stands."""
    churn = CounterMetricFamily(
        "smkc_churn", "Variables that appeared or vanished.", labels=[*LANE, "change"]
    )
    rows = CounterMetricFamily("smkc_rows", "Rows taken.", labels=LANE)
    refused = CounterMetricFamily(
        "smkc_refused_variables", "Variables left out: more than max_series.", labels=LANE
    )
    set_aside = CounterMetricFamily(
        "smkc_rows_set_aside", "Rows that could not be kept or judged.", labels=LANE
    )
    lag = GaugeMetricFamily(
        "smkc_lag_seconds", "Time since the end of the latest row.", labels=LANE
    )
    is_open = GaugeMetricFamily("smkc_alert_open", "Whether an alert is open.", labels=LANE)
    planted = GaugeMetricFamily(
        "smkc_self_test_planted",
        "Large anomalies that were planted in copies of the rows learned from.",
        labels=LANE,
    )
    caught = GaugeMetricFamily(
        "smkc_self_test_caught", "How many of them would raise an alert.", labels=LANE
    )
    for lane in lanes:
        whose = _whose(lane)
        churn.add_metric([*whose, "appeared"], lane.appeared)
        churn.add_metric([*whose, "vanished"], lane.vanished)
        rows.add_metric(whose, lane.rows)
        refused.add_metric(whose, lane.refused)
        set_aside.add_metric(whose, lane.set_aside)
        is_open.add_metric(whose, lane.alert is not None)
        if lane.last_time is not None:
            lag.add_metric(whose, lane.lag / 1000)
        if lane.self_test is not None and lane.self_test.planted:
            planted.add_metric(whose, lane.self_test.planted)
            caught.add_metric(whose, lane.self_test.caught)
    yield from (churn, rows, refused, set_aside, lag, is_open, planted, caught)


def _watches(watches: list[WatchStatus]) -> Iterator[Metric]:
    """Yield where each watch stands with its source."""
    errors = CounterMetricFamily(
        "smkc_errors", "Failures that were waited out.", labels=["watch", "kind"]
    )
    late = CounterMetricFamily(
        "smkc_late_samples", "Pushed samples that came after their row.", labels=["watch"]
    )
    duplicates = CounterMetricFamily(
        "smkc_duplicate_samples", "Pushed samples that came twice.", labels=["watch"]
    )
    refused = CounterMetricFamily(
        "smkc_refused_samples", "Pushed samples beyond the limits.", labels=["watch"]
    )
    infinite = CounterMetricFamily(
        "smkc_infinite_values", "Infinite values, which count as not observed.", labels=["watch"]
    )
    inbox = GaugeMetricFamily(
        "smkc_inbox", "Pushed bodies that wait for their rows.", labels=["watch"]
    )
    phase = GaugeMetricFamily(
        "smkc_phase", "What a watch is doing: 1 for that, else 0.", labels=["watch", "phase"]
    )
    for watch in watches:
        for kind, count in {**dict.fromkeys(ERRORS, 0), **watch.errors}.items():
            errors.add_metric([watch.name, kind], count)
        late.add_metric([watch.name], watch.late)
        duplicates.add_metric([watch.name], watch.duplicates)
        refused.add_metric([watch.name], watch.refused)
        infinite.add_metric([watch.name], watch.infinite)
        inbox.add_metric([watch.name], watch.inbox)
        for name in PHASES:
            phase.add_metric([watch.name, name], name == watch.phase)
    yield from (errors, late, duplicates, refused, infinite, inbox, phase)


def _store(store: "Store") -> Iterator[Metric]:
    """Yield how much is kept, and how much must still be sent."""
    yield _gauge("smkc_outbox_waiting", "Messages that must still be sent.", store.n_waiting())
    yield _gauge("smkc_store_bytes", "Size of the history on disk.", store.size_bytes())


def _receivers(receivers: "Sequence[ReceiverStatus]") -> Iterator[Metric]:
    """Yield how it goes with each Alertmanager, each webhook and remote write."""
    sent = CounterMetricFamily(
        "smkc_receiver_sent", "Requests that a receiver took.", labels=RECEIVER
    )
    failed = CounterMetricFamily(
        "smkc_receiver_failed",
        "Requests that a receiver did not take; most are tried again.",
        labels=RECEIVER,
    )
    dropped = CounterMetricFamily(
        "smkc_receiver_dropped",
        "Messages, or rows of scores, that were given up.",
        labels=RECEIVER,
    )
    waiting = GaugeMetricFamily(
        "smkc_receiver_waiting",
        "Messages, or rows of scores, that a receiver has yet to take.",
        labels=RECEIVER,
    )
    for receiver, whose in zip(receivers, _receiver_labels(receivers), strict=True):
        sent.add_metric(whose, receiver.sent)
        failed.add_metric(whose, receiver.failed)
        dropped.add_metric(whose, receiver.given_up)
        waiting.add_metric(whose, receiver.waiting)
    yield from (sent, failed, dropped, waiting)


def _receiver_labels(receivers: "Sequence[ReceiverStatus]") -> list[list[str]]:
    """Return each receiver's kind and name, all distinct.

    Of an address the host alone is told: a path may be a secret. Who shares a host with another of
    its kind is numbered, in the order of the configuration.
    """
    found: list[list[str]] = []
    for receiver in receivers:
        is_named = receiver.kind == "webhook"
        name = receiver.name if is_named else urlsplit(receiver.name).netloc
        shown = name.encode("utf-8", "replace").decode()
        label, number = shown, 2
        while [receiver.kind, label] in found:
            label, number = f"{shown} {number}", number + 1
        found.append([receiver.kind, label])
    return found


def _whose(lane: LaneStatus) -> list[str]:
    """Return a lane's labels; it may be called what no UTF-8 can say."""
    return [lane.watch, lane.entity.encode("utf-8", "replace").decode()]


def _gauge(name: str, about: str, value: float) -> Metric:
    return GaugeMetricFamily(name, about, value=value)


def _resident_bytes() -> int | None:
    """Return the memory that the process occupies; None where the system does not say."""
    try:
        pages = int(Path("/proc/self/statm").read_text().split()[1])
    except (OSError, IndexError, ValueError):
        return None
    return pages * os.sysconf("SC_PAGE_SIZE")
