"""A process of ``smkc watch``, and the history of its alerts as seen through its API.

In: a folder, the address of Prometheus and settings that differ from the defaults. Out: the times
when each alert was first seen open and first seen resolved, and its first 3 causes; and how many
rows were judged, lost or judged twice.
"""

import json
import subprocess
import sys
import threading
import time
import urllib.error
import urllib.request
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from tools.livetrial.stack import QUERY, SCRAPE_SECONDS
from tools.stack.processes import end, free_port, start

__all__ = ["SeenAlert", "Watch"]

POLL_SECONDS = 0.5

CONFIG = """\
data = "{data}"
listen = "{listen}"
[prometheus]
url = "{prometheus}"
[[watch]]
name = "live"
query = '{query}'
step = "{step}s"
"""


@dataclass(kw_only=True)
class SeenAlert:
    """An alert as a user sees it, with times in seconds since 1970.

    ``opened`` and ``resolved`` are the times when it was first seen open and resolved; ``resolved``
    is None while it is open.
    """

    id: str
    opened: float
    resolved: float | None = None
    start: float = 0.0
    anomaly: float = 0.0
    causes: list[str] = field(default_factory=list)


class Watch:
    """A process of ``smkc watch``, and a thread that polls its alerts.

    Parameters
    ----------
    folder
        folder for its configuration, data and log.
    prometheus
        address of Prometheus.
    settings
        settings of the watch that differ from their defaults, such as ``min_rows``; durations
        as text.
    """

    def __init__(self, folder: Path, prometheus: str, **settings: int | str) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        listen = f"127.0.0.1:{free_port()}"
        self.url = f"http://{listen}"
        self.alerts: dict[str, SeenAlert] = {}
        self.first_scored: float | None = None
        self._stopping = threading.Event()
        config = CONFIG.format(
            data=folder / "data",
            listen=listen,
            prometheus=prometheus,
            query=QUERY,
            step=SCRAPE_SECONDS,
        )
        config += "".join(f"{key} = {json.dumps(value)}\n" for key, value in settings.items())
        file = folder / "watch.toml"
        file.write_text(config, encoding="utf-8")
        program = "from smkc.cli import main; main()"
        self._command = [sys.executable, "-c", program, "watch", "--config", str(file)]
        self._log = folder / "watch.log"
        self._process: subprocess.Popen[bytes]
        self.start()
        self._thread = threading.Thread(target=self._look, daemon=True)
        self._thread.start()

    def start(self) -> None:
        """Start the process; it goes on where one that was killed stopped."""
        self._process = start(self._command, self._log)

    def kill(self) -> None:
        """Kill the process with SIGKILL."""
        self._process.kill()
        self._process.wait()

    def close(self) -> list[SeenAlert]:
        """End the process; return the alerts in order of time."""
        self._stopping.set()
        self._thread.join()
        end(self._process, patience=30.0)
        return self.seen()

    def seen(self) -> list[SeenAlert]:
        """Return the alerts so far in order of time."""
        return sorted(self.alerts.values(), key=lambda alert: alert.opened)

    def record(self) -> dict[str, Any]:
        """Return the alerts so far, the time of the first score and the rows, for JSON."""
        alerts = [asdict(alert) for alert in self.seen()]
        return {"first_scored": self.first_scored, "alerts": alerts, "rows": self._rows()}

    def _rows(self) -> dict[str, int]:
        """Return how many rows were judged, how many are missing in between, and how many twice."""
        times: list[int] = []
        step = SCRAPE_SECONDS * 1000
        until = int(time.time() * 1000)
        at = until - 86_400_000 if self.first_scored is None else int(self.first_scored * 1000)
        while at < until:  # in parts, because the answer is thinned beyond 5,000 points
            end = at + 4000 * step
            part = f"points=5000&since={at}&until={end - 1}"
            times += self._get(f"/watches/live/scores?{part}")["times"]
            at = end
        expected = (max(times) - min(times)) // step + 1 if times else 0
        n_judged = len(set(times))
        return {"judged": n_judged, "lost": expected - n_judged, "twice": len(times) - n_judged}

    def _look(self) -> None:
        while not self._stopping.wait(POLL_SECONDS):
            try:
                if self.first_scored is None:
                    self._look_for_scores()
                answer = self._get("/alerts?limit=500")
            except (urllib.error.URLError, OSError, ValueError):
                continue  # starting or busy; the next poll asks again
            now = time.time()
            for one in answer["alerts"]:
                self._take(one, now)

    def _look_for_scores(self) -> None:
        lanes = [lane for watch in self._get("/watches")["watches"] for lane in watch["lanes"]]
        if any(lane["latest"] is not None for lane in lanes):
            self.first_scored = time.time()

    def _take(self, one: dict[str, Any], now: float) -> None:
        alert = self.alerts.setdefault(one["id"], SeenAlert(id=one["id"], opened=now))
        alert.start, alert.anomaly = one["start"] / 1000, one["anomaly"]
        if one["causes"] and not alert.causes:
            alert.causes = [cause["variable"] for cause in one["causes"][:3]]
        if not one["is_open"] and alert.resolved is None:
            alert.resolved = now

    def _get(self, path: str) -> Any:
        with urllib.request.urlopen(f"{self.url}/api/v1{path}", timeout=10) as answer:
            return json.load(answer)
