"""Processes: what the recorder starts, and that none of it outlives the recorder.

In: command lines. Out: running processes, the monitoring stack among them.
"""

import ctypes
import shutil
import signal
import socket
import subprocess
import sys
from pathlib import Path

__all__ = ["PROGRAMS", "end", "free_port", "start", "start_own", "start_stack"]

PROGRAMS = ("prometheus", "prometheus-node-exporter", "prometheus-process-exporter")

SCRAPE_SECONDS = 2

# From <linux/prctl.h>: send this signal to a process when its parent ends.
SET_PARENT_DEATH_SIGNAL = 1

COLLECTORS = (
    "cpu",
    "diskstats",
    "filefd",
    "filesystem",
    "loadavg",
    "meminfo",
    "netdev",
    "netstat",
    "pressure",
    "sockstat",
    "stat",
    "vmstat",
)

# Every process of ours says its group; whatever else runs on the machine is one group, unnamed.
GROUPS = """\
process_names:
  - name: "{{.Matches.Group}}"
    cmdline:
      - "--group=(?P<Group>[a-z]+)"
  - name: prometheus
    exe:
      - prometheus
  - name: other
    cmdline:
      - ".+"
"""

CONFIG = """\
global:
  scrape_interval: {seconds}s
  scrape_timeout: {seconds}s
scrape_configs:
  - job_name: node
    static_configs: [{{targets: ["127.0.0.1:{node}"], labels: {{instance: host}}}}]
  - job_name: process
    static_configs: [{{targets: ["127.0.0.1:{process}"], labels: {{instance: host}}}}]
  - job_name: fleet
    file_sd_configs: [{{files: ["{targets}"], refresh_interval: 5s}}]
    relabel_configs: [{{source_labels: [pod], target_label: instance}}]
"""


def start(command: list[str], log: Path) -> subprocess.Popen[bytes]:
    """Start a process that ends with this one; what it says goes to a log."""
    libc = ctypes.CDLL(None)

    def end_with_parent() -> None:
        libc.prctl(SET_PARENT_DEATH_SIGNAL, signal.SIGKILL)

    with log.open("ab") as out:
        return subprocess.Popen(
            command,
            stdin=subprocess.DEVNULL,
            stdout=out,
            stderr=subprocess.STDOUT,
            preexec_fn=end_with_parent,
        )


def start_own(role: str, group: str, log: Path, **options: object) -> subprocess.Popen[bytes]:
    """Start one of this package's own roles as a process of a group."""
    words = [f"--{name.replace('_', '-')}={value}" for name, value in options.items()]
    command = [sys.executable, "-m", "tools.hostwatch", role, f"--group={group}", *words]
    return start(command, log)


def start_stack(folder: Path, targets: Path) -> tuple[int, dict[str, subprocess.Popen[bytes]]]:
    """Start Prometheus and both exporters; return Prometheus' port and the processes by name."""
    missing = [program for program in PROGRAMS if shutil.which(program) is None]
    if missing:
        raise SystemExit(f"{', '.join(missing)} not found; apt install {' '.join(missing)}")
    port, node, process = free_port(), free_port(), free_port()
    config, groups = folder / "prometheus.yml", folder / "groups.yml"
    config.write_text(
        CONFIG.format(seconds=SCRAPE_SECONDS, node=node, process=process, targets=targets),
        encoding="utf-8",
    )
    groups.write_text(GROUPS, encoding="utf-8")
    collectors = [f"--collector.{name}" for name in COLLECTORS]
    return port, {
        "node": start(
            [
                "prometheus-node-exporter",
                f"--web.listen-address=127.0.0.1:{node}",
                "--collector.disable-defaults",
                *collectors,
            ],
            folder / "node.log",
        ),
        "process": start(
            [
                "prometheus-process-exporter",
                f"-web.listen-address=127.0.0.1:{process}",
                f"-config.path={groups}",
                "-threads=false",
                "-gather-smaps=false",
            ],
            folder / "process.log",
        ),
        "prometheus": start(
            [
                "prometheus",
                f"--web.listen-address=127.0.0.1:{port}",
                f"--config.file={config}",
                f"--storage.tsdb.path={folder / 'storage'}",
            ],
            folder / "prometheus.log",
        ),
    }


def free_port() -> int:
    """Return a port on loopback that nobody listens on."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def end(process: subprocess.Popen[bytes], patience: float = 3.0) -> None:
    """End a process, by force if it does not listen."""
    process.terminate()
    try:
        process.wait(patience)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()
