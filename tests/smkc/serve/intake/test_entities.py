"""Samples find their watch, their lane and their name there; what is left out is counted."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from smkc.recording import identifier, parse
from smkc.serve.config import WatchConfig
from smkc.serve.intake import entities as intake_module
from smkc.serve.intake.entities import Intake
from smkc.serve.intake.samples import Samples


def push(**settings) -> WatchConfig:
    return WatchConfig(name="w", source="push", **settings)


def one_each(*names: str) -> Samples:
    n = len(names)
    return Samples(
        names=names, codes=np.arange(n), times=np.arange(n) * 10, values=np.arange(n) * 1.0
    )


def plain(parts: dict[str, Samples]) -> dict[str, list[tuple[str, int, float]]]:
    return {
        entity: [
            (part.names[code], time, value)
            for code, time, value in zip(
                part.codes.tolist(), part.times.tolist(), part.values.tolist(), strict=True
            )
        ]
        for entity, part in parts.items()
    }


def test_a_watch_without_rules_takes_all_as_one():
    parts = Intake(push()).by_entity(one_each("b", 'a{x="1"}'))
    assert plain(parts) == {"": [("b", 0, 0.0), ('a{x="1"}', 10, 1.0)]}


def test_labels_must_match_whole():
    intake = Intake(push(match={"__name__": "cpu|mem", "ns": "shop.*", "gone": ""}))
    names = ('cpu{ns="shop-1"}', 'cpu{ns="my-shop"}', 'cpus{ns="shop"}', 'mem{gone="x",ns="shop"}')
    parts = intake.by_entity(one_each(*names, 'mem{ns="shop"}', "mem"))
    assert plain(parts) == {"": [(names[0], 0, 0.0), ('mem{ns="shop"}', 40, 4.0)]}
    assert intake.unmatched == 4


def test_the_entity_splits_and_leaves_the_name():
    intake = Intake(push(entity="ns"))
    parts = intake.by_entity(one_each('cpu{ns="b",pod="x"}', 'cpu{ns="a"}', "up", 'mem{ns="b"}'))
    assert plain(parts) == {
        "b": [('cpu{pod="x"}', 0, 0.0), ("mem", 30, 3.0)],
        "a": [("cpu", 10, 1.0)],
    }
    assert intake.without_entity == 1


def test_dropped_labels_may_make_two_variables_one():
    intake = Intake(push(drop_labels=("pod",)))
    parts = intake.by_entity(one_each('cpu{pod="x"}', 'cpu{pod="y"}', 'cpu{pod="z"}', "mem"))
    assert parts[""].names == ("cpu", "mem")
    assert plain(parts)[""][2] == ("cpu", 20, 2.0)


def test_no_more_lanes_than_allowed_those_there_already_first():
    intake = Intake(push(entity="ns", max_lanes=2), entities=["old"])
    samples = one_each('a{ns="n1"}', 'a{ns="n2"}', 'a{ns="old"}', 'b{ns="n2"}')
    for _ in range(2):
        assert list(intake.by_entity(samples)) == ["n1", "old"]
    assert intake.over_lanes == 4


def test_a_name_without_a_reading_opens_no_lane():
    samples = one_each('a{ns="x"}', 'a{ns="y"}').take(np.array([1]))
    named = Samples(
        names=('a{ns="x"}', 'a{ns="y"}'),
        codes=samples.codes + 1,
        times=samples.times,
        values=samples.values,
    )
    assert list(Intake(push(entity="ns")).by_entity(named)) == ["y"]


def test_text_that_is_no_identifier_stays_as_it_is():
    names = ("pod/{cpu", "a}b", "", "m{x=1}")
    parts = Intake(push(drop_labels=("x",))).by_entity(one_each(*names))
    assert parts[""].names == names


def test_memory_of_names_is_bounded(monkeypatch):
    monkeypatch.setattr(intake_module, "MOST_REMEMBERED", 20)
    intake = Intake(push(entity="ns"))
    for start in range(0, 200, 10):
        names = [f'v{start + n}{{ns="a"}}' for n in range(10)]
        parts = intake.by_entity(one_each(*names))
        assert parts["a"].names == tuple(f"v{start + n}" for n in range(10))
    assert len(intake._places) <= 20


def test_names_are_looked_into_once(monkeypatch):
    monkeypatch.setattr(intake_module, "MOST_REMEMBERED", 20)
    intake = Intake(push(entity="ns"))
    samples = one_each(*(f'v{n}{{ns="a"}}' for n in range(15)))
    intake.by_entity(samples)
    places = dict(intake._places)
    intake.by_entity(samples)
    assert len(places) == 15
    assert all(intake._places[name] is place for name, place in places.items())


def test_nothing_in_nothing_out():
    assert Intake(push(entity="ns")).by_entity(one_each()) == {}


labels = st.dictionaries(st.sampled_from(["ns", "pod", "zone"]), st.sampled_from(["", "a", "b"]))
some_names = st.lists(
    st.builds(identifier, st.sampled_from(["cpu", "mem"]), labels), unique=True, max_size=12
)


@given(names=some_names, data=st.data())
@pytest.mark.parametrize("entity", ["", "ns"])
def test_every_sample_is_kept_or_counted(entity, names, data):
    n = data.draw(st.integers(0, 20)) if names else 0
    codes = data.draw(st.lists(st.integers(0, max(0, len(names) - 1)), min_size=n, max_size=n))
    samples = Samples(
        names=tuple(names),
        codes=np.array(codes, np.int64),
        times=np.arange(n),
        values=np.arange(n) * 0.5,
    )
    intake = Intake(push(entity=entity, drop_labels=("pod",), match={"zone": "a?"}))
    expected: dict[str, list[tuple[str, int, float]]] = {}
    n_left = 0
    for at, code in enumerate(codes):
        metric, found = parse(names[code])
        lane = found.pop("ns", "") if entity else ""
        if found.get("zone", "") == "b" or (entity and not lane):
            n_left += 1
            continue
        found.pop("pod", None)
        expected.setdefault(lane, []).append((identifier(metric, found), at, at * 0.5))
    actual = plain(intake.by_entity(samples))
    assert actual == expected
    assert intake.unmatched + intake.without_entity == n_left
