"""Queries: PromQL that selects a variable, and URLs of pages that plot it.

In: a variable's name and the configuration. Out: PromQL and URLs.
"""

import json
import re
from datetime import UTC, datetime
from typing import TYPE_CHECKING
from urllib.parse import quote

from smkc.recording import parse
from smkc.recording.counters import is_counter_name
from smkc.serve.intake.histograms import CUMULATIVE_PARTS, QUANTILE_LABEL

if TYPE_CHECKING:
    from smkc.serve.config import Config, WatchConfig
    from smkc.serve.rows import AlertRecord

METRIC = re.compile(r"[a-zA-Z_:][a-zA-Z0-9_:]*")
LABEL = re.compile(r"[a-zA-Z_][a-zA-Z0-9_]*")

# Values of the label for quantiles that smkc computes from native histograms.
OWN_QUANTILES = frozenset(part.quantile for part in CUMULATIVE_PARTS if part.quantile)

# Range of rate(): this many steps, but at least this many seconds.
RATE_STEPS, MIN_RATE_SECONDS = 4, 60

# A graph shows this many milliseconds before and after an alert. Its ends are rounded to multiples
# of ROUND milliseconds, so that the links on an open page do not change with every row.
AROUND, ROUND = 1_800_000, 900_000

PROMETHEUS_GRAPH = (
    "/graph?g0.tab=0&g0.expr={query}&g0.range_input={seconds}s&g0.end_input={end_text}"
)


def query_of(variable: str, watch: "WatchConfig", entity: str) -> str:
    """Return PromQL that selects a variable, as a rate if it is named like a counter.

    The label that splits the watch is added, since variable names do not contain it. For a variable
    without a metric name, which comes from an expression, the watch's query is returned. The
    result is empty if the watch does not query Prometheus or the name cannot be parsed.

    Examples
    --------
    >>> from smkc.serve.config import WatchConfig
    >>> watch = WatchConfig(name="shop", query='{job="shop"}', entity="zone")
    >>> query_of('latency{pod="web-1"}', watch, "eu")
    'latency{pod="web-1",zone="eu"}'
    >>> query_of("requests_total", watch, "eu")
    'rate(requests_total{zone="eu"}[60s])'
    >>> query_of('latency{quantile="0.9"}', watch, "")  # of a summary or a native histogram
    'latency{quantile="0.9"} or histogram_quantile(0.9, rate(latency[60s]))'
    """
    parts = parse(variable)
    if watch.source != "prometheus" or parts is None:
        return ""
    metric, labels = parts
    if not metric:
        return watch.query
    if watch.entity and entity:
        labels = {**labels, watch.entity: entity}
    selector = _selector(metric, labels)
    span = f"[{max(RATE_STEPS * watch.step // 1000, MIN_RATE_SECONDS)}s]"
    quantile = labels.pop(QUANTILE_LABEL, "")
    if quantile in OWN_QUANTILES:
        return (
            f"{selector} or histogram_quantile({quantile}, rate({_selector(metric, labels)}{span}))"
        )
    if watch.counters == "none" or not is_counter_name(variable):
        return selector
    return f"rate({selector}{span})"


def _selector(metric: str, labels: dict[str, str]) -> str:
    """Return the PromQL selector of a series; names that are not valid there are quoted."""
    matchers = [
        f"{name if LABEL.fullmatch(name) else json.dumps(name)}={json.dumps(value)}"
        for name, value in labels.items()
    ]
    if not METRIC.fullmatch(metric):
        matchers.insert(0, f"__name__={json.dumps(metric)}")
        metric = ""
    return f"{metric}{{{','.join(matchers)}}}" if matchers else metric


def query_of_cause(variable: str, alert: "AlertRecord", config: "Config") -> str:
    """Return PromQL that selects a variable of an alert; empty if its watch no longer exists."""
    watch = next((one for one in config.watches if one.name == alert.watch), None)
    return "" if watch is None else query_of(variable, watch, alert.entity)


def graph_links(alert: "AlertRecord", query: str, config: "Config") -> dict[str, str]:
    """Return the URLs, by name, of pages that plot a query around the time of an alert."""
    if not query:
        return {}
    since = (alert.start - AROUND) // ROUND * ROUND
    until = -(-(alert.end + AROUND) // ROUND) * ROUND
    end = datetime.fromtimestamp(until / 1000, UTC).strftime("%Y-%m-%d %H:%M:%S")
    values = {
        "{query}": quote(query, safe=""),
        "{query_json}": quote(json.dumps(query)[1:-1], safe=""),
        "{start}": str(since),
        "{end}": str(until),
        "{seconds}": str((until - since) // 1000),
        "{end_text}": quote(end, safe=""),
    }
    links = dict(config.links)
    if not links and config.prometheus is not None:
        links = {"Prometheus": config.prometheus.url.rstrip("/") + PROMETHEUS_GRAPH}
    for name in links:
        for key, value in values.items():
            links[name] = links[name].replace(key, value)
    return links
