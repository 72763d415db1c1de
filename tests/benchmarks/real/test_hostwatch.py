"""The project's own recording: the files are right, and say what the registry says of them."""

import csv

import numpy as np
import pytest

from benchmarks.real.datasets import checked_file, dataset
from benchmarks.real.load import load_series
from smkc.recording import parse

KINDS = {"cpu_hog", "disk_load", "memory_leak", "slow_service", "crash_loop", "silent"}


@pytest.fixture
def about(monkeypatch):
    monkeypatch.delenv("SMKC_DATA", raising=False)
    return dataset("hostwatch")


@pytest.fixture
def series(about):
    return load_series(about, "host")


def test_the_files_are_those_of_the_registry_and_no_more_than_four_megabytes(about):
    paths = [checked_file(about, file) for file in about.files]
    assert sum(path.stat().st_size for path in paths) < 4_000_000
    assert (paths[0].parent / "README.md").exists()
    assert (paths[0].parent / "schedule.json").exists()


def test_the_reference_has_no_label_and_the_test_part_follows_it(series):
    assert len(series.reference) == 900
    assert 1600 < len(series.test) < 1700
    assert series.is_contiguous
    step = np.timedelta64(2, "s")
    assert series.test.times[0] - series.reference.times[-1] == step
    for part in (series.reference, series.test):
        assert (np.diff(part.times) == step).all()
        cardinality = np.diff(part.indptr)
        # The median of a part is near 190; an exporter that is silent takes some fifty away.
        assert 100 < cardinality.min() <= cardinality.max() < 300
    assert not any(entry["part"] != "test" for entry in csv.DictReader(_events().splitlines())), (
        "faults were planted in the test part alone"
    )


def _events():
    return checked_file(dataset("hostwatch"), "events.csv").read_text(encoding="utf-8")


def test_labels_agree_with_the_events_which_do_not_overlap(series):
    covered = np.zeros(len(series.test), np.int64)
    for event in series.events:
        covered[event.start : event.stop] += 1
        assert event.variables
        assert set(event.variables) <= set(series.test.names)
        assert 20 <= event.stop - event.start <= 52
    assert covered.max() == 1
    np.testing.assert_array_equal(covered > 0, series.labels)
    kinds = [event.kind for event in series.events]
    assert set(kinds) == KINDS
    assert min(kinds.count(kind) for kind in KINDS) >= 3


def test_replicas_come_and_go_in_both_parts(series):
    for part in (series.reference, series.test):
        first = np.full(len(part.names), len(part))
        np.minimum.at(first, part.codes, part.row_numbers)
        pods = {
            labels["pod"]: at
            for name, at in zip(part.names, first.tolist(), strict=True)
            if "pod" in (labels := (parse(name) or ("", {}))[1])
        }
        assert sum(at > 0 for at in pods.values()) > 30
    assert len(set(series.test.names) - set(series.reference.names)) > 300


def test_names_tell_nothing_of_the_machine(series):
    allowed = {"pod", "service", "group", "mode", "exporter"}
    for name in {*series.reference.names, *series.test.names}:
        parts = parse(name)
        assert parts is not None
        assert set(parts[1]) <= allowed
        assert not set(name) & set("/:\\@")


def test_faults_show_in_the_variables_they_are_known_by(series):
    """Memory that leaks rises, a slow service is slow, a silent one is absent: as was planted."""

    def median(name, start, stop):
        return float(np.nanmedian(series.test.trace(name)[start:stop]))

    shown = dict.fromkeys(KINDS, 0)
    for event in series.events:
        start, stop = event.start + 4, event.stop
        before = max(0, event.start - 30)
        for name in event.variables:
            trace = series.test.trace(name)
            metric = name.partition("{")[0]
            if event.kind in ("silent", "crash_loop") and metric == "up":
                assert np.nanmin(trace[start:stop]) == 0
                shown[event.kind] += 1
            elif event.kind == "memory_leak" and metric == "memory_bytes":
                assert np.nanmax(trace[start:stop]) > 2 * median(name, before, event.start)
                shown[event.kind] += 1
            elif event.kind == "slow_service" and metric == "latency_seconds":
                assert median(name, start, stop) > 3 * median(name, before, event.start)
                shown[event.kind] += 1
            elif event.kind == "cpu_hog" and metric == "group_cpu":
                assert median(name, start, stop) > 1.5 * median(name, before, event.start)
                shown[event.kind] += 1
            elif event.kind == "disk_load" and metric == "group_written_bytes":
                assert median(name, start, stop) > 1e6
                shown[event.kind] += 1
    kinds = [event.kind for event in series.events]
    assert shown == {kind: kinds.count(kind) for kind in KINDS}
