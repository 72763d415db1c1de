"""The queries of the Redis exporter, for one server or for the nodes of a cluster.

In: the Redis commands that get variables of their own. Out: queries.
"""

from tools.recorder.monitoring import of_pods
from tools.stack.queries import Query, rate

__all__ = ["redis_queries"]

GAUGES = (
    "redis_up",
    "redis_connected_clients",
    "redis_blocked_clients",
    "redis_memory_used_bytes",
    "redis_memory_used_rss_bytes",
    "redis_mem_fragmentation_ratio",
    "redis_connected_slaves",
    "redis_slowlog_length",
)
COUNTERS = {
    "redis_commands_rate": "redis_commands_processed_total",
    "redis_hits_rate": "redis_keyspace_hits_total",
    "redis_misses_rate": "redis_keyspace_misses_total",
    "redis_evicted_rate": "redis_evicted_keys_total",
    "redis_expired_rate": "redis_expired_keys_total",
    "redis_connections_rate": "redis_connections_received_total",
    "redis_rejected_rate": "redis_rejected_connections_total",
    "redis_input_bytes": "redis_net_input_bytes_total",
    "redis_output_bytes": "redis_net_output_bytes_total",
    "redis_cpu": "redis_cpu_user_seconds_total",
}


def redis_queries(commands: str) -> tuple[Query, ...]:
    """Return the queries; ``commands`` is a regular expression of commands queried separately."""
    by = "service, pod"
    chosen = f'{{cmd=~"{commands}"}}'
    return (
        *(of_pods(name, name) for name in GAUGES),
        *(of_pods(name, rate(counter, by)) for name, counter in COUNTERS.items()),
        of_pods("redis_keys", f"sum by ({by}) (redis_db_keys)"),
        of_pods("redis_expiring_keys", f"sum by ({by}) (redis_db_keys_expiring)"),
        of_pods(
            "redis_command_rate", rate(f"redis_commands_total{chosen}", f"{by}, cmd"), cmd="command"
        ),
        of_pods(
            "redis_command_cpu",
            rate(f"redis_commands_duration_seconds_total{chosen}", f"{by}, cmd"),
            cmd="command",
        ),
    )
