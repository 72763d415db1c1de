import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from tests import promise
from tests.smkc.scale.conftest import (
    N_REFERENCE,
    SMALL,
    TINY,
    check_agree,
    check_same,
    churning,
    long_table,
    scores_of,
    wide_table,
    write,
)

import smkc
from smkc import progress
from smkc.loading import make_detector
from smkc.paper import KnnDetector
from smkc.recording import Recording
from smkc.scale import ScaleSettings, score_file

KINDS = [
    "evidence",
    "evidence prompt",
    "knn",
    "knn prompt",
    "knn stride",
    "knn far",
    "knn unscaled",
]


@pytest.mark.parametrize("form", [long_table, wide_table], ids=["long", "wide"])
@pytest.mark.parametrize("kind", KINDS)
def test_the_same_scores_as_in_memory(live, detectors, kind, form, tmp_path):
    path = write(tmp_path / "live.parquet", form(live))
    summary = check_same(path, detectors[kind], live, tmp_path / "out.parquet")
    assert kind not in ("evidence", "evidence prompt", "knn prompt") or summary.n_alerts


@pytest.mark.parametrize("kind", ["evidence", "knn"])
def test_the_size_of_pieces_changes_nothing(live, detectors, kind, tmp_path):
    path = write(tmp_path / "live.parquet", long_table(live))
    written = []
    for held, block, row_group in ((0, 1, 97), (50, 1000, 500), (10**6, 10**6, 10**6)):
        write(path, long_table(live), row_group)
        out = tmp_path / f"{held}.parquet"
        settings = ScaleSettings(held=held, block=block)
        written.append((out, score_file(path, detectors[kind], out, settings=settings)))
    for one in written[1:]:
        check_agree(one, written[0], kind)


def test_plain_numbers_as_times(tmp_path):
    recording = churning(3)
    counted = Recording(
        np.arange(len(recording)),
        recording.indptr,
        recording.codes,
        recording.values,
        recording.names,
    )
    detector = KnnDetector(**SMALL).fit(counted.rows(0, N_REFERENCE))
    live = counted.rows(N_REFERENCE).canonical()
    path = write(tmp_path / "live.parquet", long_table(live))
    check_same(path, detector, live, tmp_path / "out.parquet")


@pytest.mark.parametrize(("unit", "factor"), [("s", 10**9), ("ms", 10**6), ("ns", 1)])
def test_epochs_are_found_as_in_memory(live, detectors, unit, factor, tmp_path):
    table = long_table(live)
    ticks = table["time"].cast(pa.timestamp("ns")).cast(pa.int64()).to_numpy() // factor
    table = table.set_column(0, "time", pa.array(ticks))
    path = write(tmp_path / "live.parquet", table)
    assert smkc.read(path) == live
    check_same(path, detectors["knn"], live, tmp_path / "out.parquet")
    bare = tmp_path / "bare.parquet"
    pq.write_table(table, bare, write_statistics=False)
    check_same(bare, detectors["knn"], live, tmp_path / "out.parquet")


@pytest.mark.filterwarnings("ignore::smkc.errors.UnscoredWarning")
@pytest.mark.parametrize("kind", ["evidence", "knn"])
@pytest.mark.parametrize("step", ["15s", "1m", "7s"])
def test_grid_continues_across_pieces(recordings, kind, step, tmp_path):
    whole = recordings["host-3"]
    recording = Recording.concat([whole.rows(0, 700), whole.rows(706)])
    jittered = recording.times + np.random.default_rng(1).integers(0, 10**9, len(recording))
    recording = Recording(
        jittered, recording.indptr, recording.codes, recording.values, recording.names
    )
    reference = smkc.read(recording.rows(0, N_REFERENCE), step=step)
    settings = SMALL if kind == "knn" else {}
    detector = make_detector({"detector": kind, "false_alarm_rate": 0.2} | settings)
    if kind == "knn":
        detector.set_params(least_filled=0.01)
    detector.fit(reference)
    path = write(tmp_path / "live.parquet", long_table(recording.rows(N_REFERENCE)))
    live = smkc.read(path, step=step)
    out = tmp_path / "out.parquet"
    score_file(path, detector, out, read={"step": step}, settings=TINY)
    promise.assert_scores_agree(scores_of(out), detector.decision_function(live), detector)
    np.testing.assert_array_equal(pq.read_table(out)["time"].to_numpy(), live.times)


@pytest.mark.filterwarnings("ignore::smkc.errors.UnscoredWarning")
@pytest.mark.parametrize("step", [0.1, 0.7, 3, 2.5])
def test_a_grid_of_plain_numbers(step, tmp_path):
    recording = churning(3)
    ticks = np.cumsum(np.random.default_rng(2).uniform(0.05, 1.2, len(recording)))
    ticks = ticks.astype(np.int64 if step == 3 else np.float64) + np.arange(len(ticks))
    counted = Recording(ticks, recording.indptr, recording.codes, recording.values, recording.names)
    path = write(tmp_path / "live.parquet", long_table(counted))
    live = smkc.read(path, step=step)
    detector = KnnDetector(least_filled=0.01, scaling=None, **SMALL)
    detector.fit(live.rows(0, 300))
    out = tmp_path / "out.parquet"
    score_file(path, detector, out, read={"step": step}, settings=TINY)
    table = pq.read_table(out)
    np.testing.assert_array_equal(table["time"].to_numpy(), live.times)
    promise.assert_scores_agree(table["score"].to_numpy(), detector.decision_function(live))


def test_a_folder_and_a_glob_are_read_in_order_of_names(live, detectors, tmp_path):
    folder = tmp_path / "days"
    folder.mkdir()
    for day, first in enumerate(range(0, len(live), 250)):
        write(folder / f"day-{day}.parquet", long_table(live.rows(first, first + 250)))
    check_same(folder, detectors["evidence"], live, tmp_path / "a.parquet")
    check_same(str(folder / "day-*.parquet"), detectors["knn"], live, tmp_path / "b.parquet")


def test_a_bar_shows_rate_and_time_left(live, detectors, tmp_path, monkeypatch, capfd):
    monkeypatch.setenv("SMKC_PROGRESS", "1")
    monkeypatch.setattr(progress, "APPEARS_AFTER_SECONDS", 0.0)
    path = write(tmp_path / "live.parquet", long_table(live))
    score_file(path, detectors["knn"], tmp_path / "out.parquet", settings=TINY)
    shown = capfd.readouterr().err
    assert "scoring live.parquet: " in shown
    assert " thousand per second" in shown
    assert "0:00:0" in shown
