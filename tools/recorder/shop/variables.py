"""The Prometheus queries of the shop's variables.

In: nothing. Out: queries of nginx, PostgreSQL, Redis and the recorder's own processes.
"""

from tools.recorder.monitoring import of_service, worker_queries
from tools.recorder.redis_queries import redis_queries
from tools.stack.queries import Query, rate

__all__ = ["QUERIES"]

SHOP = '{datname="shop"}'

_NGINX = {
    "nginx_up": "nginx_up",
    "nginx_connections_active": "nginx_connections_active",
    "nginx_connections_reading": "nginx_connections_reading",
    "nginx_connections_waiting": "nginx_connections_waiting",
    "nginx_connections_writing": "nginx_connections_writing",
    "nginx_accepted_rate": rate("nginx_connections_accepted", "service"),
    "nginx_requests_rate": rate("nginx_http_requests_total", "service"),
}

_POSTGRES = {
    "pg_up": "pg_up",
    "pg_database_size_bytes": f"pg_database_size_bytes{SHOP}",
    **{
        f"pg_{name}_rate": rate(f"pg_stat_database_{name}{SHOP}", "service")
        for name in (
            "xact_commit",
            "xact_rollback",
            "blks_hit",
            "blks_read",
            "tup_returned",
            "tup_fetched",
            "tup_inserted",
            "tup_updated",
            "deadlocks",
            "temp_bytes",
        )
    },
    **{
        f"pg_{name}_rate": rate(f"pg_stat_bgwriter_{name}_total", "service")
        for name in ("buffers_alloc", "buffers_backend", "buffers_checkpoint", "buffers_clean")
    },
    "pg_backends": f"pg_stat_database_numbackends{SHOP}",
    "pg_longest_transaction_seconds": (
        'max by (service) (pg_stat_activity_max_tx_duration{datname="shop"})'
    ),
}

_BY_TABLE = "service, relname"

QUERIES: tuple[Query, ...] = (
    *(of_service(metric, query) for metric, query in _NGINX.items()),
    *(of_service(metric, query) for metric, query in _POSTGRES.items()),
    of_service(
        "pg_connections",
        f"sum by (service, state) (pg_stat_activity_count{SHOP})",
        state="state",
    ),
    of_service("pg_locks", f"sum by (service, mode) (pg_locks_count{SHOP})", mode="lock"),
    *(
        of_service(
            f"pg_table_{name}_rate",
            rate(f'pg_stat_user_tables_{name}{{relname=~"accounts|items|orders"}}', _BY_TABLE),
            relname="table",
        )
        for name in ("seq_scan", "seq_tup_read", "idx_scan", "n_tup_ins", "n_tup_upd")
    ),
    of_service(
        "pg_table_dead_rows",
        f"sum by ({_BY_TABLE}) (pg_stat_user_tables_n_dead_tup)",
        relname="table",
    ),
    *redis_queries("get|set|flushall|ping|info"),
    *worker_queries(
        gauges=("db_free_places", "job_progress"),
        rates=(
            "http_request",
            "http_error",
            "retry",
            "cache_hit",
            "cache_miss",
            "db_call",
            "db_error",
            "job_rows",
        ),
        means=("http_request", "db_call"),
    ),
)
