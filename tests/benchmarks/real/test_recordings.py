"""The recordings of real software that come with the project: whole, small, and named by nobody."""

import pytest
from tools.recorder.check import check
from tools.recorder.systems import SYSTEMS

from benchmarks.alerts.columns import OWN
from benchmarks.real.datasets import checked_file, dataset
from benchmarks.real.load import load_series

RECORDED = [name for name in OWN if name.partition("-")[0] in SYSTEMS]


@pytest.fixture(params=RECORDED)
def about(request, monkeypatch):
    monkeypatch.delenv("SMKC_DATA", raising=False)
    return dataset(request.param)


def test_there_are_recordings():
    assert RECORDED


def test_the_files_are_those_of_the_registry_and_less_than_three_megabytes(about):
    paths = [checked_file(about, file) for file in about.files]
    assert sum(path.stat().st_size for path in paths) < 3_000_000


def test_the_recorders_own_check_passes(about, capsys):
    folder = checked_file(about, "events.csv").parent
    system = SYSTEMS[about.name.partition("-")[0]]
    assert check(system, folder) == 0, capsys.readouterr().out


def test_it_has_18_faults_of_12_kinds_with_causes_and_as_many_routine_changes(about):
    (parts,) = about.series
    series = load_series(about, parts.name)
    assert len(series.events) >= 18
    assert len({event.kind for event in series.events}) >= 12
    assert all(set(event.variables) <= set(series.test.names) for event in series.events)
    assert all(event.variables for event in series.events)
    routine = (checked_file(about, "events.csv").parent / "routine.csv").read_text("utf-8")
    assert len(routine.splitlines()) - 1 >= len(series.events)
    minutes = [len(part) * 2 / 60 for part in (series.reference, series.test)]
    assert minutes[0] >= 29
    assert minutes[1] >= 59
