"""Members: the processes of a system under names of their own, and the file of Prometheus' targets.

In: what to start, retire or disturb. Out: processes, and a targets file kept up to date.
"""

import random
import subprocess
import sys
import urllib.request
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tools.stack.processes import end, free_port, start, words_of
from tools.stack.prometheus import write_targets

__all__ = ["Member", "Members"]

# Letters of Kubernetes' generated names: no vowels, nothing that reads like another.
LETTERS = "bcdfghjklmnpqrstvwxz2456789"


@dataclass(kw_only=True, eq=False)
class Member:
    """One process; it is another one after a restart under the same name.

    Parameters
    ----------
    name
        of the pod; empty for what is there once and keeps its place.
    service
        the service it belongs to, and its group of processes.
    port
        of the member itself.
    restart
        starts the process.
    target
        Prometheus' entry; None for a process that is not scraped.
    """

    name: str
    service: str
    port: int
    restart: Callable[[], subprocess.Popen[bytes]]
    process: subprocess.Popen[bytes]
    target: dict[str, Any] | None = None
    role: str = ""
    options: dict[str, object] = field(default_factory=dict)
    is_crashing: bool = False

    @property
    def is_running(self) -> bool:
        """Whether the process lives."""
        return self.process.poll() is None


class Members:
    """All members; one that leaves is gone from the targets first.

    Parameters
    ----------
    folder
        for logs and the targets file.
    seed
        of the names.
    """

    def __init__(self, folder: Path, seed: int) -> None:
        self.folder = folder
        self.targets = folder / "targets" / "members.json"
        self.targets.parent.mkdir(parents=True, exist_ok=True)
        self.rng = random.Random(seed + 1)
        self.present: list[Member] = []
        self.leaving: list[Member] = []
        self.further_targets: list[dict[str, Any]] = []
        self.revisions: dict[str, str] = {}
        self.changed: Callable[[], None] = lambda: None
        self.tell()

    # ------------------------------------------------------------------ who is there

    def of(self, service: str) -> list[Member]:
        """Return the replicas of a service, the oldest first."""
        return [one for one in self.present if one.service == service and one.name]

    def find(self, service: str, role: str) -> Member:
        """Return the member of a service that has a role, such as ``exporter``."""
        return next(one for one in self.present if (one.service, one.role) == (service, role))

    # ------------------------------------------------------------------ coming

    def start(
        self,
        service: str,
        command: list[str],
        *,
        role: str = "",
        name: str = "",
        port: int = 0,
        scraped_at: int = 0,
        scrape: dict[str, str] | None = None,
        environment: dict[str, str] | None = None,
    ) -> Member:
        """Start a program as a member.

        Parameters
        ----------
        service, role, name, port
            as in :class:`Member`.
        command
            the program and its words.
        scraped_at
            port of its metrics; 0 for a member that is not scraped.
        scrape
            further labels of the target, such as ``__metrics_path__``.
        environment
            of the process; that of this one by default.
        """
        log = self.folder / "logs" / f"{name or f'{service}-{role}'}.log"
        log.parent.mkdir(exist_ok=True)

        def restart() -> subprocess.Popen[bytes]:
            return start(command, log, environment)

        target = None
        if scraped_at:
            labels = {"service": service, **({"pod": name} if name else {}), **(scrape or {})}
            target = {"targets": [f"127.0.0.1:{scraped_at}"], "labels": labels}
        one = Member(
            name=name,
            service=service,
            port=port,
            restart=restart,
            process=restart(),
            target=target,
            role=role,
        )
        self.present.append(one)
        self.tell()
        return one

    def start_own(self, role: str, service: str, **options: object) -> Member:
        """Start one of the recorder's own roles as a replica under a new name."""
        name, port = self.new_name(service), free_port()
        words = words_of({"group": service, "port": port, **options})
        one = self.start(
            service,
            [sys.executable, "-m", "tools.recorder", role, *words],
            role=role,
            name=name,
            port=port,
            scraped_at=port,
        )
        one.options = options
        return one

    def new_name(self, service: str) -> str:
        """Return a name as Kubernetes gives it: service, revision, replica."""
        revision = self.revisions.setdefault(service, self._word(8))
        return f"{service}-{revision}-{self._word(5)}"

    def new_revision(self, service: str) -> None:
        """Let the replicas that start from now on carry another revision in their names."""
        self.revisions[service] = self._word(8)

    def start_again(self, one: Member) -> None:
        """Start a member's process again, under its name and on its port."""
        one.process = one.restart()

    # ------------------------------------------------------------------ going

    def leave(self, one: Member) -> None:
        """Take a member out of the targets; its process goes on until it is finished."""
        self.present.remove(one)
        self.leaving.append(one)
        self.tell()

    def finish(self, one: Member) -> None:
        """End the process of a member that is leaving."""
        end(one.process)
        self.leaving.remove(one)

    def end_all(self) -> None:
        """End every process."""
        for one in [*reversed(self.present), *self.leaving]:
            one.process.kill()
            one.process.wait()

    # ------------------------------------------------------------------ telling

    def control(self, one: Member, **words: object) -> None:
        """Tell one of the recorder's own processes to take on a fault, or to leave it."""
        query = "&".join(f"{name}={value}" for name, value in words.items())
        with urllib.request.urlopen(f"http://127.0.0.1:{one.port}/control?{query}", timeout=10):
            pass

    def tell(self) -> None:
        """Write the targets, and tell whoever else needs to know who is there."""
        of_members = [one.target for one in self.present if one.target is not None]
        write_targets(self.targets, [*of_members, *self.further_targets])
        self.changed()

    def _word(self, n: int) -> str:
        return "".join(self.rng.choice(LETTERS) for _ in range(n))
