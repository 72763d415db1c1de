"""The faults and the routine changes of the pipeline.

In: nothing. Out: kinds of faults with the variables that they affect, and routine changes.
"""

from tools.recorder.faults import (
    CPU_NEIGHBOUR,
    DISK_SYNC,
    bad_rollout,
    crash_loop,
    memory_leak,
    network_slow,
    replica_slow,
)
from tools.recorder.kinds import MACHINE, Cause, Kind
from tools.recorder.pipeline.workers import QUEUES
from tools.recorder.schedule import Routine
from tools.recorder.system import JOB, job_draw, scale_draw

__all__ = ["KINDS", "ROUTINES"]

CONSUMERS = tuple(QUEUES)
BROKER, PRODUCERS = {"service": "rabbitmq"}, {"service": "producer"}
SERVICE = {"service": "{service}"}
QUEUE = {"service": "rabbitmq", "queue": "{service}"}

TASKS = "task_seconds|task_error_rate|task_rate|in_flight|connect_rate"
TRAFFIC = "rabbitmq_(published|delivered|acknowledged|redelivered|reductions)_rate"

KINDS: tuple[Kind, ...] = (
    Kind(
        name="disk_full",
        services=(MACHINE,),
        what="the small file system that the consumers write to is filled to the last byte",
        causes=(Cause("volume_available_bytes"),),
        symptoms=(
            Cause(TASKS, {"pod": "{pods}"}),
            Cause("rabbitmq_queue_messages_(ready|unacked)|rabbitmq_redelivered_rate", BROKER),
        ),
    ),
    Kind(
        name="lock_held",
        services=CONSUMERS,
        what="a process holds the lock that every consumer of a queue needs to note a result",
        causes=(
            Cause(TASKS, SERVICE),
            Cause("rabbitmq_queue_messages_(ready|unacked)|rabbitmq_queue_reductions_rate", QUEUE),
        ),
        symptoms=(Cause("rabbitmq_(delivered|acknowledged)_rate", BROKER),),
    ),
    Kind(
        name="retry_storm",
        services=CONSUMERS,
        what="20 messages that cannot be processed are returned and delivered again and again",
        causes=(
            Cause(TASKS + "|cpu", SERVICE),
            Cause("rabbitmq_queue_reductions_rate|rabbitmq_queue_messages_.*", QUEUE),
        ),
        symptoms=(Cause(TRAFFIC, BROKER), Cause("group_cpu", {"group": "rabbitmq"})),
    ),
    Kind(
        name="traffic_burst",
        services=("producer",),
        what="producers send 6 times as many messages",
        causes=(Cause("call_rate|cpu", PRODUCERS), Cause("group_cpu", {"group": "producer"})),
        symptoms=(
            Cause(TRAFFIC, BROKER),
            Cause("rabbitmq_queue_.*", BROKER),
            Cause("group_cpu", {"group": "rabbitmq"}),
        ),
        draw=lambda rng: {"burst": 6},
    ),
    Kind(
        name="password_wrong",
        services=("rabbitmq",),
        what="the password of the workers is changed in the broker, and changed back",
        causes=(
            Cause("rabbitmq_auth_.*|rabbitmq_(connections|channels|consumers)", BROKER),
            Cause("rabbitmq_(published|delivered|acknowledged)_rate", BROKER),
        ),
        symptoms=(
            Cause("call_error_rate|call_rate|call_seconds", PRODUCERS),
            Cause(TASKS, {"pod": "{pods}"}),
        ),
    ),
    Kind(
        name="connection_flood",
        services=("rabbitmq",),
        what="120 further connections to the broker",
        causes=(
            Cause("rabbitmq_(connections|channels)|rabbitmq_connections_opened_rate", BROKER),
            Cause("rabbitmq_process_open_.*|rabbitmq_erlang_processes_used", BROKER),
            Cause("rabbitmq_auth_succeeded_rate", BROKER),
        ),
        symptoms=(Cause("node_tcp_(in_use|established|opened)"),),
    ),
    Kind(
        name="exporter_silent",
        services=("process",),
        what="the process exporter is stopped",
        causes=(Cause("group_.*"), Cause("up", {"exporter": "process"})),
    ),
    # Between the broker and its clients: variables of either side count as causes.
    network_slow(
        (
            Cause("call_seconds|call_rate|call_error_rate", PRODUCERS),
            Cause("rabbitmq_(published|delivered)_rate", BROKER),
        ),
        (
            Cause(TASKS, {"pod": "{pods}"}),
            Cause("rabbitmq_queue_messages_.*", BROKER),
        ),
        "rabbitmq",
    ),
    memory_leak(*CONSUMERS),
    replica_slow(*CONSUMERS),
    crash_loop(*CONSUMERS),
    bad_rollout("images"),
    CPU_NEIGHBOUR,
    DISK_SYNC,
)

ROUTINES = (
    Routine(name="rollout", services=(*CONSUMERS, "producer"), draw=lambda rng: {}, weight=3),
    Routine(name="scale", services=CONSUMERS, draw=scale_draw(2, 4), weight=3),
    Routine(name="job", services=(JOB,), draw=job_draw, weight=2),
    Routine(
        name="batch",
        services=("batch",),
        draw=lambda rng: {"queue": rng.choice(CONSUMERS), "messages": rng.randint(100, 250)},
        weight=2,
    ),
    Routine(name="clean", services=("storage",), draw=lambda rng: {}, weight=3),
)
