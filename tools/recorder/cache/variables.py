"""The Prometheus queries of the cache tier's variables.

In: nothing. Out: queries of the nodes and of the clients.
"""

from tools.recorder.monitoring import of_pods, worker_queries
from tools.recorder.redis_queries import redis_queries
from tools.stack.queries import Query, rate

__all__ = ["QUERIES"]

_BY = "service, pod"

QUERIES: tuple[Query, ...] = (
    *redis_queries("get|set|flushall|auth|eval"),
    of_pods("redis_cluster_slots_ok", f"max by ({_BY}) (redis_cluster_slots_ok)"),
    of_pods("redis_cluster_known_nodes", f"max by ({_BY}) (redis_cluster_known_nodes)"),
    of_pods(
        "redis_cluster_messages_rate",
        rate("redis_cluster_messages_received_total", _BY),
    ),
    of_pods("scrape_seconds", 'scrape_duration_seconds{job="members",service="redis"}'),
    *worker_queries(
        gauges=("job_progress",),
        rates=("call", "call_error", "cache_hit", "cache_miss", "job_rows"),
        means=("call",),
    ),
)
