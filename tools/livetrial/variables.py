"""Variables that a fault affects ("guilty" variables).

In: the schedule's entry of a fault and the names of variables. Out: the guilty variables.
"""

import re
from collections.abc import Collection, Mapping
from typing import Any

from smkc.recording import parse

__all__ = ["guilty", "is_named"]

LATENCY = r"http_request_duration_seconds(_sum)?|http_requests_in_flight|process_open_fds"
TRAFFIC = (
    r"http_requests_total|http_request_duration_seconds.*|http_requests_in_flight|"
    r"process_cpu_seconds_total|process_open_fds|queue_length"
)

# Job of each kind, and the metrics that the fault affects, as a regular expression for the whole
# name, followed by the values of the labels ``code``, ``mode``, ``cmd`` and ``db`` where present.
KNOWN_BY: dict[str, tuple[str, str]] = {
    "redis_dead": ("redis", r"redis_.*"),
    "disk_writes": (
        "node",
        r"node_disk_(written_bytes|writes_completed|write_time_seconds|io_time_seconds|"
        r"io_time_weighted_seconds|flush_requests|flush_requests_time_seconds)_total|"
        r"node_disk_io_now|node_pressure_io_.*|node_vmstat_pgpgout|node_procs_blocked|"
        r"node_cpu_seconds_total iowait",
    ),
    "instance_slow": ("fleet", LATENCY),
    "service_slow": ("fleet", LATENCY),
    "instance_memory": ("fleet", "process_resident_memory_bytes"),
    "traffic_gone": ("fleet", TRAFFIC),
    "client_flood": (
        "redis",
        r"redis_connected_clients|redis_connections_received_total|redis_commands_.* ping|"
        r"redis_latency_percentiles_usec.* ping|redis_commands_processed_total|"
        r"redis_net_(in|out)put_bytes_total|redis_memory_used_.*|"
        r"redis_total_(reads|writes)_processed|redis_mem_clients_normal|redis_allocator_.*|"
        r"redis_client_recent_max_.*",
    ),
    "exporter_silent": ("node", r".*"),
    "cpu_hog": (
        "node",
        r"node_cpu_seconds_total (idle|user)|node_load1|node_load5|node_procs_running|"
        r"node_pressure_cpu_.*|node_schedstat_.*",
    ),
    "error_burst": ("fleet", r"http_requests_total 500"),
    "queue_grows": ("fleet", "queue_length"),
    "redis_memory": (
        "redis",
        r"redis_memory_used_.*|redis_allocator_.*|redis_mem_.*|redis_db_.* db0|"
        r"redis_net_input_bytes_total|redis_commands_.* (set|unlink).*|redis_latency_.* set|"
        r"redis_lazyfree.*|redis_.*defrag.*|redis_keyspace.*|redis_rdb_changes_.*",
    ),
}

DETAIL_LABELS = ("code", "mode", "cmd", "db")


def guilty(fault: Mapping[str, Any], names: Collection[str]) -> list[str]:
    """Return the variables that a fault affects, sorted."""
    job, metrics = KNOWN_BY[fault["kind"]]
    pattern = re.compile(rf"(?:{metrics})(?: .*)?")
    found = []
    for name in sorted(names):
        parts = parse(name)
        if parts is None:
            continue
        metric, labels = parts
        words = [metric, *(labels[label] for label in DETAIL_LABELS if label in labels)]
        is_there = labels.get("job") == job and all(
            labels.get(key) == fault[key] for key in ("service", "pod") if key in fault
        )
        if is_there and pattern.fullmatch(" ".join(words)):
            found.append(name)
    return found


def is_named(fault: Mapping[str, Any], variable: str) -> bool:
    """Return whether a variable is guilty of a fault, or belongs to the affected service."""
    if "variables" in fault:
        return variable in fault["variables"]
    if guilty(fault, [variable]):
        return True
    parts = parse(variable)
    return parts is not None and parts[1].get("service") == fault.get("service", object())
