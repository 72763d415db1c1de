"""The recorder: its schedules, the causes it names, its check.

Whole recordings are made by test_recorder_cache, test_recorder_pipeline and test_recorder_shop.
"""

import json
import random
import re
from dataclasses import replace
from itertools import pairwise

import numpy as np
import pytest
from tools.recorder.cache.client import key_slot
from tools.recorder.check import identifying, moved, problems
from tools.recorder.dataset import Dataset, Event
from tools.recorder.kinds import MACHINE, Cause, Kind, responsible
from tools.recorder.schedule import Phases, make_schedule
from tools.recorder.systems import SYSTEMS
from tools.stack.redis import _encode
from tools.stack.timeline import Timeline, read_log

PHASES = Phases()


def schedule_of(system, seed=1, phases=PHASES):
    return make_schedule(system.name, system.kinds, system.routines, seed, phases)


@pytest.fixture(params=sorted(SYSTEMS))
def system(request):
    return SYSTEMS[request.param]


# ---------------------------------------------------------------------- schedule


def test_a_seed_gives_one_schedule_and_another_seed_another(system):
    first = schedule_of(system)
    assert schedule_of(system) == first
    assert schedule_of(system, seed=2).actions != first.actions
    assert json.loads(json.dumps(first.record())) == first.record()


def test_an_hour_has_18_faults_of_20_to_180_seconds_with_a_rest_between(system):
    faults = schedule_of(system).faults
    assert len(faults) == 18
    assert faults[0].at >= PHASES.faults_from + 40
    for before, after in pairwise(faults):
        assert 20 <= before.about["seconds"] <= 180
        assert after.at - (before.at + before.about["seconds"]) >= 39.9
    assert faults[-1].at + faults[-1].about["seconds"] <= PHASES.total - 39.9
    kinds = [fault.about["kind"] for fault in faults]
    assert set(kinds) == {kind.name for kind in system.kinds}, "each kind comes before any twice"


def test_routine_is_as_frequent_as_faults_and_leaves_the_faulty_service_alone(system):
    schedule = schedule_of(system)
    routine = [action for action in schedule.actions if action.do != "fault"]
    late = [action for action in routine if action.at >= PHASES.faults_from]
    assert len(late) >= len(schedule.faults)
    assert len(routine) - len(late) >= 20, "the reference has routine changes, too"
    for action in routine:
        for fault in schedule.faults:
            if fault.about["service"] == action.about["service"]:
                end = fault.at + fault.about["seconds"]
                assert not fault.at - 30 < action.at < end + 6


def test_faults_that_do_not_fit_are_refused(system):
    with pytest.raises(SystemExit, match="do not fit"):
        schedule_of(system, phases=Phases(faults=300, fault_every=30))


def test_the_systems_have_12_kinds_of_faults_and_a_method_for_each():
    kinds = {kind.name for system in SYSTEMS.values() for kind in system.kinds}
    assert len(kinds) >= 12
    for system in SYSTEMS.values():
        for kind in system.kinds:
            assert callable(getattr(system, f"begin_{kind.name}"))
        for routine in system.routines:
            assert callable(getattr(system, f"do_{routine.name}"))


def test_what_a_kind_is_known_by_is_asked_for(system):
    metrics = {query.metric for query in system.queries()}
    for kind in system.kinds:
        for cause in (*kind.causes, *kind.symptoms):
            assert any(re.fullmatch(cause.metrics, metric) for metric in metrics), cause


# ---------------------------------------------------------------------- causes

NAMES = [
    'memory_bytes{pod="app-1",service="app"}',
    'memory_bytes{pod="app-2",service="app"}',
    'latency{pod="app-1",service="app"}',
    'group_memory_bytes{group="app"}',
    'group_memory_bytes{group="redis"}',
    "node_load1",
]


@pytest.mark.parametrize(
    ("causes", "fault", "chosen"),
    [
        ([Cause("memory_bytes", {"pod": "{pod}"})], {"pod": "app-1"}, [0]),
        ([Cause("memory_bytes", {"pod": "{pods}"})], {"pods": ["app-1", "app-2"]}, [0, 1]),
        ([Cause(".*", {"service": "app"})], {}, [0, 1, 2]),
        ([Cause("group_.*", {"group": "{service}"})], {"service": "redis"}, [4]),
        ([Cause("node_load1"), Cause("latency")], {}, [2, 5]),
        ([Cause("memory")], {}, []),
        ([Cause(".*", {"pod": "{pod}"})], {"service": "app"}, []),
    ],
)
def test_a_fault_is_known_by_the_variables_of_its_pods_and_service(causes, fault, chosen):
    kind = Kind(name="x", services=(MACHINE,), what="", causes=tuple(causes))
    assert responsible(kind, fault, NAMES) == (sorted(NAMES[number] for number in chosen), [])


def test_variables_that_only_suffer_are_symptoms():
    causes, symptoms = (Cause("latency"),), (Cause("latency|memory_bytes"),)
    kind = Kind(name="x", services=(MACHINE,), what="", causes=causes, symptoms=symptoms)
    assert responsible(kind, {}, NAMES) == ([NAMES[2]], NAMES[:2])


# ---------------------------------------------------------------------- check


@pytest.fixture
def data():
    rng = np.random.default_rng(5)
    times = 1000 + 2 * np.arange(200)
    columns = {name: rng.normal(10, 1, 200).astype(np.float32) for name in ("a", "b", "gone")}
    columns["a"][150:160] += 20
    columns["gone"][150:160] = np.nan
    event = Event(start=1300, end=1320, variables=("a", "b", "gone"), kind="x", service="s")
    labels = np.zeros(200, np.int8)
    labels[150:160] = 1
    return Dataset(
        times=times,
        labels=labels,
        in_test=times >= 1200,
        columns=columns,
        events=(event,),
        routine=((1250, 1252, "job", "job"),),
        machine={"failed": 0},
        schedule={"actions": [{"do": "fault"}, {"do": "job"}]},
    )


def test_a_right_dataset_has_no_problems(data):
    assert list(problems(data, ["x"])) == []


@pytest.mark.parametrize(
    ("change", "told"),
    [
        (lambda data: {"labels": np.roll(data.labels, 1)}, "labels are not 1 exactly"),
        (lambda data: {"times": data.times + (data.times > 1200)}, "1 steps are not 2 s"),
        (lambda data: {"events": ()}, "1 faults were planned, 0 are events"),
        (lambda data: {"routine": ()}, "0 routine changes beside 1 faults"),
        (lambda data: {"machine": {"failed": 2}}, "2 steps of the schedule failed"),
        (
            lambda data: {"columns": {**data.columns, 'up{host="10.1.2.3"}': data.columns["a"]}},
            "holds 10.1.2.3",
        ),
        (lambda data: {"events": (replace(data.events[0], variables=()),)}, "no causes"),
        (
            lambda data: {"events": (replace(data.events[0], variables=("z",)),)},
            "z is no variable",
        ),
        (lambda data: {"events": (replace(data.events[0], kind="y"),)}, "no such kind"),
        (lambda data: {"events": (replace(data.events[0], start=1100),)}, "not within"),
    ],
)
def test_each_fault_of_a_dataset_is_told(data, change, told):
    assert any(told in one for one in problems(replace(data, **change(data)), ["x"]))


def test_what_identifies_is_found_and_what_does_not_is_left():
    text = "user me at 192.168.1.5 on box in /home/me/x; 127.0.0.1:80, version 2.42.0, 0.11.0-1+b4"
    assert list(identifying(text, ["box", "me"])) == ["192.168.1.5", "/home/me/x", "box", "me"]
    assert list(identifying("127.0.0.1:80 and 1.2.3 and a/b", ["box"])) == []


def test_causes_that_moved_or_vanished_are_told_from_those_that_did_not(data):
    far = moved(data, data.events[0])
    assert far["a"] > 10
    assert far["b"] < 4
    assert far["gone"] == float("inf")


# ---------------------------------------------------------------------- parts


def test_steps_are_done_in_order_of_time_and_a_failure_is_logged(tmp_path):
    timeline, done = Timeline(tmp_path), []

    def fail():
        raise OSError("no such thing")

    timeline.later(2.0, done.append, "second")
    timeline.later(1.0, done.append, "first")
    timeline.later(3.0, fail)
    timeline.soon(3600.0, done.append, "later")
    timeline.do_due()
    assert done == ["first", "second"]
    assert [(one["what"], one["error"]) for one in read_log(tmp_path)] == [
        ("failed", "no such thing")
    ]


def test_keys_have_the_slots_that_redis_gives_them():
    # From the specification of Redis Cluster, and computed by CLUSTER KEYSLOT.
    assert key_slot(b"123456789") == 0x31C3
    assert key_slot(b"foo") == 12182
    assert _encode(("GET", b"a", 7)) == b"*3\r\n$3\r\nGET\r\n$1\r\na\r\n$1\r\n7\r\n"


def test_draws_are_numbers_that_a_schedule_can_hold(system):
    rng = random.Random(3)
    for one in (*system.kinds, *system.routines):
        assert json.loads(json.dumps(one.draw(rng))) is not None
