"""The made-up fleet: the same for the same seed, churning, and honest about what is in it."""

import csv
from pathlib import Path

import numpy as np
import pytest

import smkc
from smkc.decide import Alert
from smkc.fleet import Fleet, Incident, hold_against, make_fleet, write_fleet
from smkc.fleet.plan import Plan
from smkc.recording import parse


@pytest.fixture(scope="module")
def fleet() -> Fleet:
    return make_fleet(seed=0)


def test_same_seed_gives_the_same_fleet_and_another_seed_another(fleet: Fleet) -> None:
    again, other = make_fleet(seed=0), make_fleet(seed=1)
    assert again.live == fleet.live
    assert again.incidents == fleet.incidents
    assert other.live != fleet.live


def test_live_follows_the_reference_at_the_same_step(fleet: Fleet) -> None:
    times = np.concatenate([fleet.reference.times, fleet.live.times])
    assert set(np.diff(times)) == {np.timedelta64(30, "s")}


def test_pods_are_replaced_in_the_reference_and_live(fleet: Fleet) -> None:
    for recording in (fleet.reference, fleet.live):
        first, last = (
            set(recording.rows(0, 20).canonical().names),
            set(recording.rows(len(recording) - 20).canonical().names),
        )
        assert last - first
        assert first - last
    assert set(fleet.live.names) - set(fleet.reference.names)


def test_no_two_pods_share_a_name() -> None:
    for seed in (0, 14):  # by chance, seed 14 draws one name twice
        plan = Plan(np.random.default_rng(seed).spawn(4)[0], with_incidents=False)
        names = [pod.name for pod in plan.pods]
        assert len(set(names)) == len(names)


def test_names_are_label_sets(fleet: Fleet) -> None:
    parts = [parse(name) for name in fleet.live.names]
    metrics = {part[0] for part in parts if part is not None}
    assert {"cpu_usage", "memory_bytes", "request_rate", "http_requests_total"} <= metrics
    assert {frozenset(part[1]) for part in parts if part is not None} == {
        frozenset({"namespace", "pod", "service"}),
        frozenset({"node"}),
    }
    assert None not in parts


def test_a_metric_is_renamed_without_an_overlap(fleet: Fleet) -> None:
    change = next(one for one in fleet.routine if one.kind == "rename")
    before, after = fleet.live.between(None, change.start), fleet.live.between(change.start)

    def seen(recording: object, metric: str) -> bool:
        names = recording.canonical().names  # type: ignore[attr-defined]
        return any(one.startswith(metric + "{") and "catalog" in one for one in names)

    assert seen(before, "latency_p95")
    assert not seen(before, "latency_p95_seconds")
    assert seen(after, "latency_p95_seconds")
    assert not seen(after, "latency_p95")


def test_samples_are_lost_and_a_scrape_gap_leaves_empty_rows(fleet: Fleet) -> None:
    cardinality = fleet.live.cardinality
    assert (cardinality == 0).sum() == 4
    steady = fleet.live.trace('node_load1{node="node-1"}')
    assert 0.03 < np.isnan(steady).mean() < 0.08


def test_counters_only_grow_but_for_the_restart(fleet: Fleet) -> None:
    leak = next(one for one in fleet.incidents if one.kind == "memory leak")
    pod = leak.variables[0].partition("{")[2]
    drops = {}
    for name in fleet.live.names:
        if name.startswith("http_requests_total"):
            values = fleet.live.trace(name)
            drops[name] = int((np.diff(values[np.isfinite(values)]) < 0).sum())
    restarted = [name for name in drops if name.partition("{")[2] == pod]
    assert [drops.pop(name) for name in restarted] == [1]
    assert not any(drops.values())


def test_incidents_lie_in_the_live_part_and_name_variables_that_exist(fleet: Fleet) -> None:
    assert [one.kind for one in fleet.incidents] == [
        "latency storm",
        "memory leak",
        "CPU flapping",
        "pods lost",
    ]
    for one in fleet.incidents:
        assert fleet.live.times[0] <= one.start < one.end <= fleet.live.times[-1]
        assert set(one.variables) <= set(fleet.live.names)


def test_incidents_show_in_their_variables(fleet: Fleet) -> None:
    storm, leak, flapping, loss = fleet.incidents

    def spread_in_and_out(incident: Incident, variable: str) -> float:
        trace = fleet.live.trace(variable)
        inside = (fleet.live.times >= incident.start) & (fleet.live.times <= incident.end)
        return float(np.nanstd(np.diff(trace[inside])) / np.nanstd(np.diff(trace[~inside])))

    assert spread_in_and_out(storm, storm.variables[0]) > 5
    assert spread_in_and_out(flapping, flapping.variables[0]) > 3
    memory = fleet.live.between(leak.start, leak.end).trace(leak.variables[0])
    assert np.nanmax(memory) > 2 * np.nanmin(memory)
    during = fleet.live.between(loss.start, loss.end).cardinality.mean()
    before = fleet.live.between(None, loss.start).cardinality[-60:].mean()
    assert during < before - 12


def test_without_incidents_nothing_is_planted_but_the_churn_stays() -> None:
    calm = make_fleet(seed=0, with_incidents=False)
    assert calm.incidents == ()
    assert {one.kind for one in calm.routine} == {"rollout", "rename", "scaling", "scrape gap"}


def _alert(start: int, end: int) -> Alert:
    return Alert(
        start=start, end=end, peak=start, score=1.0, p_value=0.01, first_row=start, last_row=end
    )


def test_alerts_are_matched_with_incidents_by_overlap() -> None:
    one = Incident(start=10, end=20, kind="a", story="", variables=())
    two = Incident(start=50, end=60, kind="b", story="", variables=())
    touching, false = _alert(20, 30), _alert(31, 49)
    finding = hold_against([touching, false], [one, two])
    assert finding.by_incident == ((one, (touching,)), (two, ()))
    assert finding.false_alarms == (false,)
    assert finding.n_found == 1


def test_files_hold_the_fleet_and_its_labels(fleet: Fleet, tmp_path: Path) -> None:
    written = write_fleet(fleet, tmp_path)
    assert sorted(path.name for path in written) == sorted(path.name for path in tmp_path.iterdir())
    for name in ("reference", "live"):
        original = getattr(fleet, name)
        assert smkc.read(tmp_path / f"{name}.parquet").canonical() == original
        assert smkc.read(tmp_path / f"{name}.csv").canonical() == original
    with open(tmp_path / "labels.csv", newline="") as file:
        rows = list(csv.DictReader(file))
    planted = [row for row in rows if row["is_incident"] == "1"]
    assert [row["kind"] for row in planted] == [one.kind for one in fleet.incidents]
    assert len(rows) - len(planted) == len(fleet.routine)
    for row, incident in zip(planted, fleet.incidents, strict=True):
        assert np.datetime64(row["start"].rstrip("Z")) == incident.start
        assert np.datetime64(row["end"].rstrip("Z")) == incident.end
        assert row["variables"].split(" ") == list(incident.variables)
