"""The fleet: named replicas and jobs, and the file of targets that Prometheus reads.

In: replicas to start, replace, retire or disturb. Out: processes, and an up-to-date targets file.
"""

import random
import subprocess
import urllib.request
from dataclasses import dataclass, field
from pathlib import Path

from tools.hostwatch.processes import start_own
from tools.hostwatch.schedule import SERVICES, Service
from tools.stack.processes import end, free_port
from tools.stack.prometheus import write_targets

__all__ = ["CLIENT_RATE", "Fleet", "Pod"]

# Mean requests per second of the client.
CLIENT_RATE = 14.0

# Letters of the names that Kubernetes generates: no vowels and no look-alikes.
LETTERS = "bcdfghjklmnpqrstvwxz2456789"


@dataclass(kw_only=True)
class Pod:
    """A named process that Prometheus scrapes; a restart replaces the process, not the pod."""

    name: str
    service: str
    port: int
    process: subprocess.Popen[bytes]
    options: dict[str, object] = field(default_factory=dict)
    is_crashing: bool = False

    @property
    def is_running(self) -> bool:
        """Whether the process is running."""
        return self.process.poll() is None


class Fleet:
    """All pods by name; a pod that leaves is removed from the targets before its process ends."""

    def __init__(self, folder: Path, seed: int) -> None:
        self.folder = folder
        self.targets = folder / "targets" / "fleet.json"
        self.targets.parent.mkdir(parents=True, exist_ok=True)
        self.seed = seed
        self.rng = random.Random(seed + 1)
        self.pods: dict[str, Pod] = {}
        self.leaving: list[Pod] = []
        self.revisions = {service.name: self._word(8) for service in SERVICES}
        self.write_targets()

    def start_all(self) -> None:
        """Start the usual number of replicas of every service, and the client."""
        for service in SERVICES:
            for _ in range(service.replicas):
                self.start_replica(service)
        self._start(
            "client", "client", "client", rate=CLIENT_RATE, seed=self.seed, targets=self.targets
        )

    def replicas(self, service: str) -> list[Pod]:
        """Return the replicas of a service, oldest first."""
        return [pod for pod in self.pods.values() if pod.service == service]

    def start_replica(self, service: Service) -> Pod:
        """Start a replica under a new name."""
        return self._start(
            "replica",
            service.name,
            f"{service.name}-{self.revisions[service.name]}-{self._word(5)}",
            calls=",".join(service.calls),
            work_seconds=service.work_seconds,
            targets=self.targets,
        )

    def start_job(self, seconds: float, share: float, megabytes: int) -> Pod:
        """Start a short job under a new name."""
        name = f"job-{self._word(5)}"
        return self._start("job", "job", name, seconds=seconds, share=share, megabytes=megabytes)

    def new_revision(self, service: str) -> None:
        """Choose a new revision for the names of replicas that start from now on."""
        self.revisions[service] = self._word(8)

    def start_again(self, pod: Pod) -> None:
        """Start the process of a pod again, with the same name and port."""
        role = "replica" if pod.service not in ("client", "job") else pod.service
        pod.process = start_own(
            role, pod.service, self.folder / "fleet.log", port=pod.port, **pod.options
        )

    def leave(self, pod: Pod) -> None:
        """Remove a pod from the targets; its process runs until :meth:`finish`."""
        del self.pods[pod.name]
        self.leaving.append(pod)
        self.write_targets()

    def finish(self, pod: Pod) -> None:
        """End the process of a pod that is leaving."""
        end(pod.process)
        self.leaving.remove(pod)

    def control(self, pod: Pod, **words: object) -> None:
        """Tell a replica to begin or end a fault."""
        query = "&".join(f"{name}={value}" for name, value in words.items())
        with urllib.request.urlopen(f"http://127.0.0.1:{pod.port}/control?{query}", timeout=10):
            pass

    def end_all(self) -> None:
        """End every process."""
        for pod in [*self.pods.values(), *self.leaving]:
            end(pod.process)

    def write_targets(self) -> None:
        """Write the targets file atomically."""
        entries = [
            {
                "targets": [f"127.0.0.1:{pod.port}"],
                "labels": {"service": pod.service, "pod": pod.name},
            }
            for pod in self.pods.values()
        ]
        write_targets(self.targets, entries)

    def _start(self, role: str, service: str, name: str, **options: object) -> Pod:
        port = free_port()
        process = start_own(role, service, self.folder / "fleet.log", port=port, **options)
        pod = Pod(name=name, service=service, port=port, process=process, options=options)
        self.pods[name] = pod
        self.write_targets()
        return pod

    def _word(self, n: int) -> str:
        return "".join(self.rng.choice(LETTERS) for _ in range(n))
