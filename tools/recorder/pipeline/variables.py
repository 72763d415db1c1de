"""The Prometheus queries of the pipeline's variables.

In: nothing. Out: queries of RabbitMQ, the small file system and the workers.
"""

from tools.recorder.monitoring import of_service, worker_queries
from tools.stack.queries import Query, rate

__all__ = ["QUERIES"]

_GAUGES = (
    "rabbitmq_connections",
    "rabbitmq_channels",
    "rabbitmq_consumers",
    "rabbitmq_queues",
    "rabbitmq_process_resident_memory_bytes",
    "rabbitmq_process_open_fds",
    "rabbitmq_process_open_tcp_sockets",
    "rabbitmq_erlang_processes_used",
    "rabbitmq_erlang_scheduler_run_queue",
)
_COUNTERS = {
    "rabbitmq_published_rate": "rabbitmq_global_messages_received_total",
    "rabbitmq_delivered_rate": "rabbitmq_global_messages_delivered_total",
    "rabbitmq_acknowledged_rate": "rabbitmq_global_messages_acknowledged_total",
    "rabbitmq_redelivered_rate": "rabbitmq_global_messages_redelivered_total",
    "rabbitmq_connections_opened_rate": "rabbitmq_connections_opened_total",
    "rabbitmq_connections_closed_rate": "rabbitmq_connections_closed_total",
    "rabbitmq_auth_failed_rate": "rabbitmq_auth_attempts_failed_total",
    "rabbitmq_auth_succeeded_rate": "rabbitmq_auth_attempts_succeeded_total",
    "rabbitmq_io_write_bytes": "rabbitmq_io_write_bytes_total",
    "rabbitmq_reductions_rate": "erlang_vm_statistics_reductions_total",
    "rabbitmq_context_switches_rate": "erlang_vm_statistics_context_switches",
}
_OF_QUEUE = ("messages_ready", "messages_unacked")

QUERIES: tuple[Query, ...] = (
    *(of_service(name, f"sum by (service) ({name})") for name in _GAUGES),
    *(of_service(name, rate(counter, "service")) for name, counter in _COUNTERS.items()),
    *(
        of_service(
            f"rabbitmq_queue_{name}",
            f"sum by (service, queue) (rabbitmq_detailed_queue_{name})",
            queue="queue",
        )
        for name in _OF_QUEUE
    ),
    of_service(
        "rabbitmq_queue_reductions_rate",
        rate("rabbitmq_detailed_queue_process_reductions_total", "service, queue"),
        queue="queue",
    ),
    Query(
        metric="volume_available_bytes",
        query='sum (node_filesystem_avail_bytes{mountpoint="/mnt/volume"})',
        labels={},
    ),
    Query(
        metric="volume_files_free",
        query='sum (node_filesystem_files_free{mountpoint="/mnt/volume"})',
        labels={},
    ),
    *worker_queries(
        gauges=("job_progress",),
        rates=("call", "call_error", "task", "task_error", "connect", "job_rows"),
        means=("call", "task"),
    ),
)
