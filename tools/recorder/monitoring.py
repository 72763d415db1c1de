"""Monitoring of a system by Prometheus, the node exporter and the process exporter.

In: a folder and the members' targets file. Out: running processes, and the queries of a dataset.
"""

import json
import subprocess
from pathlib import Path

from tools.stack.processes import end, free_port, start
from tools.stack.prometheus import COLLECTORS, start_prometheus, wait_for
from tools.stack.queries import GROUP_QUERIES, NODE_QUERIES, Query, mean_seconds, rate

__all__ = [
    "MACHINE_QUERIES",
    "MONITORING_PROGRAMS",
    "SCRAPE_SECONDS",
    "Monitoring",
    "of_pods",
    "of_service",
    "worker_queries",
]

SCRAPE_SECONDS = 2

MONITORING_PROGRAMS = {
    "prometheus": "prometheus",
    "prometheus-node-exporter": "prometheus-node-exporter",
    "prometheus-process-exporter": "prometheus-process-exporter",
}

# Group of processes -> their names in the kernel (at most 15 characters). The recorder's own
# processes name their group in an option; all other processes form one group.
COMMANDS = {
    "monitoring": (
        "prometheus",
        "prometheus-node",
        "prometheus-proc",
        "prometheus-ngin",
        "prometheus-post",
        "prometheus-redi",
    ),
    "nginx": ("nginx",),
    "postgres": ("postgres",),
    "redis": ("redis-server",),
    "rabbitmq": ("beam.smp", "epmd", "erl_child_setup", "inet_gethost"),
    "stress": ("stress-ng", "stress-ng-cpu", "stress-ng-hdd", "stress-ng-vm"),
}

MACHINE_QUERIES = (
    *NODE_QUERIES,
    *GROUP_QUERIES,
    Query(metric="up", query='up{job=~"node|process"}', labels={"job": "exporter"}),
    Query(metric="up", query='up{job="members"}', labels={"pod": "pod", "service": "service"}),
)


def of_pods(metric: str, query: str, **further: str) -> Query:
    """Return a query whose variables keep the labels pod and service, and ``further``, renamed."""
    labels = {"pod": "pod", "service": "service", **further}
    return Query(metric=metric, query=query, labels=labels)


def of_service(metric: str, query: str, **further: str) -> Query:
    """Return a query whose variables keep the label service, and ``further``, renamed."""
    return Query(metric=metric, query=query, labels={"service": "service", **further})


def worker_queries(
    *, gauges: tuple[str, ...] = (), rates: tuple[str, ...] = (), means: tuple[str, ...] = ()
) -> tuple[Query, ...]:
    """Return the queries of the recorder's own processes.

    Parameters
    ----------
    gauges
        names of gauges in ``/metrics``.
    rates
        ``x`` for the counter ``x_total``.
    means
        ``x`` for the mean of ``x_seconds_sum`` over ``x_total``.
    """
    by = "pod, service"
    return (
        of_pods("cpu", rate('process_cpu_seconds_total{job="members",pod!=""}', by)),
        of_pods("memory_bytes", 'process_resident_memory_bytes{job="members",pod!=""}'),
        of_pods("in_flight", "in_flight"),
        *(of_pods(name, name) for name in gauges),
        *(of_pods(f"{name}_rate", rate(f"{name}_total", by)) for name in rates),
        *(
            of_pods(f"{name}_seconds", mean_seconds(f"{name}_seconds_sum", f"{name}_total", by))
            for name in means
        ),
    )


class Monitoring:
    """Prometheus and the exporters of the machine."""

    def __init__(self, folder: Path, targets: Path) -> None:
        self.folder, self.targets = folder, targets
        self.processes: dict[str, subprocess.Popen[bytes]] = {}
        self.url = ""

    def start(self) -> None:
        """Start the processes and wait until Prometheus answers."""
        ports = {name: free_port() for name in ("prometheus", "node", "process")}
        config, groups = self.folder / "prometheus.yml", self.folder / "groups.yml"
        config.write_text(json.dumps(_config(ports, self.targets)), encoding="utf-8")
        groups.write_text(json.dumps(_groups()), encoding="utf-8")
        self.processes["node"] = start(
            [
                "prometheus-node-exporter",
                f"--web.listen-address=127.0.0.1:{ports['node']}",
                "--collector.disable-defaults",
                *(f"--collector.{name}" for name in COLLECTORS),
                # Debian's default leaves out /mnt, where the file systems of a recording are.
                "--collector.filesystem.mount-points-exclude=^/(dev|proc|run|sys)($|/)",
            ],
            self.folder / "node.log",
        )
        self.processes["process"] = start(
            [
                "prometheus-process-exporter",
                f"-web.listen-address=127.0.0.1:{ports['process']}",
                f"-config.path={groups}",
                "-threads=false",
                "-gather-smaps=false",
            ],
            self.folder / "process.log",
        )
        self.processes["prometheus"] = start_prometheus(self.folder, config, ports["prometheus"])
        self.url = f"http://127.0.0.1:{ports['prometheus']}"
        wait_for(f"{self.url}/-/ready")

    def close(self) -> None:
        """End the processes; Prometheus gets up to 30 s to write its data."""
        for name in ("node", "process"):
            if name in self.processes:
                self.processes[name].kill()
                self.processes[name].wait()
        if "prometheus" in self.processes:
            end(self.processes["prometheus"], patience=30.0)


def _config(ports: dict[str, int], targets: Path) -> dict[str, object]:
    """Return the configuration of Prometheus, written as JSON, which is valid YAML."""
    every = f"{SCRAPE_SECONDS}s"
    fixed = [
        {"job_name": name, "static_configs": [{"targets": [f"127.0.0.1:{ports[name]}"]}]}
        for name in ("node", "process")
    ]
    discovery = {"files": [str(targets)], "refresh_interval": "5s"}
    return {
        "global": {"scrape_interval": every, "scrape_timeout": every},
        "scrape_configs": [*fixed, {"job_name": "members", "file_sd_configs": [discovery]}],
    }


def _groups() -> dict[str, object]:
    """Return the configuration of the process exporter, which uses the first group that matches."""
    own = {"name": "{{.Matches.Group}}", "cmdline": ["--group=(?P<Group>[a-z]+)"]}
    known = [{"name": name, "comm": list(commands)} for name, commands in COMMANDS.items()]
    return {"process_names": [own, *known, {"name": "other", "cmdline": [".+"]}]}
