"""The faults and the routine changes of the shop.

In: nothing. Out: kinds of faults with the variables that they affect, and routine changes.
"""

from tools.recorder.faults import (
    CPU_NEIGHBOUR,
    DISK_SYNC,
    bad_rollout,
    crash_loop,
    exporter_silent,
    memory_leak,
    network_slow,
    replica_slow,
)
from tools.recorder.kinds import Cause, Kind
from tools.recorder.schedule import Routine
from tools.recorder.system import JOB, job_draw, scale_draw

__all__ = ["KINDS", "ROUTINES"]

APP, CUSTOMERS = {"service": "app"}, {"service": "customers"}
POSTGRES, REDIS, NGINX = {"service": "postgres"}, {"service": "redis"}, {"service": "nginx"}

# Symptoms in the whole shop of a fault behind the application.
SLOW_SHOP = (
    Cause("(http_request|db_call)_seconds|in_flight|db_free_places|(db|http)_error_rate", APP),
    Cause("http_request_seconds|in_flight|http_error_rate", CUSTOMERS),
    Cause("nginx_connections_(active|writing|reading)", NGINX),
)

KINDS: tuple[Kind, ...] = (
    Kind(
        name="missing_index",
        services=("postgres",),
        what="the index that the customers' history needs is dropped, and made again at the end",
        causes=(
            Cause("pg_tup_returned_rate|pg_blks_hit_rate|pg_buffers_alloc_rate", POSTGRES),
            Cause(
                "pg_table_(seq_scan|seq_tup_read|idx_scan)_rate", {**POSTGRES, "table": "orders"}
            ),
            Cause("group_cpu", {"group": "postgres"}),
        ),
        symptoms=(Cause("db_call_seconds|http_request_seconds", APP),),
    ),
    Kind(
        name="lock_held",
        services=("postgres",),
        what="a transaction holds a lock on the table of the orders and does nothing",
        causes=(
            Cause("pg_locks|pg_connections|pg_longest_transaction_seconds", POSTGRES),
            Cause("pg_(xact_commit|xact_rollback|tup_inserted|tup_updated)_rate", POSTGRES),
            Cause("pg_table_n_tup_(ins|upd)_rate", POSTGRES),
        ),
        symptoms=SLOW_SHOP,
    ),
    Kind(
        name="connections_exhausted",
        services=("postgres",),
        what="a process takes every connection of the database that gets free",
        causes=(
            Cause("pg_connections|pg_backends", POSTGRES),
            Cause("pg_(xact_commit|tup_fetched|tup_inserted)_rate", POSTGRES),
            Cause("group_processes|group_memory_bytes", {"group": "postgres"}),
        ),
        symptoms=SLOW_SHOP,
    ),
    Kind(
        name="password_wrong",
        services=("postgres",),
        what="the password of the application in the database is changed, and changed back",
        causes=(
            Cause("pg_connections|pg_backends", POSTGRES),
            Cause("pg_(xact_commit|tup_fetched|tup_inserted|tup_returned)_rate", POSTGRES),
        ),
        symptoms=SLOW_SHOP,
    ),
    Kind(
        name="cache_flushed",
        services=("redis",),
        what="the cache is emptied twice per second",
        causes=(
            Cause("redis_keys|redis_expiring_keys|redis_memory_used_bytes", REDIS),
            Cause("redis_(hits|misses)_rate", REDIS),
            Cause("redis_command_(rate|cpu)", {**REDIS, "command": "flushall"}),
        ),
        symptoms=(
            Cause("cache_(hit|miss)_rate|db_call_rate", APP),
            Cause("pg_table_idx_scan_rate", {**POSTGRES, "table": "items"}),
        ),
    ),
    Kind(
        name="retry_storm",
        services=("customers",),
        what="customers lose patience after 12 ms and try again up to 8 times at once",
        causes=(
            Cause("http_request_rate|http_error_rate|retry_rate|http_request_seconds", CUSTOMERS),
            Cause("in_flight|cpu", CUSTOMERS),
        ),
        symptoms=(
            Cause("nginx_(accepted|requests)_rate|nginx_connections_.*", NGINX),
            Cause("http_request_rate", APP),
        ),
        draw=lambda rng: {"retries": 8, "patience": 0.012},
    ),
    # Between the application and the database: variables of either side count as causes.
    network_slow(
        (
            Cause("pg_connections|pg_xact_commit_rate|up", POSTGRES),
            Cause("db_(call_seconds|error_rate|free_places)", APP),
        ),
        SLOW_SHOP,
        "postgres",
    ),
    memory_leak("app"),
    replica_slow("app"),
    crash_loop("app"),
    bad_rollout("app"),
    exporter_silent("nginx", "postgres", "redis"),
    CPU_NEIGHBOUR,
    DISK_SYNC,
)

ROUTINES = (
    Routine(name="rollout", services=("app",), draw=lambda rng: {}, weight=3),
    Routine(name="scale", services=("app",), draw=scale_draw(2, 5), weight=2),
    Routine(name="job", services=(JOB,), draw=job_draw, weight=3),
    Routine(name="report", services=("report",), draw=lambda rng: {"days": rng.randint(2, 9)}),
)
