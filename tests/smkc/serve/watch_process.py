"""The real process of ``smkc watch``, and what can be asked of it from outside while it runs.

In: a folder and a configuration without ``data`` and ``listen``. Out: answers of its API, its
metrics and what it said; the process is gone when the block ends.
"""

import json
import signal
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from prometheus_client.parser import text_string_to_metric_families
from prometheus_client.samples import Sample
from tests.prometheus_server import free_port

COMMAND = (sys.executable, "-c", "from smkc.cli import main; main()", "watch", "--config")


class WatchProcess:
    """A process that watches as a file says.

    Attributes
    ----------
    url
        where it listens.
    started
        seconds of the monotonic clock.
    """

    def __init__(self, folder: Path, config: str) -> None:
        listen = f"127.0.0.1:{free_port()}"
        file = folder / "watch.toml"
        self.url = f"http://{listen}"
        own = f'data = "{folder / "data"}"\nlisten = "{listen}"\npublic_url = "{self.url}"\n'
        file.write_text(f"{own}{config}")
        self._log = folder / "log"
        self.started = time.monotonic()
        with self._log.open("w") as log:
            self._process = subprocess.Popen([*COMMAND, str(file)], stderr=log)

    def fetch(self, path: str) -> str:
        """Return what stands at an address of the process, however it begins."""
        address = path if path.startswith("http") else self.url + path
        with urllib.request.urlopen(address, timeout=30) as answer:
            return answer.read().decode()

    def get(self, path: str) -> Any:
        """Return an answer of its API."""
        return json.loads(self.fetch(f"/api/v1{path}"))

    def lane(self, watch: str) -> dict[str, Any] | None:
        """Return how the only lane of a watch stands; None before there is one."""
        assert self._process.poll() is None, f"it ended:\n{self.said()[-2000:]}"
        try:
            watches = {one["name"]: one for one in self.get("/watches")["watches"]}
        except (urllib.error.URLError, ConnectionError, TimeoutError):
            return None  # it does not listen yet
        lanes = watches[watch]["lanes"]
        return lanes[0] if lanes else None

    def alerts(self, watch: str) -> list[dict[str, Any]]:
        """Return the alerts of a watch."""
        return [one for one in self.get("/alerts")["alerts"] if one["watch"] == watch]

    def samples(self, metric: str) -> list[Sample]:
        """Return what its ``/metrics`` says of one metric."""
        families = text_string_to_metric_families(self.fetch("/metrics"))
        found = [one for family in families for one in family.samples if one.name == metric]
        assert found, f"/metrics does not tell {metric}"
        return found

    def said(self) -> str:
        """Return what it wrote to standard error so far."""
        return self._log.read_text("utf-8", "replace")

    def interrupt(self) -> int:
        """End it as Ctrl-C does; return its exit status."""
        self._process.send_signal(signal.SIGINT)
        return self._process.wait(60)

    def kill(self) -> None:
        """End it by kill -9, if it still runs."""
        if self._process.poll() is None:
            self._process.kill()
            self._process.wait()


@contextmanager
def watch_process(folder: Path, config: str) -> Iterator[WatchProcess]:
    """Run ``smkc watch`` until the block ends."""
    process = WatchProcess(folder, config)
    try:
        yield process
    finally:
        process.kill()
