"""From the real node exporter to the real Alertmanager: a fault is planted, told and over again.

The service's metrics are textfiles, as a cron job or a sidecar writes them; pods come and go with
theirs. The host's own metrics are watched beside: they are real, so nothing is said of them but
that they are followed.
"""

import json
import os
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import chain
from pathlib import Path

import numpy as np
import pytest
from tests import worlds
from tests.following import wait_until
from tests.misbehaving_server import Answer, misbehaving_server
from tests.prometheus_server import real_alertmanager, real_node_exporter, real_prometheus
from tests.smkc.serve.watch_process import watch_process

pytestmark = pytest.mark.prometheus

N_HISTORY, N_PARTS, N_PODS = 2_400, 10, 2
GUILTY = (0, 1, 2)  # parts that the fault moves
SHIFT = 40.0  # some forty times what the parts usually move by
CHURN_AFTER = 8  # rows from one pod's name to the next
WINDOW = 8
PATIENCE = 180.0  # seconds; on an idle machine nothing takes more than a tenth of it

CONFIG = """
notify = "alert"
[prometheus]
url = "{prometheus}"
[[alertmanager]]
url = "{alertmanager}"
resend = "1s"
[[watch]]
name = "shop"
query = '{{job="node", __name__="load"}}'
step = "1s"
history = "{n_history}s"
min_rows = 300
# At a step of a second: a rate that a reference of forty minutes can show.
false_alarms_per_day = 7.0
detector = {{ window = {window} }}
[[watch]]
name = "host"
query = '{{job="node", __name__=~"node_cpu_seconds_total|node_load1|node_memory_Mem.*_bytes"}}'
step = "1s"
history = "60s"
min_rows = 40
detector = {{ window = {window} }}
"""


class Shop:
    """A made-up service that writes textfiles, a row a second; a fault moves some of its parts.

    Parameters
    ----------
    folder
        that the node exporter reads; each pod has a file of its own there.
    """

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        # It forgets within seconds: those until the first scrape are missing from its history.
        rng = np.random.default_rng(11)
        self._table = worlds.coupled(rng, 6_000, N_PARTS + N_PODS, memory=0.5)
        self._start = int(time.time()) - N_HISTORY
        self._churns_from = 2**53
        self._files: set[str] = set()
        self.is_failing = False

    def churn(self) -> None:
        """Let pods come and go from now on."""
        self._churns_from = int(time.time())

    def values(self, second: int) -> dict[str, dict[str, float]]:
        """Return what each file shows: metric -> value."""
        row = self._table[second - self._start].copy()
        if self.is_failing:
            row[list(GUILTY)] += SHIFT
        files = {"shop": {f'load{{part="p{j}"}}': float(row[j]) for j in range(N_PARTS)}}
        at = max(second - self._churns_from, 0)
        for j in range(N_PODS):
            pod = f"pod-{j}-{(at + j * CHURN_AFTER // N_PODS) // CHURN_AFTER}"
            files[pod] = {f'load{{pod="{pod}"}}': float(row[N_PARTS + j])}
        return files

    def history(self, address: str) -> str:
        """Return what happened before, as text with times, as if it had been scraped."""
        labels = f'instance="{address}",job="node",'
        found: dict[str, list[str]] = {}
        for second in range(self._start, self._start + N_HISTORY):
            for values in self.values(second).values():
                for name, value in values.items():
                    line = f"{name.replace('{', '{' + labels)} {value!r} {second}"
                    found.setdefault(name, []).append(line)
        return "# TYPE load gauge\n" + "\n".join(chain.from_iterable(found.values())) + "\n"

    def write(self) -> None:
        """Write every file whole, and empty those of pods that are gone.

        A file that vanished between the exporter's listing and reading would count as an error.
        """
        now = self.values(int(time.time()))
        for name, values in now.items():
            lines = "".join(f"{metric} {value!r}\n" for metric, value in values.items())
            beside = self._folder / f"{name}.new"
            beside.write_text(f"# HELP load Of a part.\n# TYPE load gauge\n{lines}")
            os.replace(beside, self._folder / f"{name}.prom")
        for name in self._files - set(now):
            (self._folder / f"{name}.prom").write_text("")
        self._files = set(now)

    @contextmanager
    def living(self) -> Iterator["Shop"]:
        """Write on, in a thread, until the block ends."""
        is_over = threading.Event()

        def run() -> None:
            while not is_over.wait(0.1):
                self.write()

        self.write()
        thread = threading.Thread(target=run)
        thread.start()
        try:
            yield self
        finally:
            is_over.set()
            thread.join()


def is_shop(labels):
    return labels["watch"] == "shop"


def until(is_so):
    wait_until(is_so, PATIENCE, pause=0.3)


@pytest.mark.slow
def test_a_planted_fault_is_alerted_told_and_closed(tmp_path, record_property, capsys):
    textfiles = tmp_path / "textfiles"
    textfiles.mkdir()
    shop = Shop(textfiles)
    with (
        shop.living(),
        real_node_exporter(textfiles) as node,
        misbehaving_server(lambda _: Answer()) as pager,
        real_alertmanager(pager.url) as alertmanager,
    ):
        address = node.url.removeprefix("http://")
        # A history that was written has no staleness marks: what ends in it would linger.
        flags = ["--query.lookback-delta=3s"]
        history = shop.history(address)
        with real_prometheus({"node": [address]}, history=history, flags=flags) as prometheus:
            # Some rows long, as a watch asks for those that are a little older than now.
            scraped = "/api/v1/query?query=count_over_time(node_load1[1m])>=10"
            until(lambda: prometheus.get(scraped)["data"]["result"])
            config = CONFIG.format(
                prometheus=prometheus.url,
                alertmanager=alertmanager.url,
                n_history=N_HISTORY,
                window=WINDOW,
            )
            with watch_process(tmp_path, config) as process:
                times = _live(process, shop, alertmanager, pager)
                assert process.interrupt() == 0
            query = "/api/v1/query?query=max_over_time(node_textfile_scrape_error[10m])"
            (found,) = prometheus.get(query)["data"]["result"]
            assert found["value"][1] == "0"  # the exporter could read all files
    said = process.said()
    assert "ALERT: shop" in said
    assert "Closed: shop" in said
    for word in ("Problem", "WARNING", "ERROR", "Traceback"):
        assert word not in said, said
    with capsys.disabled():
        sys.stdout.write("\n" + ", ".join(f"{what} {took:.1f}" for what, took in times.items()))
    for what, took in times.items():
        record_property(what, took)


def _live(process, shop, alertmanager, pager) -> dict[str, float]:
    """Go through the life of a fault; return how long its parts took."""

    def told():
        found = alertmanager.get("/api/v2/alerts?filter=watch=%22shop%22")
        return [one for one in found if one["status"]["state"] == "active"]

    def paged():
        pages = [json.loads(one.body) for one in list(pager.asked)]
        return [one["status"] for one in pages if is_shop(one["commonLabels"])]

    until(lambda: (process.lane("shop") or {}).get("latest") is not None)
    times = {"first score s": time.monotonic() - process.started}
    fitted = process.lane("shop")
    shop.churn()
    until(lambda: process.lane("shop")["rows"] >= fitted["rows"] + 2 * WINDOW)
    until(lambda: process.lane("shop")["alert"] is None)
    before = len(process.alerts("shop"))
    times["false alarms"] = before
    assert before <= 1  # real time is never the same twice: one false alarm is let pass

    planted = int(time.time() * 1000)
    shop.is_failing = True
    until(lambda: len(process.alerts("shop")) > before)
    times["alert after s"] = time.time() - planted / 1000
    until(told)
    times["in Alertmanager after s"] = time.time() - planted / 1000
    (scored,) = (one for one in process.samples("anomaly_score") if is_shop(one.labels))
    assert scored.value > 1.0
    alert = max(process.alerts("shop"), key=lambda one: one["start"])
    times["alert after rows"] = (alert["start"] - planted) / 1000
    # A row is scraped up to a second after its cause.
    assert times["alert after rows"] <= 3 * fitted["window"] + 2
    first = alert["causes"][0]["variable"]  # though pods leave meanwhile
    assert any(f'part="p{j}"' in first for j in GUILTY), alert["causes"]
    (one,) = told()
    assert one["labels"]["alertname"] == "SmkcAnomaly"
    blamed = [f'part="p{j}"' in one["annotations"]["causes"] for j in GUILTY]
    assert sum(blamed) >= 2  # among the first five
    assert one["annotations"]["causes"].startswith("At 20")
    assert one["annotations"]["link"] == f"{process.url}/alerts/{alert['id']}"
    assert "<html" in process.fetch(one["annotations"]["link"])
    shop.is_failing = False

    until(lambda: process.lane("shop")["alert"] is None)
    until(lambda: not told())
    until(lambda: paged()[-1:] == ["resolved"])
    times["over after s"] = time.time() - planted / 1000
    end = process.lane("shop")
    assert end["fitted_at"] == fitted["fitted_at"]  # pods came and went without a new model
    assert not end["is_refitting"]
    assert end["vanished"] > 4
    until(lambda: (process.lane("host") or {}).get("latest") is not None)
    for watch in ("shop", "host"):
        assert process.lane(watch)["problems"] == []
    assert process.lane("host")["series"] >= 5
    until(lambda: process.lane("shop")["self_test"])
    test = process.lane("shop")["self_test"]
    assert 0 < test["caught"] <= test["planted"], test
    caught = process.samples("smkc_self_test_caught")
    told = {one.labels["kind"]: one.value for one in caught if one.labels["watch"] == "shop"}
    assert told == {kind: one["caught"] for kind, one in test["kinds"].items()}
    assert sum(told.values()) == test["caught"]
    assert {one.value for one in process.samples("smkc_errors_total")} == {0.0}
    assert {one.value for one in process.samples("smkc_receiver_failed_total")} == {0.0}
    assert {one.value for one in process.samples("smkc_healthy")} == {1.0}
    return times
