"""The stack: Prometheus, the exporters, Redis with its clients, and the fleet, all on loopback.

In: a folder and the pods to start. Out: running processes that end with the stack, and a targets
file that names the pods to scrape.
"""

import json
import signal
import subprocess
import sys
import urllib.request
from collections.abc import Iterable
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from tools.stack.processes import end, free_port, start, words_of
from tools.stack.processes import missing_programs as missing_of
from tools.stack.prometheus import answered, wait_for, write_targets
from tools.stack.prometheus import start_prometheus as start_over

__all__ = ["PROGRAMS", "QUERY", "SCRAPE_SECONDS", "Stack", "missing_programs", "start_prometheus"]

PROGRAMS = (
    "prometheus",
    "prometheus-node-exporter",
    "redis-server",
    "prometheus-redis-exporter",
)

SCRAPE_SECONDS = 2

# All series of all jobs, as a user would watch them.
QUERY = '{job=~"fleet|node|redis"}'

# Default collectors of the node exporter, except those whose labels name the host or its addresses.
LEFT_OUT_COLLECTORS = ("arp", "netclass", "systemd", "uname")

START_SECONDS = 30.0


class Stack:
    """All processes of the trial; use it as a context manager.

    Parameters
    ----------
    folder
        folder for storage, logs and other files of the processes.
    seed
        seed of the fleet and of the Redis clients.
    """

    def __init__(self, folder: Path, seed: int) -> None:
        self.folder, self.seed = folder, seed
        self.ports = {name: free_port() for name in ("prometheus", "node", "redis", "exporter")}
        self.ports["fleet"] = free_port()
        self.pods: dict[str, str] = {}  # name -> service of the pods that Prometheus scrapes
        self.leaving: dict[str, str] = {}  # the same of pods that still run but are not scraped
        self.troubles: list[dict[str, Any]] = []
        self._commands: dict[str, list[str]] = {}
        self._processes: dict[str, subprocess.Popen[bytes]] = {}

    @property
    def url(self) -> str:
        """Address of Prometheus."""
        return f"http://127.0.0.1:{self.ports['prometheus']}"

    def __enter__(self) -> Self:
        if missing := missing_programs():
            raise SystemExit(f"{', '.join(missing)} not found; apt install {' '.join(missing)}")
        try:
            self._start_all()
        except BaseException:
            self.close()
            raise
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    def close(self) -> None:
        """End all processes."""
        for process in self._processes.values():
            process.send_signal(signal.SIGCONT)
            process.terminate()
        for process in self._processes.values():
            end(process, patience=30.0)
        self._processes.clear()

    # ------------------------------------------------------------------ processes

    def start(self, name: str, *command: object) -> None:
        """Start a process under a name; it ends with this one."""
        self._commands[name] = [str(one) for one in command]
        self._processes[name] = start(self._commands[name], self.folder / f"{name}.log")

    def start_own(self, role: str, **options: object) -> None:
        """Start one of this package's roles as a process of that name."""
        self.start(role, sys.executable, "-m", "tools.livetrial", role, *words_of(options))

    def end(self, name: str, *, kill: bool = False) -> None:
        """Terminate a process, or kill it with SIGKILL."""
        process = self._processes.pop(name)
        if kill:
            process.kill()
            process.wait()
        else:
            end(process)

    def start_again(self, name: str) -> None:
        """Start a process that was killed as it was started before."""
        if name == "prometheus":
            self._start_prometheus()
            return
        self.start(name, *self._commands[name])
        if name == "fleet":
            self._tell_fleet()

    def signal(self, name: str, number: signal.Signals) -> None:
        """Send a signal to a process."""
        self._processes[name].send_signal(number)

    def start_redis(self) -> None:
        """Start Redis without persistence."""
        words = ("--port", self.ports["redis"], "--bind", "127.0.0.1", "--save", "")
        self.start("redis", "redis-server", *words, "--dir", self.folder)

    def _start_all(self) -> None:
        ports = self.ports
        self.start(
            "node",
            "prometheus-node-exporter",
            f"--web.listen-address=127.0.0.1:{ports['node']}",
            *(f"--no-collector.{name}" for name in LEFT_OUT_COLLECTORS),
        )
        self.start_redis()
        self.start(
            "exporter",
            "prometheus-redis-exporter",
            f"-redis.addr=redis://127.0.0.1:{ports['redis']}",
            f"-web.listen-address=127.0.0.1:{ports['exporter']}",
        )
        self.start_own("fleet", port=ports["fleet"], seed=self.seed)
        self.start_own("clients", port=ports["redis"], seed=self.seed)
        targets = self._targets
        targets.parent.mkdir(parents=True, exist_ok=True)
        targets.write_text("[]", encoding="utf-8")
        self._config.write_text(json.dumps(_config(ports, targets)), encoding="utf-8")
        self._start_prometheus()
        wait_for(f"{self.url}/-/ready", START_SECONDS)
        wait_for(f"http://127.0.0.1:{ports['node']}/metrics", START_SECONDS)
        wait_for(f"http://127.0.0.1:{ports['exporter']}/metrics", START_SECONDS)

    def _start_prometheus(self) -> None:
        port = self.ports["prometheus"]
        self._processes["prometheus"] = start_prometheus(self.folder, self._config, port)

    @property
    def _config(self) -> Path:
        return self.folder / "prometheus.yml"

    # ------------------------------------------------------------------ fleet

    def start_pods(self, pods: Iterable[tuple[str, str]]) -> None:
        """Start pods, given as (service, name), and add them to the targets of Prometheus."""
        self.pods |= {name: service for service, name in pods}
        self._tell_fleet()
        self._write_targets()

    def retire(self, pod: str) -> None:
        """Remove a pod from the targets of Prometheus; it runs until :meth:`finish`."""
        self.leaving[pod] = self.pods.pop(pod)
        self._write_targets()

    def finish(self, pod: str) -> None:
        """End a pod that was retired."""
        del self.leaving[pod]
        self._tell_fleet()

    def trouble(self, about: dict[str, Any]) -> None:
        """Begin a fault that the fleet simulates."""
        self.troubles.append(about)
        self._tell_fleet()

    def relieve(self, about: dict[str, Any]) -> None:
        """End a fault that the fleet simulates."""
        self.troubles.remove(about)
        self._tell_fleet()

    @property
    def _targets(self) -> Path:
        return self.folder / "targets" / "fleet.json"

    def _tell_fleet(self) -> None:
        """Tell the fleet its pods and troubles; one that was killed is told when it is back."""
        if "fleet" not in self._processes:
            return
        running = {**self.pods, **self.leaving}
        pods = [{"pod": pod, "service": service} for pod, service in running.items()]
        body = json.dumps({"pods": pods, "troubles": self.troubles}).encode()
        request = urllib.request.Request(
            f"http://127.0.0.1:{self.ports['fleet']}/control", data=body, method="POST"
        )
        answered(request, START_SECONDS)

    def _write_targets(self) -> None:
        """Write the targets file atomically."""
        entries = [
            {
                "targets": [f"127.0.0.1:{self.ports['fleet']}"],
                "labels": {
                    "__metrics_path__": f"/pods/{pod}/metrics",
                    "instance": pod,
                    "pod": pod,
                    "service": service,
                },
            }
            for pod, service in self.pods.items()
        ]
        write_targets(self._targets, entries)


def missing_programs() -> list[str]:
    """Return the programs that are not installed; each has the name of its Debian package."""
    return missing_of(PROGRAMS)


def start_prometheus(folder: Path, config: Path, port: int) -> subprocess.Popen[bytes]:
    """Start Prometheus with its storage in a folder."""
    return start_over(
        folder,
        config,
        port,
        "prometheus.log",
        "--storage.tsdb.retention.time=1000d",
        "--log.level=warn",
    )


def _config(ports: dict[str, int], targets: Path) -> dict[str, Any]:
    """Return the configuration of Prometheus, written as JSON, which is valid YAML."""

    def job(name: str, port: int, instance: str) -> dict[str, Any]:
        static = {"targets": [f"127.0.0.1:{port}"], "labels": {"instance": instance}}
        return {"job_name": name, "static_configs": [static]}

    every = f"{SCRAPE_SECONDS}s"
    return {
        "global": {"scrape_interval": every, "scrape_timeout": every},
        "scrape_configs": [
            job("node", ports["node"], "host"),
            job("redis", ports["exporter"], "cache"),
            {
                "job_name": "fleet",
                "file_sd_configs": [{"files": [str(targets)], "refresh_interval": "5s"}],
            },
        ],
    }
