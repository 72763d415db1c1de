"""The recorder of a real machine: its schedule, its services, and a short recording end to end."""

import csv
import json
import shutil
import time
import urllib.error
import urllib.request
from itertools import pairwise

import numpy as np
import pyarrow.parquet as pq
import pytest
from tools.hostwatch.export import export
from tools.hostwatch.faults import Faults
from tools.hostwatch.fleet import Fleet
from tools.hostwatch.processes import PROGRAMS
from tools.hostwatch.record import record
from tools.hostwatch.schedule import KINDS, SERVICES, Phases, made_schedule, schedule_record
from tools.hostwatch.variables import QUERIES, responsible
from tools.stack.exposition import text_format

import smkc

PHASES = Phases()


@pytest.fixture(scope="module")
def actions():
    return made_schedule(14, PHASES)


@pytest.fixture
def fleet(tmp_path):
    found = Fleet(tmp_path, seed=3)
    yield found
    found.end_all()


def faults_of(actions):
    return [action for action in actions if action.do == "fault"]


def test_a_seed_gives_one_schedule_and_another_seed_another(actions):
    again = schedule_record(14, PHASES, made_schedule(14, PHASES))
    assert again == schedule_record(14, PHASES, actions)
    assert json.loads(json.dumps(again))["actions"] == again["actions"]
    assert made_schedule(15, PHASES) != actions


def test_faults_come_after_normal_life_one_by_one_with_calm_between(actions):
    faults = faults_of(actions)
    assert faults[0].at > PHASES.warm + PHASES.normal
    assert faults[-1].at + faults[-1].about["seconds"] < PHASES.total
    for before, after in pairwise(faults):
        assert 40 <= before.about["seconds"] <= 100
        assert after.at - (before.at + before.about["seconds"]) >= 80
    kinds = [fault.about["kind"] for fault in faults]
    assert set(kinds) == set(KINDS)
    assert min(kinds.count(kind) for kind in KINDS) >= 3


def test_routine_goes_on_to_the_end_but_leaves_the_replica_under_a_fault_alone(actions):
    faults = faults_of(actions)
    for do in ("job", "rollout", "scale"):
        times = [action.at for action in actions if action.do == do]
        assert min(times) < PHASES.warm + 300
        assert max(times) > PHASES.total - 300
    for action in actions:
        if action.do in ("rollout", "scale"):
            assert not any(
                fault.about.get("service") == action.about["service"]
                and fault.at - 40 < action.at < fault.at + fault.about["seconds"]
                for fault in faults
            )


def test_figures_are_written_as_prometheus_reads_them():
    text = text_format({"jobs_total": 2.0, "queue_length": 0.5}).decode()
    assert text == (
        "# TYPE jobs_total counter\njobs_total 2.0\n# TYPE queue_length gauge\nqueue_length 0.5\n"
    )


def page(pod, path, patience=10.0):
    """What a pod answers, asked until it is up: (status, text)."""
    stop = time.monotonic() + patience
    while True:
        try:
            with urllib.request.urlopen(f"http://127.0.0.1:{pod.port}{path}", timeout=5) as answer:
                return answer.status, answer.read().decode()
        except urllib.error.HTTPError as error:
            error.close()
            return error.code, ""
        except OSError:
            if time.monotonic() > stop:
                raise
            time.sleep(0.05)


def figure(pod, name):
    _, text = page(pod, "/metrics")
    return next(float(line.split()[1]) for line in text.splitlines() if line.startswith(f"{name} "))


def test_a_replica_works_calls_those_behind_it_and_counts(fleet):
    by_name = {service.name: service for service in SERVICES}
    orders = fleet.start_replica(by_name["orders"])
    assert page(orders, "/work") == (503, ""), "nobody is behind it"
    billing = fleet.start_replica(by_name["billing"])
    page(billing, "/metrics")
    time.sleep(1.2)  # lists of replicas are believed for a second
    assert page(orders, "/work") == (200, "")
    assert figure(orders, "http_requests_total") == 2
    assert figure(orders, "http_errors_total") == 1
    assert figure(billing, "http_requests_total") == 1
    assert figure(billing, "process_resident_memory_bytes") > 1e6
    targets = json.loads(fleet.targets.read_text())
    assert [entry["labels"]["pod"] for entry in targets] == [orders.name, billing.name]


def test_faults_begin_and_end(fleet, tmp_path):
    pod = fleet.start_replica(SERVICES[1])
    page(pod, "/metrics")
    line = []
    faults = Faults(tmp_path, fleet, {}, lambda seconds, step: line.append(step))
    stop = faults.begin({"kind": "silent"}, pod)
    assert page(pod, "/metrics") == (503, "")
    assert page(pod, "/work") == (200, ""), "it serves but does not report"
    stop()
    assert page(pod, "/metrics")[0] == 200

    before = figure(pod, "http_request_seconds_sum")
    stop = faults.begin({"kind": "slow_service", "added_seconds": 0.3}, pod)
    page(pod, "/work")
    stop()
    assert figure(pod, "http_request_seconds_sum") - before >= 0.3

    before = figure(pod, "process_resident_memory_bytes")
    stop = faults.begin({"kind": "memory_leak", "megabytes_a_second": 40}, pod)
    deadline = time.monotonic() + 120
    while figure(pod, "process_resident_memory_bytes") < before + 15e6:
        assert time.monotonic() < deadline
        time.sleep(0.1)
    stop()
    assert figure(pod, "process_resident_memory_bytes") < before + 15e6

    stop = faults.begin({"kind": "crash_loop"}, pod)
    assert not pod.is_running
    line.pop()()
    assert pod.is_running
    assert figure(pod, "http_requests_total") == 0, "it begins anew under its own name"
    stop()
    line.pop()()
    assert pod.is_running


def test_a_fault_is_known_by_variables_of_its_replica_its_group_and_the_machine():
    names = [
        'memory_bytes{pod="web-1",service="web"}',
        'memory_bytes{pod="web-2",service="web"}',
        'latency_seconds{pod="web-1",service="web"}',
        'group_memory_bytes{group="web"}',
        'group_memory_bytes{group="job"}',
        'group_cpu{group="job"}',
        'node_cpu{mode="user"}',
        'node_cpu{mode="steal"}',
        "node_memory_available_bytes",
        'up{exporter="process"}',
        'up{exporter="node"}',
    ]
    web_1 = {"service": "web", "pod": "web-1"}
    assert responsible({"kind": "memory_leak", **web_1}, names) == sorted(
        [names[0], names[3], names[8]]
    )
    assert responsible({"kind": "silent", **web_1}, names) == sorted([names[0], names[2]])
    assert responsible({"kind": "cpu_hog", "pod": None}, names) == sorted([names[5], names[6]])
    silent = responsible({"kind": "silent", "exporter": "process"}, names)
    assert silent == sorted([names[3], names[4], names[5], names[9]])


@pytest.mark.slow
@pytest.mark.prometheus
@pytest.mark.skipif(
    any(shutil.which(program) is None for program in PROGRAMS),
    reason=f"apt install {' '.join(PROGRAMS)}",
)
def test_a_short_recording_becomes_a_dataset(tmp_path, monkeypatch):
    short = made_schedule(14, PHASES)[:1]
    monkeypatch.setattr("tools.hostwatch.record.made_schedule", lambda seed, phases: short)
    record(tmp_path / "recording", 14, Phases(warm=14, normal=12, faults=12))
    export(tmp_path / "recording", tmp_path / "data")
    for part in ("train", "test"):
        path = tmp_path / "data" / f"host.{part}.parquet"
        recording = smkc.read(path)
        assert 5 <= len(recording) <= 7
        assert pq.read_table(path)["label"].to_numpy().sum() == 0
        metrics = {name.partition("{")[0] for name in recording.names}
        # Nothing was slow to start, and no interface need be named lo.
        asked = {query.metric for query in QUERIES} - {"node_network_loopback_bytes", "job_rate"}
        assert asked <= metrics
        assert np.diff(recording.times).tolist() == [2_000_000_000] * (len(recording) - 1)
    with (tmp_path / "data" / "events.csv").open() as file:
        assert list(csv.DictReader(file)) == []
