"""The live trial: its schedule, its simulated fleet, its labels and its verdicts."""

import csv
import json
import random
import shutil
from itertools import pairwise

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from tools.livetrial.export import labels_of
from tools.livetrial.fleet import MEMORY_FACTOR, SLOW_FACTOR, USUAL, Fleet, Load
from tools.livetrial.outcome import judge, table
from tools.livetrial.replay import replay, rows_of
from tools.livetrial.schedule import (
    KINDS,
    OF_POD,
    OF_SERVICE,
    PARTS,
    SERVICES,
    Phases,
    make_schedule,
)
from tools.livetrial.stack import PROGRAMS
from tools.livetrial.trial import run_trial
from tools.livetrial.variables import KNOWN_BY, guilty, is_named
from tools.livetrial.watching import SeenAlert

import smkc

PHASES = Phases()


@pytest.fixture(scope="module")
def schedule():
    return make_schedule(17, PHASES)


def faults_of(schedule):
    return [action for action in schedule.actions if action.do == "fault"]


# ---------------------------------------------------------------------- schedule


def test_a_seed_gives_one_schedule_and_another_seed_another(schedule):
    assert make_schedule(17, PHASES) == schedule
    assert json.loads(json.dumps(schedule.record())) == schedule.record()
    assert make_schedule(18, PHASES).actions != schedule.actions


def test_each_kind_of_fault_comes_once_after_the_reference_with_a_rest_behind_it(schedule):
    faults = faults_of(schedule)
    assert sorted(fault.about["kind"] for fault in faults) == sorted(KINDS)
    assert set(KNOWN_BY) == set(KINDS)
    assert len(KINDS) == 12
    assert faults[0].at >= PHASES.warm + PHASES.reference + 60
    ends = [fault.at + 60 for fault in faults]
    rests = [after.at - end for end, after in zip(ends, faults[1:], strict=False)]
    assert min(rests) >= 60
    assert max(rests) <= 90
    assert ends[-1] + 60 <= schedule.total


def test_fewer_faults_are_the_first_of_a_shuffled_order():
    kinds = [fault.about["kind"] for fault in faults_of(make_schedule(5, Phases(n_faults=3)))]
    assert len(set(kinds)) == 3
    assert faults_of(make_schedule(5, Phases(n_faults=0))) == []


def test_a_quiet_trial_has_rollouts_to_its_end():
    quiet = make_schedule(5, Phases(n_faults=0, quiet=2400))
    assert quiet.total == PHASES.live_from + PHASES.pause + 2400
    assert quiet.actions[-1].at > quiet.total - 70


def test_every_part_is_killed_once_after_the_faults():
    phases = Phases(kill_every=90, rollout_every=42)
    schedule = make_schedule(5, phases)
    kills = [action for action in schedule.actions if action.do == "kill"]
    assert [kill.about["part"] for kill in kills] == list(PARTS)
    assert kills[0].at > faults_of(schedule)[-1].at + 60
    assert kills[-1].at < schedule.total
    assert faults_of(schedule) == faults_of(make_schedule(5, phases))
    rollouts = [action for action in schedule.actions if action.do == "rollout"]
    assert len(rollouts) == pytest.approx(schedule.total / 42, abs=2)
    assert [one.at for one in schedule.actions] == sorted(one.at for one in schedule.actions)


def test_one_pod_is_replaced_about_every_minute_and_none_under_a_fault(schedule):
    running = {pod: service for service, pod in schedule.pods}
    assert [list(running.values()).count(service) for service in SERVICES] == [4, 4, 4, 4]
    rollouts, under_fault = [], {}
    for action in schedule.actions:
        about = action.about
        if action.do == "fault":
            assert ("pod" in about) == (about["kind"] in OF_POD)
            assert ("service" in about) == (about["kind"] in OF_POD + OF_SERVICE)
            if "pod" in about:
                assert running[about["pod"]] == about["service"]
                under_fault[about["pod"]] = action.at + about["seconds"]
            continue
        rollouts.append(action.at)
        assert running.pop(about["old"]) == about["service"]
        assert under_fault.get(about["old"], 0) < action.at
        assert about["new"] not in running
        running[about["new"]] = about["service"]
    assert len(rollouts) == pytest.approx(schedule.total / 60, abs=2)
    assert all(40 < after - before < 80 for before, after in pairwise(rollouts))


# ---------------------------------------------------------------------- fleet


def pods_of(*services):
    return [{"pod": f"{service}-{n}", "service": service} for service in services for n in "12"]


def moved(fleet, start, seconds=20):
    for number in range(2 * seconds):
        fleet.tick(start + number / 2, 0.5)


def figures(fleet, pod):
    lines = [line for line in fleet.metrics(pod).splitlines() if not line.startswith("#")]
    return {name: float(value) for name, value in (line.rsplit(" ", 1) for line in lines)}


DURATION = 'http_request_duration_seconds{quantile="0.5"}'
ERRORS = 'http_requests_total{code="500"}'


@pytest.fixture
def fleet(monkeypatch):
    monkeypatch.setattr("tools.livetrial.fleet.time.time", lambda: 1000.0)
    found = Fleet(seed=3)
    found.control(pods_of("web", "orders"), [])
    moved(found, 1000.0, 70)
    return found


def test_pods_share_the_load_and_count(fleet):
    one = figures(fleet, "web-1")
    usual, seconds, memory, _ = USUAL["web"]
    assert one["http_request_duration_seconds_count"] == pytest.approx(70 * usual / 2, rel=0.4)
    assert one[DURATION] == pytest.approx(0.8 * seconds, rel=0.8)
    assert one["process_resident_memory_bytes"] == pytest.approx(memory, rel=0.3)
    fleet.control(pods_of("orders"), [])
    assert fleet.metrics("web-1") is None


@pytest.mark.parametrize(
    ("kind", "metric", "least"),
    [
        ("instance_slow", DURATION, 0.6 * SLOW_FACTOR),
        ("instance_memory", "process_resident_memory_bytes", 0.7 * MEMORY_FACTOR),
    ],
)
def test_trouble_of_one_pod_moves_that_pod_alone_and_passes(fleet, kind, metric, least):
    before = {pod: figures(fleet, pod)[metric] for pod in ("web-1", "web-2")}
    fleet.control(pods_of("web", "orders"), [{"kind": kind, "service": "web", "pod": "web-1"}])
    moved(fleet, 1070.0)
    assert figures(fleet, "web-1")[metric] > least * before["web-1"]
    assert figures(fleet, "web-2")[metric] < 2 * before["web-2"]
    fleet.control(pods_of("web", "orders"), [])
    moved(fleet, 1090.0)
    assert figures(fleet, "web-1")[metric] < 2 * before["web-1"]


def test_trouble_of_a_service_moves_all_of_its_pods(fleet):
    pods, web = pods_of("web", "orders"), {"service": "web"}
    usual = figures(fleet, "web-1")[DURATION]
    fleet.control(pods, [{"kind": kind, **web} for kind in OF_SERVICE])
    before = {pod: figures(fleet, pod)[ERRORS] for pod in ("web-1", "web-2", "orders-1")}
    moved(fleet, 1070.0)
    for pod in ("web-1", "web-2"):
        after = figures(fleet, pod)
        assert after[DURATION] > 5 * usual
        assert after[ERRORS] > before[pod] + 300
        assert after["queue_length"] >= 50
    assert figures(fleet, "orders-1")[ERRORS] < before["orders-1"] + 30
    assert figures(fleet, "orders-1")["queue_length"] < 30


def test_without_traffic_nothing_is_counted_and_there_is_no_latency(fleet):
    fleet.control(pods_of("web", "orders"), [{"kind": "traffic_gone"}])
    before = figures(fleet, "orders-2")
    moved(fleet, 1070.0)
    after = figures(fleet, "orders-2")
    name = "http_request_duration_seconds_count"
    assert after[name] == before[name]
    assert np.isnan(after[DURATION])


def test_the_load_stays_near_its_usual_level():
    load = Load(random.Random(4))
    values = [load.at(number / 2) for number in range(2400)]
    assert np.mean(values) == pytest.approx(1.0, abs=0.1)
    assert min(values) > 0.4


# ---------------------------------------------------------------------- labels


def test_rows_from_the_start_of_a_fault_to_its_end_are_labelled():
    times = np.arange(0, 20_000, 2_000)
    faults = [{"begun": 4.0, "ended": 8.0}, {"begun": 13.1, "ended": 15.9}]
    assert labels_of(times, faults).tolist() == [0, 0, 1, 1, 0, 0, 0, 1, 0, 0]


NAMES = [
    'http_request_duration_seconds_sum{job="fleet",pod="web-1",service="web"}',
    'http_request_duration_seconds_sum{job="fleet",pod="web-2",service="web"}',
    'http_request_duration_seconds_sum{job="fleet",pod="orders-1",service="orders"}',
    'http_requests_total{code="200",job="fleet",pod="web-1",service="web"}',
    'http_requests_total{code="500",job="fleet",pod="web-1",service="web"}',
    'node_cpu_seconds_total{cpu="0",job="node",mode="idle"}',
    'node_cpu_seconds_total{cpu="0",job="node",mode="irq"}',
    'redis_commands_total{cmd="get",job="redis"}',
    'redis_commands_total{cmd="ping",job="redis"}',
    'redis_connected_clients{job="redis"}',
    'up{instance="host",job="node"}',
]


@pytest.mark.parametrize(
    ("fault", "chosen"),
    [
        ({"kind": "instance_slow", "service": "web", "pod": "web-1"}, [0]),
        ({"kind": "service_slow", "service": "web"}, [0, 1]),
        ({"kind": "traffic_gone"}, [0, 1, 2, 3, 4]),
        ({"kind": "error_burst", "service": "web"}, [4]),
        ({"kind": "cpu_hog"}, [5]),
        ({"kind": "exporter_silent"}, [5, 6, 10]),
        ({"kind": "redis_dead"}, [7, 8, 9]),
        ({"kind": "client_flood"}, [8, 9]),
    ],
)
def test_a_fault_is_known_by_variables_of_its_job_service_and_pod(fault, chosen):
    assert guilty(fault, NAMES) == sorted(NAMES[number] for number in chosen)


def test_a_variable_of_the_guilty_service_names_the_fault_too():
    fault = {"kind": "error_burst", "service": "web"}
    assert is_named(fault, NAMES[0])
    assert not is_named(fault, NAMES[2])
    assert not is_named({"kind": "cpu_hog"}, NAMES[0])


# ---------------------------------------------------------------------- outcome


def seen(opened, resolved, cause=""):
    causes = [cause] if cause else []
    return SeenAlert(id=str(opened), opened=opened, resolved=resolved, causes=causes)


FAULTS = [
    {"kind": "cpu_hog", "begun": 100.0, "ended": 160.0},
    {"kind": "error_burst", "service": "web", "begun": 300.0, "ended": 360.0},
    {"kind": "redis_dead", "begun": 500.0, "ended": 560.0},
]


def test_faults_are_alerted_and_held_or_resolved_early():
    alerts = [seen(104.0, 175.0, NAMES[5]), seen(310.0, 330.0, NAMES[2]), seen(340.0, 380.0)]
    outcome = judge(FAULTS, alerts, 0.0, 600.0)
    hog, burst, dead = outcome.faults
    assert (hog.alerted_after, hog.resolved_after, hog.is_held) == (4.0, 75.0, True)
    assert hog.is_guilty
    assert (burst.alerted_after, burst.resolved_after, burst.is_held) == (10.0, 30.0, False)
    assert not burst.is_guilty
    assert dead.alerted_after is None
    assert (outcome.n_alerted, outcome.n_held, outcome.false_alarms) == (2, 1, ())
    assert outcome.routine_minutes == 7.0
    shown = table(outcome)
    assert "2 of 3 faults alerted, 1 open until the fault ended" in shown
    assert "* node_cpu_seconds_total" in shown


def test_an_alert_of_no_fault_is_false_unless_it_is_the_aftermath_of_one():
    alerts = [seen(50.0, 60.0), seen(175.0, 190.0), seen(200.0, None)]
    outcome = judge(FAULTS, alerts, 0.0, 600.0)
    assert [one.opened for one in outcome.false_alarms] == [50.0, 200.0]
    assert [fault.was_open for fault in outcome.faults] == [False, True, True]
    assert outcome.n_alerted == 0


def test_an_alert_of_a_part_that_was_killed_is_told_apart():
    kills = [{"part": "node", "begun": 700.0, "ended": 705.0}]
    outcome = judge(FAULTS, [seen(703.0, 730.0, NAMES[10])], 0.0, 800.0, kills)
    (node,) = outcome.kills
    assert (node.kind, node.alerted_after, node.first_cause) == ("kill -9 node", 3.0, NAMES[10])
    assert outcome.false_alarms == ()
    assert outcome.n_alerted == 0
    assert "kill -9 node" in table(outcome)


# ---------------------------------------------------------------------- replay


def test_a_dataset_is_judged_again_by_the_service_s_own_lane(tmp_path, rng):
    n_train, n_test, fault = 600, 90, {"what": "fault", "kind": "redis_dead"}
    values = rng.normal(size=(n_train + n_test, 8))
    values[n_train + 40 : n_train + 70, :6] = np.nan
    values[n_train + 40 : n_train + 70, 6:] += 100.0
    names = [f'redis_{number}{{job="redis"}}' for number in range(8)]
    times = 2 * np.arange(n_train + n_test)
    for part, rows in (("train", slice(0, n_train)), ("test", slice(n_train, None))):
        columns = {name: values[rows, number] for number, name in enumerate(names)}
        columns = {
            name: pa.array(one, pa.float32(), from_pandas=True) for name, one in columns.items()
        }
        whole = {"time": times[rows], **columns, "label": np.zeros(len(times[rows]), np.int8)}
        pq.write_table(pa.table(whole), tmp_path / f"live.{part}.parquet")
    begun, ended = 2 * (n_train + 40) - 1, 2 * (n_train + 70) - 1
    log = [{"what": "start"}, {**fault, "begun": begun, "ended": ended}]
    (tmp_path / "log.jsonl").write_text("".join(json.dumps(entry) + "\n" for entry in log))
    first = next(rows_of(tmp_path / "live.train.parquet"))
    assert (first.time, first.names) == (0, tuple(names))
    assert len(list(rows_of(tmp_path / "live.test.parquet"))[50].names) == 2
    outcome = replay(tmp_path, {"false_alarms_per_day": 10.0})
    (found,) = outcome.faults
    assert found.alerted_after is not None
    assert found.first_cause in names
    assert outcome.routine_minutes == pytest.approx(2, abs=0.1)
    (tmp_path / "log.jsonl").unlink()  # a recording without a log has its faults in a table
    events = "series,part,start,end,variables,kind\n"
    guilty = names[0].replace('"', '""')
    events += f'live,train,0,9,,other\nlive,test,{begun},{ended},"{guilty}",x\n'
    (tmp_path / "events.csv").write_text(events)
    (of_table,) = replay(tmp_path, {"false_alarms_per_day": 10.0}).faults
    assert of_table.alerted_after == found.alerted_after
    assert of_table.is_guilty == (found.first_cause == names[0])


# ---------------------------------------------------------------------- the whole


needs_programs = pytest.mark.skipif(
    any(shutil.which(program) is None for program in PROGRAMS),
    reason=f"apt install {' '.join(PROGRAMS)}",
)


@pytest.mark.slow
@pytest.mark.prometheus
@needs_programs
def test_killed_parts_come_back_and_no_row_is_lost_or_judged_twice(tmp_path):
    phases = Phases(
        warm=6, reference=80, pause=10, n_faults=0, kill_every=14, quiet=10, rollout_every=15
    )
    outcome = run_trial(tmp_path / "run", make_schedule(15, phases), settings={"min_rows": 32})
    assert outcome is not None
    assert [kill.kind for kill in outcome.kills] == [f"kill -9 {part}" for part in PARTS]
    record = json.loads((tmp_path / "run" / "outcome.json").read_text())
    rows = record["rows"]
    assert rows["judged"] > 30
    assert (rows["lost"], rows["twice"]) == (0, 0)


@pytest.mark.slow
@pytest.mark.prometheus
@needs_programs
def test_a_short_trial_is_exported_with_the_names_that_a_watch_uses(tmp_path):
    phases = Phases(warm=6, reference=70, pause=6, n_faults=1, fault=10, rest=6)
    schedule = make_schedule(15, phases)
    outcome = run_trial(tmp_path / "run", schedule, watches=False, out=tmp_path / "data")
    assert outcome is None
    (fault,) = faults_of(schedule)
    assert fault.about["kind"] == "service_slow"
    reference = smkc.read(tmp_path / "data" / "live.train.parquet")
    assert len(reference) == pytest.approx(35, abs=1)
    assert np.unique(np.diff(reference.times)).tolist() == [2_000_000_000]
    for service, pod in schedule.pods[-1:]:
        assert (
            f'up{{instance="{pod}",job="fleet",pod="{pod}",service="{service}"}}' in reference.names
        )
    assert 'redis_up{instance="cache",job="redis"}' in reference.names
    assert 'node_load1{instance="host",job="node"}' in reference.names
    table = pq.read_table(tmp_path / "data" / "live.test.parquet")
    n_anomalous = int(np.sum(table["label"].to_numpy()))
    assert n_anomalous == pytest.approx(5, abs=1)  # on a busy machine a fault may end a row late
    with (tmp_path / "data" / "events.csv").open() as file:
        (event,) = csv.DictReader(file)
    assert event["kind"] == "service_slow"
    assert f'service="{fault.about["service"]}"' in event["variables"]
    with (tmp_path / "data" / "routine.csv").open() as file:
        assert [row["kind"] for row in csv.DictReader(file)] == ["rollout"]
