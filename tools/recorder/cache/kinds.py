"""The faults and the routine changes of the cache tier.

In: nothing. Out: kinds of faults with the variables that they affect, and routine changes.
"""

from tools.recorder.faults import (
    CPU_NEIGHBOUR,
    DISK_SYNC,
    bad_rollout,
    exporter_silent,
    memory_leak,
    network_slow,
)
from tools.recorder.kinds import Cause, Kind
from tools.recorder.schedule import Routine
from tools.recorder.system import JOB, job_draw, scale_draw

__all__ = ["KINDS", "ROUTINES"]

NODE = {"pod": "{pod}"}
NODES, CLIENTS = {"service": "redis"}, {"service": "client"}

SLOW_CLIENTS = (Cause("call_seconds|in_flight|call_error_rate|call_rate", CLIENTS),)
MISSES = (Cause("cache_(hit|miss)_rate|call_seconds", CLIENTS),)

KINDS: tuple[Kind, ...] = (
    Kind(
        name="cache_flushed",
        services=("redis",),
        of_pod=True,
        what="one node is emptied twice per second",
        causes=(
            Cause("redis_(keys|expiring_keys|memory_used_bytes|hits_rate|misses_rate)", NODE),
            Cause("redis_command_(rate|cpu)", {**NODE, "command": "flushall"}),
        ),
        symptoms=MISSES,
    ),
    Kind(
        name="node_slow",
        services=("redis",),
        of_pod=True,
        what="somebody runs scripts of 30 ms one after another on one node",
        causes=(
            Cause("redis_cpu|redis_slowlog_length|scrape_seconds|redis_commands_rate", NODE),
            Cause("redis_command_(rate|cpu)", NODE),
            Cause("group_cpu", {"group": "redis"}),
        ),
        symptoms=SLOW_CLIENTS,
    ),
    Kind(
        name="node_crash_loop",
        services=("redis",),
        of_pod=True,
        what="one node is killed every few seconds and starts again, empty, under its name",
        causes=(Cause(".*", NODE),),
        symptoms=(*SLOW_CLIENTS, *MISSES),
    ),
    Kind(
        name="client_flood",
        services=("redis",),
        of_pod=True,
        what="300 further connections to one node, each with a ping per second",
        causes=(
            Cause("redis_connected_clients|redis_connections_rate", NODE),
            Cause("redis_commands_rate|redis_memory_used_(rss_)?bytes|redis_cpu", NODE),
            Cause("group_open_files", {"group": "redis"}),
        ),
    ),
    Kind(
        name="memory_cut",
        services=("redis",),
        of_pod=True,
        what="one node gets a memory limit that holds less than half of its keys, and evicts",
        causes=(
            Cause("redis_(evicted_rate|keys|expiring_keys|memory_used_bytes)", NODE),
            Cause("redis_(hits|misses)_rate", NODE),
        ),
        symptoms=MISSES,
    ),
    Kind(
        name="hot_key",
        services=("client",),
        what="6 of 10 reads are of one key, so that one node has most of the work",
        causes=(
            Cause("redis_(commands_rate|hits_rate|input_bytes|output_bytes|cpu)", NODE),
            Cause("redis_command_(rate|cpu)", {**NODE, "command": "get"}),
            *MISSES,
        ),
    ),
    Kind(
        name="password_wrong",
        services=("redis",),
        of_pod=True,
        what="the password of one node is changed, and changed back",
        causes=(Cause(".*", NODE),),
        symptoms=SLOW_CLIENTS,
    ),
    Kind(
        name="clock_jump",
        services=("client",),
        what="the clients tell the time an hour slow, so that what they write is expired at once",
        causes=(
            Cause("redis_expired_rate", NODES),
            Cause("redis_command_(rate|cpu)", {**NODES, "command": "set"}),
            *MISSES,
        ),
        symptoms=(Cause("redis_(keys|expiring_keys|hits_rate|misses_rate)", NODES),),
    ),
    # Between the clients and the nodes: variables of either side count as causes.
    network_slow(
        (
            Cause("redis_(commands|hits|misses)_rate|redis_output_bytes|redis_up", NODES),
            Cause("redis_command_rate|redis_connected_clients|scrape_seconds|up", NODES),
            *SLOW_CLIENTS,
        ),
        MISSES,
        "redis",
    ),
    bad_rollout("client"),
    memory_leak("client"),
    exporter_silent("redis"),
    CPU_NEIGHBOUR,
    DISK_SYNC,
)

ROUTINES = (
    Routine(name="replace", services=("redis",), draw=lambda rng: {}, weight=4),
    Routine(name="rollout", services=("client",), draw=lambda rng: {}, weight=2),
    Routine(name="scale", services=("client",), draw=scale_draw(2, 4), weight=2),
    Routine(name="job", services=(JOB,), draw=job_draw, weight=2),
)
