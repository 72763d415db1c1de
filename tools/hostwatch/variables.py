"""The variables of the dataset: their queries, and the variables that each fault affects.

In: nothing. Out: queries with the names of their metrics, and the variables that a fault affects.
"""

from collections.abc import Collection, Mapping
from typing import Any

from smkc.recording import parse
from tools.stack.queries import GROUP_QUERIES, NODE_QUERIES, Query, mean_seconds, rate

__all__ = ["QUERIES", "responsible"]

_OF_POD = "pod, service"
_POD = {
    "up": 'up{job="fleet"}',
    "request_rate": rate("http_requests_total", _OF_POD),
    "error_rate": rate("http_errors_total", _OF_POD),
    "latency_seconds": mean_seconds("http_request_seconds_sum", "http_requests_total", _OF_POD),
    "in_flight": "http_in_flight",
    "queue_length": "queue_length",
    "cache_entries": "cache_entries",
    "memory_bytes": 'process_resident_memory_bytes{job="fleet"}',
    "cpu": rate('process_cpu_seconds_total{job="fleet"}', _OF_POD),
    "job_rate": rate("job_rows_total", _OF_POD),
}

_HELD = {"pod": "pod", "service": "service"}

QUERIES = (
    *NODE_QUERIES,
    *GROUP_QUERIES,
    Query(metric="up", query='up{job=~"node|process"}', labels={"job": "exporter"}),
    *(Query(metric=metric, query=query, labels=_HELD) for metric, query in _POD.items()),
)

# Metrics that a fault affects: those of the machine, of the group of processes that it belongs to,
# and of the affected replica. None means all metrics.
_KNOWN_BY: dict[str, tuple[tuple[str, ...], tuple[str, ...], tuple[str, ...] | None]] = {
    "cpu_hog": (
        ("node_cpu", "node_load1", "node_processes_running", "node_pressure_cpu"),
        ("group_cpu", "group_processes"),
        (),
    ),
    "disk_load": (
        (
            "node_disk_written_bytes",
            "node_disk_writes",
            "node_disk_io_time",
            "node_disk_write_time",
            "node_pressure_io",
            "node_pressure_io_stalled",
            "node_processes_blocked",
        ),
        ("group_written_bytes", "group_processes"),
        (),
    ),
    "memory_leak": (
        ("node_memory_available_bytes", "node_memory_free_bytes", "node_memory_anonymous_bytes"),
        ("group_memory_bytes",),
        ("memory_bytes",),
    ),
    "slow_service": ((), (), ("latency_seconds", "in_flight", "queue_length", "error_rate")),
    "crash_loop": ((), ("group_processes",), None),
    "silent": ((), (), None),
}

# Modes of the processors that a hog affects.
_HOGGED = ("idle", "user")


def responsible(fault: Mapping[str, Any], names: Collection[str]) -> list[str]:
    """Return the variables, out of ``names``, that a fault affects."""
    of_node, of_group, of_pod = _KNOWN_BY[fault["kind"]]
    group = fault.get("service", "job")
    found = []
    for name in sorted(names):
        parts = parse(name)
        if parts is None:
            continue
        metric, labels = parts
        if "exporter" in fault:
            is_meant = "group" in labels or labels.get("exporter") == fault["exporter"]
        elif "pod" in labels:
            is_meant = labels["pod"] == fault["pod"] and (of_pod is None or metric in of_pod)
        elif "group" in labels:
            is_meant = labels["group"] == group and metric in of_group
        else:
            is_meant = metric in of_node and labels.get("mode", "user") in _HOGGED
        if is_meant:
            found.append(name)
    return found
