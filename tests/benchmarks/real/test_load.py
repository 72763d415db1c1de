import os
from dataclasses import replace

import numpy as np
import pyarrow as pa
import pytest
from tests.benchmarks.real.made_up import (
    columns,
    dense,
    made_up_series,
    two_part_dataset,
    write_dataset,
)

from benchmarks.real.datasets import dataset, dataset_names, public_sources
from benchmarks.real.load import each_series, load_series
from benchmarks.real.series import Event, Series
from smkc.errors import InputError, ReadError

needs_data = pytest.mark.skipif(
    not os.environ.get("SMKC_DATA"),
    reason="SMKC_DATA is not set; public sources: " + public_sources(),
)


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.setenv("SMKC_DATA", str(tmp_path))
    return tmp_path


def one_file(folder, table, share=0.35, **rest):
    return write_dataset(
        folder,
        files={"run.test.parquet": table},
        series=[{"name": "run", "test": "run.test.parquet"}],
        share=share,
        **rest,
    )


def test_two_files_become_a_reference_and_a_test_part_with_labels(folder):
    series = load_series(two_part_dataset(folder), "box")
    assert series.key == "made-up/box"
    assert (len(series.reference), len(series.test)) == (100, 100)
    assert series.reference.names == series.test.names == ("a", "b", "c", "d")
    np.testing.assert_array_equal(series.test.trace("c"), np.arange(100, 200) + 3000)
    np.testing.assert_array_equal(np.flatnonzero(series.labels), np.arange(20, 50))
    assert series.is_contiguous
    assert series.notes == ("made up",)
    assert repr(series) == (
        "Series(made-up/box: 100 reference and 100 test rows, 4 variables, 30.0% anomalous, "
        "2 events)"
    )


def test_events_are_rows_of_the_test_part_in_order_and_only_its_own(folder):
    series = load_series(two_part_dataset(folder), "box")
    assert series.events == (
        Event(start=20, stop=25, variables=("c",), kind="slow"),
        Event(start=40, stop=50, variables=("a", "b")),
    )


def test_an_event_of_a_pod_is_one_of_all_its_variables(folder):
    names = ("pod-1/cpu", "pod-1/mem", "pod-12/cpu", "node|x", "mote_t", "motel")
    about = one_file(
        folder,
        columns(0, 100, names, anomalous=[60]),
        events="series,part,start,end,variables,kind\n"
        'run,"",60,61,pod-1,""\nrun,"",61,62,node mote,""\nrun,"",62,63,gone,""\n',
    )
    found = [event.variables for event in load_series(about, "run").events]
    assert found == [("pod-1/cpu", "pod-1/mem"), ("mote_t", "node|x"), ()]


def test_parts_of_one_recording_share_its_events_by_time(folder):
    about = write_dataset(
        folder,
        files={
            "shop.normal.parquet": columns(50, 50),
            "shop.day1.parquet": columns(0, 50),
            "shop.day2.parquet": columns(100, 50),
        },
        series=[
            {
                "name": f"shop.{day}",
                "reference": "shop.normal.parquet",
                "test": f"shop.{day}.parquet",
            }
            for day in ("day1", "day2")
        ],
        events='series,part,start,end,variables,kind\nshop,"",10,20,a,x\nshop,"",110,130,b,y\n',
        contiguous=False,
    )
    first, second = each_series(about)
    assert first.events == (Event(start=10, stop=20, variables=("a",), kind="x"),)
    assert second.events == (Event(start=10, stop=30, variables=("b",), kind="y"),)
    assert not first.is_contiguous
    assert first.reference == second.reference


def test_without_a_reference_of_its_own_the_start_of_a_recording_serves(folder):
    series = load_series(one_file(folder, columns(0, 101, anomalous=range(60, 80))), "run")
    assert (len(series.reference), len(series.test)) == (35, 66)
    assert series.test.times[0] == 35
    np.testing.assert_array_equal(np.flatnonzero(series.labels), np.arange(25, 45))


def test_a_reference_ends_ten_rows_before_an_anomaly_that_its_share_would_hold(folder):
    series = load_series(one_file(folder, columns(0, 100, anomalous=range(30, 60))), "run")
    assert (len(series.reference), len(series.test)) == (20, 80)
    np.testing.assert_array_equal(np.flatnonzero(series.labels), np.arange(10, 40))


def test_a_recording_that_starts_anomalous_has_no_reference(folder):
    with pytest.raises(ReadError, match=r"made-up/run is anomalous from row 8 on"):
        load_series(one_file(folder, columns(0, 100, anomalous=[8])), "run")


def test_a_recording_without_reference_and_share_is_an_error(folder):
    with pytest.raises(ReadError, match=r"no reference file and its dataset no reference_share"):
        load_series(one_file(folder, columns(0, 100), share=None), "run")


def test_a_variable_that_a_part_never_observes_is_not_one_of_it(folder):
    table = columns(0, 100, "ab")
    values = np.arange(100.0)
    table["b"] = pa.array([None if row < 50 else row for row in values], pa.float32())
    table["empty"] = pa.array([None] * 100, pa.float32())
    series = load_series(one_file(folder, table), "run")
    assert series.reference.names == ("a",)
    assert series.test.names == ("a", "b")
    assert np.isnan(series.test.trace("b")[:15]).all()
    np.testing.assert_array_equal(series.test.trace("b")[15:], values[50:])


def test_recordings_are_loaded_when_asked_for(folder):
    about = two_part_dataset(folder)
    waiting = each_series(about)
    for file in about.files:
        (folder / "made-up" / file).unlink()
    with pytest.raises(ReadError, match="is missing"):
        next(waiting)


@pytest.mark.parametrize("absent", ["time", "label"])
def test_a_file_without_times_or_labels_is_an_error(folder, absent):
    table = columns(0, 100)
    del table[absent]
    with pytest.raises(ReadError, match=f"no column '{absent}'"):
        load_series(one_file(folder, table), "run")


def test_rows_out_of_order_or_at_one_time_are_an_error(folder):
    table = columns(0, 100)
    table["time"] = pa.array([*range(98), 97, 99])
    with pytest.raises(ReadError, match="in order of time"):
        load_series(one_file(folder, table), "run")


def test_a_file_that_is_not_parquet_is_an_error(folder):
    about = one_file(folder, columns(0, 100), events="")
    junk = write_dataset(
        folder,
        files={},
        series=[{"name": "run", "test": "events.csv"}],
        events="not parquet",
        share=0.35,
        name="junk",
    )
    assert about.name == "made-up"
    with pytest.raises(ReadError, match="cannot be read as Parquet"):
        load_series(junk, "run")


@pytest.mark.parametrize("line", ["run,test,ten,20,a,x", "run,test,10", "run,test,1.5,20,a,x"])
def test_a_line_that_is_no_event_is_an_error_that_names_it(folder, line):
    events = "series,part,start,end,variables,kind\nother,test,1,2,a,x\n" + line + "\n"
    with pytest.raises(ReadError, match=r"line 3 of .*events.csv is not an event"):
        load_series(one_file(folder, columns(0, 100), events=events), "run")


def test_a_series_holds_one_label_a_row_and_events_inside():
    good = made_up_series()
    parts = {
        "dataset": "d",
        "name": "n",
        "reference": good.reference,
        "test": good.test,
    }
    with pytest.raises(InputError, match=r"labels of d/n .* 400 test rows"):
        Series(**parts, labels=good.labels[1:])
    with pytest.raises(InputError, match=r"labels of d/n are int8"):
        Series(**parts, labels=good.labels.astype(np.int8))
    with pytest.raises(InputError, match=r"rows 390 to 401 of 400"):
        Series(**parts, labels=good.labels, events=(Event(start=390, stop=401),))


# What the prototypes of this benchmark read: recordings, reference rows, test rows, variables of
# the widest test part, anomalous rows.
SHAPES = {
    "smd": (4, 94_790, 94_793, 38, 4_581),
    "asd": (12, 102_331, 51_840, 19, 2_392),
    "skab": (16, 6_348, 11_812, 8, 6_309),
    "nezha": (2, 1_902, 979, 203, 247),
    "lro": (1, 11_520, 19_643, 30, 531),
    "petshop": (1, 589, 116, 288, 64),
    "nasa": (8, 15_409, 20_574, 55, 1_788),
    "cloudmon": (2, 687, 1_281, 23, 250),
    "hostwatch": (1, 900, 1_650, 1_111, 618),
}


@needs_data
@pytest.mark.parametrize("name", dataset_names())
def test_the_data_at_hand_load_as_they_were_when_the_benchmark_was_made(name):
    found = list(each_series(name))
    assert SHAPES[name] == (
        len(found),
        sum(len(series.reference) for series in found),
        sum(len(series.test) for series in found),
        max(len(series.test.names) for series in found),
        sum(int(series.labels.sum()) for series in found),
    )
    assert all(series.labels.any() for series in found)


@needs_data
@pytest.mark.parametrize("name", ["smd", "asd", "nasa", "skab", "petshop"])
def test_the_events_at_hand_cover_the_labelled_rows_and_no_others(name):
    for series in each_series(name):
        covered = np.zeros(len(series.test), bool)
        for event in series.events:
            covered[event.start : event.stop] = True
            assert set(event.variables) <= set(series.test.names)
            assert bool(event.variables) == (name != "skab")
        np.testing.assert_array_equal(covered, series.labels)


@needs_data
def test_a_recording_at_hand_has_the_values_of_its_file():
    import pyarrow.parquet as pq

    path = f"{os.environ['SMKC_DATA']}/petshop/{dataset('petshop').parts('low').test}"
    table = pq.read_table(path).drop_columns(["time", "label"])
    series = load_series("petshop", "low")
    expected = np.stack([table[name].to_numpy() for name in series.test.names], axis=1)
    np.testing.assert_array_equal(dense(series.test, series.test.names), expected)


@needs_data
@pytest.mark.parametrize("name", ["airquality", "nab", "wsn"])
def test_the_datasets_beside_the_ranking_load_too(name):
    (series,) = each_series(name)
    assert series.labels.any() == (name != "airquality")
    assert len(series.reference) > 100


def test_a_file_of_several_recordings_gives_the_rows_of_one_and_a_share_of_its_normal_rows(
    tmp_path, monkeypatch
):
    monkeypatch.setenv("SMKC_DATA", str(tmp_path))
    table = columns(0, 60, anomalous=[*range(20, 30), *range(50, 60)])
    table["recording"] = ["one"] * 30 + ["two"] * 30
    table["root_cause"] = ["a"] * 60
    about = write_dataset(
        tmp_path,
        files={"all.parquet": table},
        series=[{"name": name, "test": "all.parquet"} for name in ("one", "two")],
        share=0.5,
    )
    series = load_series(replace(about, share_of_normal=True), "two")
    assert series.reference.times.tolist() == list(range(30, 40)), "half of 20 normal rows"
    assert series.test.times.tolist() == list(range(40, 60))
    assert series.test.names == ("a", "b", "c", "d")
    assert series.labels.tolist() == [False] * 10 + [True] * 10
