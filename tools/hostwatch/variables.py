"""The variables of the dataset: what Prometheus is asked for, and what each answer is called.

In: nothing. Out: queries by the name of their metric, and which variables a fault is known by.
"""

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import Any

from smkc.recording import parse

__all__ = ["QUERIES", "Query", "responsible"]

# Counters become rates over four scrapes, so that one that is lost does not matter.
OVER = "[8s]"


@dataclass(frozen=True, kw_only=True)
class Query:
    """What Prometheus is asked for; ``labels`` are those of its answer that are kept, renamed."""

    metric: str
    query: str
    labels: Mapping[str, str]


def _rate(counter: str, by: str = "") -> str:
    return f"sum{f' by ({by})' if by else ''} (rate({counter}{OVER}))"


_NODE = {
    "node_load1": "node_load1",
    "node_load5": "node_load5",
    "node_memory_available_bytes": "node_memory_MemAvailable_bytes",
    "node_memory_free_bytes": "node_memory_MemFree_bytes",
    "node_memory_cached_bytes": "node_memory_Cached_bytes",
    "node_memory_anonymous_bytes": "node_memory_AnonPages_bytes",
    "node_memory_dirty_bytes": "node_memory_Dirty_bytes",
    "node_memory_slab_bytes": "node_memory_Slab_bytes",
    "node_disk_read_bytes": _rate("node_disk_read_bytes_total"),
    "node_disk_written_bytes": _rate("node_disk_written_bytes_total"),
    "node_disk_writes": _rate("node_disk_writes_completed_total"),
    "node_disk_io_time": _rate("node_disk_io_time_seconds_total"),
    "node_disk_write_time": _rate("node_disk_write_time_seconds_total"),
    "node_filesystem_available_bytes": 'sum (node_filesystem_avail_bytes{mountpoint="/"})',
    "node_network_loopback_bytes": _rate('node_network_receive_bytes_total{device="lo"}'),
    "node_network_received_bytes": _rate('node_network_receive_bytes_total{device!="lo"}'),
    "node_network_sent_bytes": _rate('node_network_transmit_bytes_total{device!="lo"}'),
    "node_pressure_cpu": _rate("node_pressure_cpu_waiting_seconds_total"),
    "node_pressure_io": _rate("node_pressure_io_waiting_seconds_total"),
    "node_pressure_io_stalled": _rate("node_pressure_io_stalled_seconds_total"),
    "node_pressure_memory": _rate("node_pressure_memory_waiting_seconds_total"),
    "node_context_switches": _rate("node_context_switches_total"),
    "node_interrupts": _rate("node_intr_total"),
    "node_forks": _rate("node_forks_total"),
    "node_processes_running": "node_procs_running",
    "node_processes_blocked": "node_procs_blocked",
    "node_page_faults": _rate("node_vmstat_pgfault"),
    "node_page_major_faults": _rate("node_vmstat_pgmajfault"),
    "node_open_files": "node_filefd_allocated",
    "node_tcp_in_use": "node_sockstat_TCP_inuse",
    "node_tcp_time_wait": "node_sockstat_TCP_tw",
    "node_tcp_established": "node_netstat_Tcp_CurrEstab",
    "node_tcp_opened": _rate("node_netstat_Tcp_ActiveOpens"),
}

_GROUP = {
    "group_cpu": _rate("namedprocess_namegroup_cpu_seconds_total", "groupname"),
    "group_memory_bytes": 'namedprocess_namegroup_memory_bytes{memtype="resident"}',
    "group_processes": "namedprocess_namegroup_num_procs",
    "group_threads": "namedprocess_namegroup_num_threads",
    "group_open_files": "namedprocess_namegroup_open_filedesc",
    "group_written_bytes": _rate("namedprocess_namegroup_write_bytes_total", "groupname"),
}

_OF_POD = "pod, service"
_POD = {
    "up": 'up{job="fleet"}',
    "request_rate": _rate("http_requests_total", _OF_POD),
    "error_rate": _rate("http_errors_total", _OF_POD),
    "latency_seconds": (
        f"{_rate('http_request_seconds_sum', _OF_POD)} / {_rate('http_requests_total', _OF_POD)}"
    ),
    "in_flight": "http_in_flight",
    "queue_length": "queue_length",
    "cache_entries": "cache_entries",
    "memory_bytes": 'process_resident_memory_bytes{job="fleet"}',
    "cpu": _rate('process_cpu_seconds_total{job="fleet"}', _OF_POD),
    "job_rate": _rate("job_rows_total", _OF_POD),
}

_HELD = {"pod": "pod", "service": "service"}

QUERIES = (
    Query(
        metric="node_cpu", query=_rate("node_cpu_seconds_total", "mode"), labels={"mode": "mode"}
    ),
    *(Query(metric=metric, query=query, labels={}) for metric, query in _NODE.items()),
    *(
        Query(metric=metric, query=query, labels={"groupname": "group"})
        for metric, query in _GROUP.items()
    ),
    Query(metric="up", query='up{job=~"node|process"}', labels={"job": "exporter"}),
    *(Query(metric=metric, query=query, labels=_HELD) for metric, query in _POD.items()),
)

# Which metrics a fault is known by: of the machine, of the group of processes that holds it, and
# of the replica that it befalls. None stands for all.
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

# Of the modes of the processors, those that a hog moves.
_HOGGED = ("idle", "user")


def responsible(fault: Mapping[str, Any], names: Collection[str]) -> list[str]:
    """Return the variables that a fault is known by, of those that there are."""
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
