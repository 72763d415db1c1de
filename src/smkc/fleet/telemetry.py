"""Telemetry of a synthetic fleet: 2 days to learn from, 1 day to watch with known incidents.

In: a seed. Out: a :class:`Fleet`. A plan gives the metrics of each pod, and these a recording in
which some samples are lost.
"""

from collections.abc import Iterable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from smkc.fleet.plan import SCRAPE_GAP_ROWS, Plan
from smkc.fleet.pods import (
    COUNTER,
    FIRST_TIME,
    REFERENCE_ROWS,
    RENAMED,
    ROWS_A_DAY,
    ROWS_A_MINUTE,
    ROWS_AN_HOUR,
    SERVICES,
    STEP_SECONDS,
    TOTAL_ROWS,
    Metrics,
    Pod,
    is_alive,
)
from smkc.fleet.truth import Change, Fleet
from smkc.recording import Recording

LOST_SHARE = 0.05  # share of samples lost at random
BURSTS_A_DAY = 8  # bursts per day in which one pod of the fleet cannot be scraped for some minutes


def make_fleet(seed: int = 0, *, with_incidents: bool = True) -> Fleet:
    """Return 3 days of synthetic telemetry of a small shop: 2 days of reference and 1 live day.

    Parameters
    ----------
    seed
        the same seed gives the same fleet.
    with_incidents
        whether to plant incidents; without them every alert is a false alarm.

    Examples
    --------
    >>> fleet = make_fleet(seed=0)
    >>> len(fleet.reference), len(fleet.live), len(fleet.incidents)
    (5760, 2880, 4)
    >>> fleet.live.names[-1]
    'request_rate{namespace="shop",pod="checkout-66b2-vm",service="checkout"}'
    """
    rngs = np.random.default_rng(seed).spawn(4)
    plan = Plan(rngs[0], with_incidents)
    metrics = _simulate(plan, rngs[1])
    times = FIRST_TIME + np.arange(TOTAL_ROWS) * np.timedelta64(STEP_SECONDS, "s")
    incidents = [trouble.tell(times, metrics, rngs[2]) for trouble in plan.troubles]
    whole = _observe(plan, metrics, times, rngs[3])
    routine = tuple(
        Change(start=times[first], end=times[last - 1], kind=kind, story=story)
        for first, last, kind, story in sorted(plan.routine)
        if first >= REFERENCE_ROWS
    )
    return Fleet(
        reference=whole.rows(0, REFERENCE_ROWS).canonical(),
        live=whole.rows(REFERENCE_ROWS).canonical(),
        incidents=tuple(sorted(incidents, key=lambda incident: incident.start)),
        routine=routine,
    )


def _simulate(plan: Plan, rng: np.random.Generator) -> dict[Pod, Metrics]:
    """Simulate the metrics of every pod over all rows; :func:`_observe` cuts out its lifetime."""
    hours = np.arange(TOTAL_ROWS) / ROWS_AN_HOUR
    day = 1.0 - 0.45 * np.cos(2 * np.pi * (hours - 3.0) / 24)  # lowest at 03:00
    short = 0.06 * np.sin(2 * np.pi * hours / 0.5)  # clients that poll every half hour
    common = day + short + 0.05 * _drift(TOTAL_ROWS, 1, 0.98, rng)[:, 0]
    metrics = {}
    for service, (_, requests) in SERVICES.items():
        pods = [pod for pod in plan.pods if pod.service == service]
        alive = sum(is_alive(pod).astype(float) for pod in pods)
        load = requests * common * (1 + 0.04 * _drift(TOTAL_ROWS, 1, 0.95, rng)[:, 0])
        share = load / np.maximum(alive, 1)
        fair = requests / SERVICES[service][0]
        for pod in pods:
            metrics[pod] = _pod_metrics(pod, share, fair, rng)
    return metrics


def _pod_metrics(
    pod: Pod, share: NDArray[np.float64], fair: float, rng: np.random.Generator
) -> Metrics:
    """Return one pod's metrics under its (T,) share of the load, in requests per second.

    ``fair`` is the nominal share, with the service's usual number of pods and requests.
    """
    noise = _drift(TOTAL_ROWS, 5, 0.7, rng)
    age = np.maximum(np.arange(TOTAL_ROWS) - pod.first, 0) / ROWS_A_MINUTE  # minutes
    busy = share / fair
    rate = share * (1 + 0.03 * noise[:, 0])
    warm_up = 0.35 * np.exp(-age / 2)
    overload = np.maximum(busy - 1.8, 0)
    return {
        "cpu_usage": np.maximum(0.08 + 0.42 * busy + warm_up + 0.035 * noise[:, 1], 0.01),
        "memory_bytes": 1e6 * (250 + 90 * (1 - np.exp(-age / 30)) + 40 * busy + 6 * noise[:, 2]),
        "request_rate": np.maximum(rate, 0),
        "latency_p95": (0.05 + 0.03 * busy + 0.12 * overload) * np.exp(0.10 * noise[:, 3]),
        "error_rate": (0.002 + 0.02 * overload) * np.exp(0.35 * noise[:, 4]),
    }


def _drift(rows: int, count: int, keep: float, rng: np.random.Generator) -> NDArray[np.float64]:
    """Return (rows, count) first-order autoregressive noise of unit variance and lag-1 ``keep``."""
    fresh: NDArray[np.float64] = rng.standard_normal((rows, count)) * np.sqrt(1 - keep**2)
    fresh[0] /= np.sqrt(1 - keep**2)
    for row in range(1, rows):
        fresh[row] += keep * fresh[row - 1]
    return fresh


def _observe(
    plan: Plan, metrics: dict[Pod, Metrics], times: NDArray[Any], rng: np.random.Generator
) -> Recording:
    """Record the samples of living pods and of the node under their names, except lost ones."""
    rows: list[NDArray[np.int64]] = []
    codes: list[NDArray[np.int32]] = []
    values: list[NDArray[np.float64]] = []
    names: list[str] = []

    def add(name: str, series: NDArray[np.float64], at: NDArray[np.int64]) -> None:
        kept = at[rng.random(len(at)) >= LOST_SHARE]
        rows.append(kept)
        codes.append(np.full(len(kept), len(names), np.int32))
        values.append(series[kept])
        names.append(name)

    scraped = np.ones(TOTAL_ROWS, bool)
    for gap in plan.gaps:
        scraped[gap : gap + SCRAPE_GAP_ROWS] = False
    total = {"cpu_usage": np.zeros(TOTAL_ROWS), "request_rate": np.zeros(TOTAL_ROWS)}
    for pod, series in metrics.items():
        alive = is_alive(pod)
        for metric in total:
            total[metric] += np.where(alive, series[metric], 0)
        at = np.flatnonzero(alive & scraped & ~_bursts(rng))
        counted = np.cumsum(np.where(alive, series["request_rate"] * STEP_SECONDS, 0))
        for metric, one in {**series, COUNTER: np.round(counted)}.items():
            for name, part in _named(pod, metric, at, plan.rename_row):
                add(name, one, part)
    noise = _drift(TOTAL_ROWS, 2, 0.8, rng)
    load = total["cpu_usage"] * (1 + 0.03 * noise[:, 0])
    traffic = 4200.0 * total["request_rate"] * (1 + 0.03 * noise[:, 1])
    add('node_load1{node="node-1"}', load, np.flatnonzero(scraped))
    add('node_network_bytes{node="node-1"}', traffic, np.flatnonzero(scraped))
    return Recording.from_observations(
        times, np.concatenate(rows), np.concatenate(codes), np.concatenate(values), names
    )


def _named(
    pod: Pod, metric: str, at: NDArray[np.int64], rename_row: int
) -> Iterable[tuple[str, NDArray[np.int64]]]:
    """Return the names under which a metric is recorded, each with its rows."""
    service, old, new = RENAMED
    if (pod.service, metric) != (service, old):
        return [(pod.variable(metric), at)]
    parts = [(pod.variable(old), at[at < rename_row]), (pod.variable(new), at[at >= rename_row])]
    return [(name, part) for name, part in parts if len(part)]


def _bursts(rng: np.random.Generator) -> NDArray[np.bool_]:
    """Return a (T,) mask of rows in which one pod cannot be scraped: bursts of 3 to 14 rows."""
    is_lost = np.zeros(TOTAL_ROWS, bool)
    days = TOTAL_ROWS // ROWS_A_DAY
    pods = sum(count for count, _ in SERVICES.values())
    for start in rng.integers(0, TOTAL_ROWS, rng.poisson(BURSTS_A_DAY * days / pods)):
        is_lost[start : start + int(rng.integers(3, 15))] = True
    return is_lost
