"""The real Prometheus, Alertmanager and node exporter on loopback, and a target to be scraped.

In: what to scrape, how often, what happened before. Out: servers that answer, in folders of their
own, gone when the block ends. A test that uses them is skipped where the programs are missing.
"""

import json
import shutil
import socket
import subprocess
import tempfile
import threading
import time
import urllib.error
import urllib.request
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest

PROMETHEUS, PROMTOOL, ALERTMANAGER = "prometheus", "promtool", "prometheus-alertmanager"
NODE_EXPORTER = "prometheus-node-exporter"
START_S = 60.0  # until a server must be ready; it takes about one second
STARTS = 5  # ports that are tried: another process may take a free one first


class RealServer:
    """A program that serves at a port of loopback; it may be stopped and started again there."""

    def __init__(self, command: Sequence[str], folder: Path, ready: str = "/-/ready") -> None:
        self.folder = folder
        self.port = 0
        self._command, self._ready = tuple(command), ready
        self._process: subprocess.Popen[bytes] | None = None

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    def start(self) -> None:
        """Run until it answers; the port stays the same once it has been found."""
        for _ in range(STARTS):
            port = self.port or free_port()
            with open(self.folder / "log", "ab") as log:
                self._process = subprocess.Popen(
                    [*self._command, f"--web.listen-address=127.0.0.1:{port}"],
                    stdout=log,
                    stderr=log,
                    cwd=self.folder,
                )
            if self._waits_until_ready(port):
                self.port = port
                return
        raise RuntimeError(f"{self._command[0]} does not start:\n{self.log()[-2000:]}")

    def stop(self, *, kill: bool = False) -> None:
        """End it, gently or by kill -9."""
        process, self._process = self._process, None
        if process is None:
            return
        process.kill() if kill else process.terminate()
        try:
            process.wait(timeout=30)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait(timeout=30)

    def get(self, path: str) -> Any:
        """Return the JSON at a path of its interface."""
        with urllib.request.urlopen(self.url + path, timeout=30) as answer:
            return json.load(answer)

    def log(self) -> str:
        return (self.folder / "log").read_text("utf-8", "replace")

    def _waits_until_ready(self, port: int) -> bool:
        assert self._process is not None
        until = time.monotonic() + START_S
        while time.monotonic() < until and self._process.poll() is None:
            with suppress(OSError, urllib.error.URLError):
                address = f"http://127.0.0.1:{port}{self._ready}"
                with urllib.request.urlopen(address, timeout=5) as answer:
                    if answer.status == 200:
                        return self._process.poll() is None  # and it is not another that answers
            time.sleep(0.05)
        self.stop(kill=True)
        return False


@contextmanager
def real_prometheus(
    scrape: Mapping[str, Sequence[str]] | None = None,
    interval: str = "1s",
    *,
    history: str | None = None,
    alertmanager: str | None = None,
    remote_write: str | None = None,
    flags: Sequence[str] = (),
    settings: Mapping[str, Any] | None = None,
) -> Iterator[RealServer]:
    """Run Prometheus.

    Parameters
    ----------
    scrape
        job -> addresses such as ``127.0.0.1:9100``.
    interval
        between scrapes.
    history
        what happened before, as OpenMetrics text with a time on each line.
    alertmanager, remote_write
        addresses that it tells of alerts, or sends its samples to.
    flags
        further options of the program; it takes remote write itself, and may be reloaded.
    settings
        further entries of its configuration.
    """
    program = _program(PROMETHEUS)
    content: dict[str, Any] = {
        "global": {"scrape_interval": interval, "scrape_timeout": interval},
        "scrape_configs": [
            {"job_name": job, "static_configs": [{"targets": list(targets)}]}
            for job, targets in (scrape or {}).items()
        ],
        **(settings or {}),
    }
    if alertmanager is not None:
        target = alertmanager.removeprefix("http://")
        content["alerting"] = {"alertmanagers": [{"static_configs": [{"targets": [target]}]}]}
    if remote_write is not None:
        content["remote_write"] = [{"url": remote_write}]
    with tempfile.TemporaryDirectory(prefix="smkc-prometheus-") as name:
        folder = Path(name)
        (folder / "prometheus.yml").write_text(json.dumps(content))  # JSON is YAML too
        if history is not None:
            _write_history(folder, history)
        command = [
            program,
            f"--config.file={folder / 'prometheus.yml'}",
            f"--storage.tsdb.path={folder / 'data'}",
            "--storage.tsdb.retention.time=1000d",
            "--web.enable-lifecycle",
            "--web.enable-remote-write-receiver",
            "--log.level=warn",
            *flags,
        ]
        yield from _run(RealServer(command, folder))


@contextmanager
def real_alertmanager(webhook: str | None = None) -> Iterator[RealServer]:
    """Run Alertmanager; it tells each alert at once, to an address if there is one."""
    program = _program(ALERTMANAGER)
    hooks = [{"url": webhook, "send_resolved": True}] if webhook else []
    route = {"receiver": "all", "group_wait": "0s", "group_interval": "1s", "group_by": ["..."]}
    content = {"route": route, "receivers": [{"name": "all", "webhook_configs": hooks}]}
    with tempfile.TemporaryDirectory(prefix="smkc-alertmanager-") as name:
        folder = Path(name)
        (folder / "alertmanager.yml").write_text(json.dumps(content))
        command = [
            program,
            f"--config.file={folder / 'alertmanager.yml'}",
            f"--storage.path={folder / 'data'}",
            "--cluster.listen-address=",
            "--log.level=warn",
        ]
        yield from _run(RealServer(command, folder))


@contextmanager
def real_node_exporter(
    textfiles: Path, collectors: Sequence[str] = ("cpu", "loadavg", "meminfo")
) -> Iterator[RealServer]:
    """Run the node exporter with few collectors, and with the files of a folder."""
    program = _program(NODE_EXPORTER)
    with tempfile.TemporaryDirectory(prefix="smkc-node-exporter-") as name:
        command = [
            program,
            "--collector.disable-defaults",
            "--collector.textfile",
            f"--collector.textfile.directory={textfiles}",
            *(f"--collector.{collector}" for collector in collectors),
            "--log.level=warn",
        ]
        yield from _run(RealServer(command, Path(name), ready="/"))


class Target:
    """Exposes whatever metrics it is told of, as an exporter does."""

    def __init__(self) -> None:
        self.is_failing = False
        self.n_scrapes = 0
        self._lock = threading.Lock()
        self._values: dict[str, float] = {}
        target = self

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                body = target.text().encode()
                self.send_response(503 if target.is_failing else 200)
                self.send_header("Content-Type", "text/plain; version=0.0.4")
                self.send_header("Content-Length", str(len(body)))
                self.end_headers()
                self.wfile.write(body)
                target.n_scrapes += 1

            def log_message(self, *said: object) -> None:
                pass

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self._server.daemon_threads = True
        self.address = f"127.0.0.1:{self._server.server_address[1]}"
        self._thread = threading.Thread(target=self._server.serve_forever, args=(0.05,))
        self._thread.start()

    def show(self, values: Mapping[str, float]) -> None:
        """Expose these from now on: ``metric{label="x"}`` -> value."""
        with self._lock:
            self._values = dict(values)

    def text(self) -> str:
        with self._lock:
            return "".join(f"{name} {value!r}\n" for name, value in self._values.items())

    def wait_for_scrapes(self, n_scrapes: int, within_s: float = 60.0) -> None:
        """Wait until it was scraped so many times more."""
        wanted, until = self.n_scrapes + n_scrapes, time.monotonic() + within_s
        while self.n_scrapes < wanted:
            if time.monotonic() > until:
                raise TimeoutError(f"not scraped {n_scrapes} times within {within_s:g} s")
            time.sleep(0.02)

    def close(self) -> None:
        self._server.shutdown()
        self._thread.join()
        self._server.server_close()


@contextmanager
def target(values: Mapping[str, float] | None = None) -> Iterator[Target]:
    """Serve metrics for Prometheus to scrape."""
    served = Target()
    served.show(values or {})
    try:
        yield served
    finally:
        served.close()


def free_port() -> int:
    """Return a port that was free a moment ago."""
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        return int(found.getsockname()[1])


def _run(server: RealServer) -> Iterator[RealServer]:
    try:
        server.start()
        yield server
    finally:
        server.stop()


def _program(name: str) -> str:
    found = shutil.which(name)
    if found is None:
        package = PROMETHEUS if name == PROMTOOL else name
        pytest.skip(f"{name} is not installed; run: apt install {package}")
    return found


def _write_history(folder: Path, history: str) -> None:
    file = folder / "history.txt"
    file.write_text(history if history.endswith("# EOF\n") else history + "# EOF\n")
    command = [_program(PROMTOOL), "tsdb", "create-blocks-from", "openmetrics"]
    done = subprocess.run(
        [*command, str(file), str(folder / "data")], capture_output=True, text=True, timeout=300
    )
    if done.returncode:
        raise RuntimeError(f"history cannot be written: {done.stderr[-2000:]}")
