"""Prometheus queries, and the names of the variables that they give.

In: names of counters and gauges. Out: queries, and those of the node and the process exporter.
"""

from collections.abc import Mapping
from dataclasses import dataclass

__all__ = ["GROUP_QUERIES", "NODE_QUERIES", "Query", "mean_seconds", "rate"]

# Counters become rates over 4 scrapes, so that a lost scrape does not matter.
OVER = "[8s]"


@dataclass(frozen=True, kw_only=True)
class Query:
    """A query, the metric name of its variables, and the labels kept, as old name to new name."""

    metric: str
    query: str
    labels: Mapping[str, str]


def rate(counter: str, by: str = "") -> str:
    """Return the query for the rate of a counter, summed by labels.

    Examples
    --------
    >>> rate("requests_total", "pod")
    'sum by (pod) (rate(requests_total[8s]))'
    """
    return f"sum{f' by ({by})' if by else ''} (rate({counter}{OVER}))"


def mean_seconds(seconds: str, calls: str, by: str) -> str:
    """Return the query for the mean seconds per call, which is absent while there are no calls."""
    return f"{rate(seconds, by)} / {rate(calls, by)}"


_NODE = {
    "node_load1": "node_load1",
    "node_load5": "node_load5",
    "node_memory_available_bytes": "node_memory_MemAvailable_bytes",
    "node_memory_free_bytes": "node_memory_MemFree_bytes",
    "node_memory_cached_bytes": "node_memory_Cached_bytes",
    "node_memory_anonymous_bytes": "node_memory_AnonPages_bytes",
    "node_memory_dirty_bytes": "node_memory_Dirty_bytes",
    "node_memory_slab_bytes": "node_memory_Slab_bytes",
    "node_disk_read_bytes": rate("node_disk_read_bytes_total"),
    "node_disk_written_bytes": rate("node_disk_written_bytes_total"),
    "node_disk_writes": rate("node_disk_writes_completed_total"),
    "node_disk_io_time": rate("node_disk_io_time_seconds_total"),
    "node_disk_write_time": rate("node_disk_write_time_seconds_total"),
    "node_filesystem_available_bytes": 'sum (node_filesystem_avail_bytes{mountpoint="/"})',
    "node_network_loopback_bytes": rate('node_network_receive_bytes_total{device="lo"}'),
    "node_network_received_bytes": rate('node_network_receive_bytes_total{device!="lo"}'),
    "node_network_sent_bytes": rate('node_network_transmit_bytes_total{device!="lo"}'),
    "node_pressure_cpu": rate("node_pressure_cpu_waiting_seconds_total"),
    "node_pressure_io": rate("node_pressure_io_waiting_seconds_total"),
    "node_pressure_io_stalled": rate("node_pressure_io_stalled_seconds_total"),
    "node_pressure_memory": rate("node_pressure_memory_waiting_seconds_total"),
    "node_context_switches": rate("node_context_switches_total"),
    "node_interrupts": rate("node_intr_total"),
    "node_forks": rate("node_forks_total"),
    "node_processes_running": "node_procs_running",
    "node_processes_blocked": "node_procs_blocked",
    "node_page_faults": rate("node_vmstat_pgfault"),
    "node_page_major_faults": rate("node_vmstat_pgmajfault"),
    "node_open_files": "node_filefd_allocated",
    "node_tcp_in_use": "node_sockstat_TCP_inuse",
    "node_tcp_time_wait": "node_sockstat_TCP_tw",
    "node_tcp_established": "node_netstat_Tcp_CurrEstab",
    "node_tcp_opened": rate("node_netstat_Tcp_ActiveOpens"),
}

_GROUP = {
    "group_cpu": rate("namedprocess_namegroup_cpu_seconds_total", "groupname"),
    "group_memory_bytes": 'namedprocess_namegroup_memory_bytes{memtype="resident"}',
    "group_processes": "namedprocess_namegroup_num_procs",
    "group_threads": "namedprocess_namegroup_num_threads",
    "group_open_files": "namedprocess_namegroup_open_filedesc",
    "group_written_bytes": rate("namedprocess_namegroup_write_bytes_total", "groupname"),
}

NODE_QUERIES = (
    Query(metric="node_cpu", query=rate("node_cpu_seconds_total", "mode"), labels={"mode": "mode"}),
    *(Query(metric=metric, query=query, labels={}) for metric, query in _NODE.items()),
)

GROUP_QUERIES = tuple(
    Query(metric=metric, query=query, labels={"groupname": "group"})
    for metric, query in _GROUP.items()
)
