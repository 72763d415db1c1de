"""Members: the named processes of a system, and the file of Prometheus' targets.

In: members to start, retire or disturb. Out: processes, and an up-to-date targets file.
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

# Letters of the names that Kubernetes generates: no vowels and no look-alikes.
LETTERS = "bcdfghjklmnpqrstvwxz2456789"


@dataclass(kw_only=True, eq=False)
class Member:
    """One process of a system; a restart replaces the process, not the member.

    Parameters
    ----------
    name
        name of the pod; empty for a process that exists only once and is never replaced.
    service
        the service it belongs to; also the process group of the recorder's own roles.
    port
        port of the member itself.
    restart
        function that starts the process.
    process
        the current process.
    target
        its entry in the targets file; None for a process that is not scraped.
    role
        such as ``server`` or ``exporter``.
    options
        further options of one of the recorder's own roles.
    is_crashing
        whether a fault keeps ending it, so that it must not be restarted.
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
        """Whether the process is running."""
        return self.process.poll() is None


class Members:
    """All members; a member that leaves is removed from the targets before its process ends.

    Parameters
    ----------
    folder
        folder for logs and the targets file.
    seed
        seed of the names.
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

    # ------------------------------------------------------------------ lookup

    def of(self, service: str) -> list[Member]:
        """Return the replicas of a service, oldest first."""
        return [one for one in self.present if one.service == service and one.name]

    def find(self, service: str, role: str) -> Member:
        """Return the member of a service that has a role, such as ``exporter``."""
        return next(one for one in self.present if (one.service, one.role) == (service, role))

    # ------------------------------------------------------------------ starting

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
            the program and its arguments.
        scraped_at
            port of its metrics; 0 for a member that is not scraped.
        scrape
            further labels of the target, such as ``__metrics_path__``.
        environment
            environment of the process; by default that of this process.
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
        """Return a name in the style of Kubernetes: service, revision, replica."""
        revision = self.revisions.setdefault(service, self._word(8))
        return f"{service}-{revision}-{self._word(5)}"

    def new_revision(self, service: str) -> None:
        """Choose a new revision for the names of replicas that start from now on."""
        self.revisions[service] = self._word(8)

    def start_again(self, one: Member) -> None:
        """Start the process of a member again, with the same name and port."""
        one.process = one.restart()

    # ------------------------------------------------------------------ ending

    def leave(self, one: Member) -> None:
        """Remove a member from the targets; its process runs until :meth:`finish`."""
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

    # ------------------------------------------------------------------ control

    def control(self, one: Member, **words: object) -> None:
        """Tell one of the recorder's own processes to begin or end a fault."""
        query = "&".join(f"{name}={value}" for name, value in words.items())
        with urllib.request.urlopen(f"http://127.0.0.1:{one.port}/control?{query}", timeout=10):
            pass

    def tell(self) -> None:
        """Write the targets file and call ``changed``."""
        of_members = [one.target for one in self.present if one.target is not None]
        write_targets(self.targets, [*of_members, *self.further_targets])
        self.changed()

    def _word(self, n: int) -> str:
        return "".join(self.rng.choice(LETTERS) for _ in range(n))
