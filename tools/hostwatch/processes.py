"""Processes of the monitoring stack and of the fleet.

In: a folder and the targets file, or a role with its options. Out: running processes.
"""

import subprocess
import sys
from pathlib import Path

from tools.stack.processes import free_port, missing_programs, start, words_of
from tools.stack.prometheus import COLLECTORS, start_prometheus

__all__ = ["PROGRAMS", "SCRAPE_SECONDS", "start_own", "start_stack"]

PROGRAMS = ("prometheus", "prometheus-node-exporter", "prometheus-process-exporter")

SCRAPE_SECONDS = 2

# Our own processes name their group in an option; Prometheus is a group, and all other processes
# of the machine form the group "other".
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


def start_own(role: str, group: str, log: Path, **options: object) -> subprocess.Popen[bytes]:
    """Start one of this package's roles as a process of a group."""
    words = words_of({"group": group, **options})
    command = [sys.executable, "-m", "tools.hostwatch", role, *words]
    return start(command, log)


def start_stack(folder: Path, targets: Path) -> tuple[int, dict[str, subprocess.Popen[bytes]]]:
    """Start Prometheus and both exporters; return the port of Prometheus and processes by name."""
    if missing := missing_programs(PROGRAMS):
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
        "prometheus": start_prometheus(folder, config, port),
    }
