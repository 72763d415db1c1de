"""Columns of the alert benchmark: which there are, their times and the truth about them."""

import numpy as np
import pytest
from tests.benchmarks.real.conftest import registry  # noqa: F401

from benchmarks.alerts.columns import (
    DATASETS,
    DEMO,
    LABELLED,
    OWN,
    QUIET,
    columns,
    each_recording,
    service_of,
    truths,
)
from benchmarks.real.datasets import dataset
from benchmarks.real.plan import Column


@pytest.fixture(autouse=True)
def _forget():
    truths.cache_clear()
    yield
    truths.cache_clear()


def test_there_are_15_labelled_columns_two_quiet_ones_and_our_own():
    found = [str(column) for column in columns(DATASETS)]
    assert len(columns(LABELLED)) == 15
    assert found[:3] == ["asd", "asd, full churn", "cloudmon"]
    assert found[-len(QUIET + OWN) :] == [*QUIET, *OWN]
    assert {"skab, full churn", "smd, full churn"} <= set(found)


def test_every_dataset_that_counts_rows_says_how_long_a_row_is():
    units = {name: dataset(name).time_unit_seconds for name in DATASETS if name != DEMO}
    assert {name: unit for name, unit in units.items() if unit is not None} == {
        "asd": 300,
        "dbsherlock": 1,
        "jumpstarter": 1,
        "nasa": 60,
        "smd": 60,
    }


@pytest.mark.usefixtures("registry")
def test_recordings_have_dates_and_the_truth_names_the_guilty():
    recordings = list(each_recording(Column("smd")))
    assert [one.name for one in recordings] == ["one", "two"]
    times = recordings[0].test.times
    assert times.dtype == "datetime64[ns]"
    assert times[0] - recordings[0].reference.times[-1] == np.timedelta64(1, "s"), "they follow on"
    found = truths("smd")
    assert found["one"].events == [(40, 52), (120, 130)]
    assert found["one"].guilty == (frozenset({"v2"}), frozenset())
    assert found["two"].guilty == (frozenset(), frozenset({"v2", "v3"}))
    assert found["one"].step_seconds == 1.0


@pytest.mark.usefixtures("registry")
def test_churn_renames_variables_and_keeps_the_truth():
    plain, churned = (next(each_recording(Column("smd", churn))) for churn in ("none", "full"))
    assert (plain.labels == churned.labels).all()
    assert churned.test.names != plain.test.names


def test_the_demo_is_a_recording_with_four_events_per_seed():
    series = next(each_recording(Column(DEMO)))
    assert (series.key, len(series.events)) == ("demo/seed-00", 4)
    for event in series.events:
        assert series.labels[event.start : event.stop].all()
    assert series.labels.sum() == sum(event.stop - event.start for event in series.events)
    assert service_of(DEMO)(series.events[0].variables[0]) == "checkout"


def test_a_service_is_a_label_or_the_start_of_a_name():
    own = service_of("hostwatch")
    assert own('group_cpu{group="job"}') == "job"
    assert own('in_flight{pod="web-1",service="web"}') == "web"
    assert own("node_load1") is None
    assert service_of("rcd-sockshop")("front-end_lat_90") == "front-end"
    assert service_of("lro")("WaterLab_ph") is None
