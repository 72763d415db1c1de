"""From the real Prometheus to the real Alertmanager: a fault is planted, alerted and over again."""

import json
import signal
import subprocess
import sys
import threading
import time
import urllib.request
from itertools import chain

import numpy as np
import pytest
from tests import following, worlds
from tests.prometheus_server import free_port, real_alertmanager, real_prometheus, target

N_HISTORY, N_VARIABLES = 400, 12
CHURN_AFTER = 8  # rows from one pod's name to the next
CONFIG = """
data = "{data}"
listen = "{listen}"
[prometheus]
url = "{prometheus}"
[[alertmanager]]
url = "{alertmanager}"
resend = "1s"
[[watch]]
name = "shop"
query = "load"
step = "1s"
history = "{n_history}s"
least_rows = 300
# At a step of a second: a rate that a reference of minutes can show.
false_alarms_a_day = 100.0
"""


class System:
    """A made-up system that a target shows, a row a second; it can be made to fail."""

    def __init__(self, shown):
        self._table = worlds.coupled(np.random.default_rng(11), 3_000, N_VARIABLES)
        self._start = int(time.time()) - N_HISTORY
        self._target = shown
        self.is_failing = False
        self._is_over = threading.Event()
        self._thread = threading.Thread(target=self._run)

    def values(self, second):
        row = self._table[second - self._start]
        shift = 40.0 if self.is_failing else 0.0
        found = {f'load{{host="h{j}"}}': float(value) + shift for j, value in enumerate(row[:-1])}
        # What lies in the past has no staleness marks: there the pod keeps its name.
        pod = max(second - self._start - N_HISTORY, 0) // CHURN_AFTER
        return found | {f'load{{host="h{N_VARIABLES - 1}",pod="p{pod}"}}': float(row[-1]) + shift}

    def history(self, address):
        """Return what happened before, as text with times, as if it had been scraped."""
        labels = f'instance="{address}",job="shop",'
        found: dict[str, list[str]] = {}
        for second in range(self._start, self._start + N_HISTORY):
            for name, value in self.values(second).items():
                line = f"{name.replace('{', '{' + labels)} {value!r} {second}"
                found.setdefault(name, []).append(line)
        return "# TYPE load gauge\n" + "\n".join(chain.from_iterable(found.values())) + "\n"

    def __enter__(self):
        self._thread.start()
        return self

    def __exit__(self, *_):
        self._is_over.set()
        self._thread.join()

    def _run(self):
        while not self._is_over.wait(0.05):
            self._target.show(self.values(int(time.time())))


def wait_until(is_so):
    following.wait_until(is_so, pause=0.3)


def get(url):
    with urllib.request.urlopen(url, timeout=10) as answer:
        return json.load(answer)


@pytest.mark.prometheus
def test_a_planted_fault_is_alerted_told_and_closed(tmp_path):
    with (
        target() as shown,
        System(shown) as system,
        real_alertmanager() as alertmanager,
        real_prometheus(
            {"shop": [shown.address]}, "1s", history=system.history(shown.address)
        ) as prometheus,
    ):
        listen = f"127.0.0.1:{free_port()}"
        (tmp_path / "watch.toml").write_text(
            CONFIG.format(
                data=tmp_path / "data",
                listen=listen,
                prometheus=prometheus.url,
                alertmanager=alertmanager.url,
                n_history=N_HISTORY,
            )
        )
        command = [sys.executable, "-c", "from smkc.cli import main; main()", "watch", "--config"]
        log = (tmp_path / "log").open("w+")
        process = subprocess.Popen([*command, str(tmp_path / "watch.toml")], stderr=log)
        try:
            _live(f"http://{listen}/api/v1", process, system, alertmanager)
            process.send_signal(signal.SIGINT)
            assert process.wait(30) == 0
        finally:
            if process.poll() is None:
                process.kill()
                process.wait()
            log.close()
    said = (tmp_path / "log").read_text()
    assert "ALERT: shop" in said
    assert "Closed: shop" in said
    assert "Problem" not in said


def _live(api, process, system, alertmanager):
    def lane():
        assert process.poll() is None
        try:
            return get(f"{api}/watches")["watches"][0]["lanes"][0]
        except (OSError, IndexError):
            return {"latest": None}

    def alerts():
        return get(f"{api}/alerts")["alerts"]

    wait_until(lambda: lane()["latest"] is not None)
    fitted = lane()
    before = fitted["rows"]
    wait_until(lambda: lane()["rows"] >= before + 20)
    assert alerts() == []

    planted = int(time.time() * 1000)
    system.is_failing = True
    wait_until(alerts)
    system.is_failing = False
    (alert,) = alerts()
    assert alert["is_open"]
    assert alert["causes"]
    n_late = (lane()["last_time"] - planted) // 1000
    assert n_late <= 3 * fitted["window"] + 2  # a row is asked for a step after its end
    wait_until(lambda: told(alertmanager) == ["active"])

    wait_until(lambda: not alerts()[0]["is_open"])
    wait_until(lambda: told(alertmanager) == [])
    end = lane()
    assert len(alerts()) == 1
    assert end["fitted_at"] == fitted["fitted_at"]  # pods came and went without a new model
    assert end["vanished"] > 2
    assert end["problems"] == []


def told(alertmanager):
    """Return the states of the alerts that Alertmanager holds."""
    found = alertmanager.get("/api/v2/alerts")
    return [alert["status"]["state"] for alert in found]
