import os

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from tests.smkc.scale.conftest import N_REFERENCE, SMALL, churning, long_table, wide_table, write

import smkc
from smkc import progress
from smkc.errors import InputError, ModelFileError, ReadError, SettingError, UnscoredWarning
from smkc.recording import Recording
from smkc.scale import ScaleSettings, Source, score_file
from smkc.scale.scoring import Scorer

# Small enough that a file of some thousand observations is scored in many pieces.
TINY = ScaleSettings(held=100, block=300, seconds=0)
KINDS = [
    "evidence",
    "evidence prompt",
    "knn",
    "knn prompt",
    "knn stride",
    "knn far",
    "knn unscaled",
]


def scores_of(path):
    return pq.read_table(path)["score"].to_numpy()


def check_same(path, detector, recording, out, **more):
    """Check scores, marks and alerts against those of the whole recording, to the bit."""
    summary = score_file(path, detector, out, **({"settings": TINY} | more))
    expected = detector.decision_function(recording)
    table = pq.read_table(out)
    np.testing.assert_array_equal(table["score"].to_numpy(), expected)
    times = table["time"].to_numpy()
    np.testing.assert_array_equal(times, recording.times)
    marked = table["anomalous"].to_numpy()
    with np.errstate(invalid="ignore"):
        np.testing.assert_array_equal(marked, expected > detector.threshold_)
    assert [alert for _, alert in summary.alerts] == detector.alerts(recording, explain=False)
    assert summary.n_alerts == len(summary.alerts)
    assert (summary.rows, summary.observations) == (len(recording), recording.n_observations)
    assert not out.with_name(f"{out.name}.parts").exists()
    return summary


# ---------------------------------------------------------------------- the same as in memory


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
        score_file(path, detectors[kind], out, settings=ScaleSettings(held=held, block=block))
        written.append(out.read_bytes())
    assert written[0] == written[1] == written[2]


def test_plain_numbers_as_times(tmp_path):
    recording = churning(3)
    counted = Recording(
        np.arange(len(recording)),
        recording.indptr,
        recording.codes,
        recording.values,
        recording.names,
    )
    detector = smkc.Detector(detector="knn", **SMALL).fit(counted.rows(0, N_REFERENCE))
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
def test_a_grid_goes_on_over_pieces(recordings, kind, step, tmp_path):
    whole = recordings["host-3"]
    recording = Recording.concat([whole.rows(0, 700), whole.rows(706)])
    jittered = recording.times + np.random.default_rng(1).integers(0, 10**9, len(recording))
    recording = Recording(
        jittered, recording.indptr, recording.codes, recording.values, recording.names
    )
    reference = smkc.read(recording.rows(0, N_REFERENCE), step=step)
    settings = SMALL if kind == "knn" else {}
    detector = smkc.Detector(**({"detector": kind, "false_alarm_rate": 0.2} | settings))
    if kind == "knn":
        detector.set_params(least_filled=0.01)
    detector.fit(reference)
    path = write(tmp_path / "live.parquet", long_table(recording.rows(N_REFERENCE)))
    live = smkc.read(path, step=step)
    out = tmp_path / "out.parquet"
    score_file(path, detector, out, read={"step": step}, settings=TINY)
    np.testing.assert_array_equal(scores_of(out), detector.decision_function(live))
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
    detector = smkc.Detector(detector="knn", least_filled=0.01, scaling=None, **SMALL)
    detector.fit(live.rows(0, 300))
    out = tmp_path / "out.parquet"
    score_file(path, detector, out, read={"step": step}, settings=TINY)
    table = pq.read_table(out)
    np.testing.assert_array_equal(table["time"].to_numpy(), live.times)
    np.testing.assert_array_equal(table["score"].to_numpy(), detector.decision_function(live))


# ---------------------------------------------------------------------- entities and files


@pytest.mark.parametrize("kind", ["evidence", "knn"])
@pytest.mark.parametrize("at_a_time", [256, 2, 1])
def test_entities_are_followed_apart(fleet, recordings, detectors, kind, at_a_time, tmp_path):
    settings = ScaleSettings(held=100, block=500, entities=at_a_time)
    out = tmp_path / "out.parquet"
    summary = score_file(fleet, detectors[kind], out, entity="host", settings=settings)
    assert summary.entities == 3
    table = pq.read_table(out)
    first = 0
    for name, recording in smkc.read(fleet, entity="host").items():
        part = table.slice(first, len(recording))
        first += len(recording)
        assert set(part["entity"].to_pylist()) == {name}
        expected = detectors[kind].decision_function(recording)
        np.testing.assert_array_equal(part["score"].to_numpy(), expected)
        alerts = [alert for entity, alert in summary.alerts if entity == name]
        assert alerts == detectors[kind].alerts(recording, explain=False)
    assert first == table.num_rows


@pytest.mark.parametrize("ids", [["x", "y"], [7, 30]], ids=["texts", "numbers"])
def test_entities_of_a_wide_file(recordings, detectors, ids, tmp_path):
    parts = [
        wide_table(recording.rows(N_REFERENCE)).append_column("host", pa.array([host] * 900))
        for host, recording in zip(ids, recordings.values(), strict=False)
    ]
    table = pa.concat_tables(parts, promote_options="default").sort_by("time")
    path = write(tmp_path / "wide.parquet", table, 700)
    out = tmp_path / "out.parquet"
    score_file(path, detectors["knn"], out, entity="host", settings=TINY)
    split = smkc.read(path, entity="host")
    assert sorted(split) == sorted(map(str, ids))
    expected = [detectors["knn"].decision_function(split[name]) for name in sorted(split)]
    np.testing.assert_array_equal(scores_of(out), np.concatenate(expected))


def test_entities_may_follow_one_another_and_have_detectors_of_their_own(recordings, tmp_path):
    parts, own = [], {}
    for name, recording in recordings.items():
        parts.append(long_table(recording.rows(N_REFERENCE), host=name))
        own[name] = smkc.Detector(detector="knn", **SMALL).fit(recording.rows(0, N_REFERENCE))
    path = write(tmp_path / "hosts.parquet", pa.concat_tables(parts))
    out = tmp_path / "out.parquet"
    score_file(path, own, out, entity="host", settings=TINY)
    split = smkc.read(path, entity="host")
    expected = [own[name].decision_function(recording) for name, recording in split.items()]
    np.testing.assert_array_equal(scores_of(out), np.concatenate(expected))
    del own["host-4"]
    with pytest.raises(InputError, match="entity 'host-4' is not in the reference"):
        score_file(path, own, tmp_path / "other.parquet", entity="host")
    assert not (tmp_path / "other.parquet.parts").exists()


def test_a_folder_and_a_glob_are_read_in_order_of_names(live, detectors, tmp_path):
    folder = tmp_path / "days"
    folder.mkdir()
    for day, first in enumerate(range(0, len(live), 250)):
        write(folder / f"day-{day}.parquet", long_table(live.rows(first, first + 250)))
    check_same(folder, detectors["evidence"], live, tmp_path / "a.parquet")
    check_same(str(folder / "day-*.parquet"), detectors["knn"], live, tmp_path / "b.parquet")


def test_an_entity_shorter_than_a_window_has_no_scores(recordings, detectors, tmp_path):
    short = recordings["host-4"].rows(0, 7)
    parts = [
        long_table(recordings["host-3"].rows(N_REFERENCE), host="long"),
        long_table(short, host="short"),
    ]
    path = write(tmp_path / "live.parquet", pa.concat_tables(parts))
    out = tmp_path / "out.parquet"
    with pytest.warns(UnscoredWarning, match="1 of 2 entities have fewer rows than a window"):
        summary = score_file(path, detectors["knn"], out, entity="host", settings=TINY)
    assert summary.short == 1
    table = pq.read_table(out)
    mine = table.filter(pa.compute.equal(table["entity"], "short"))
    assert mine["score"].null_count == mine.num_rows == 7


# ---------------------------------------------------------------------- order


def test_rows_a_little_out_of_order_find_their_place(live, detectors, tmp_path):
    table = long_table(live)
    places = np.arange(table.num_rows) + np.random.default_rng(0).uniform(0, 80, table.num_rows)
    path = write(tmp_path / "live.parquet", table.take(np.argsort(places)))
    settings = ScaleSettings(held=400, block=300)
    check_same(path, detectors["knn"], live, tmp_path / "out.parquet", settings=settings)


def test_of_two_readings_of_one_time_the_later_stays(detectors, live, tmp_path):
    table = long_table(live)
    twice = pa.concat_tables([table.slice(at, 1) for at in range(600, 640)])
    twice = twice.set_column(2, "value", pa.array(np.arange(40, dtype=np.float32)))
    both = pa.concat_tables([table.slice(0, 660), twice, table.slice(660)])
    path = write(tmp_path / "live.parquet", both)
    again = smkc.read(path)
    assert again != live
    out = tmp_path / "out.parquet"
    score_file(path, detectors["knn"], out, settings=TINY)
    np.testing.assert_array_equal(scores_of(out), detectors["knn"].decision_function(again))


def by_variable(recording):
    order = np.argsort(recording.codes, kind="stable")
    return long_table(recording).filter(pa.compute.field("value").is_valid()).take(order)


def test_a_file_that_is_not_sorted_is_refused_with_a_remedy(live, detectors, tmp_path):
    path = write(tmp_path / "live.parquet", by_variable(live))
    with pytest.raises(ReadError, match="not sorted by time well enough") as error:
        score_file(path, detectors["knn"], tmp_path / "out.parquet", settings=TINY)
    for word in ("live.parquet, row group", "2026-01-05T", "Sort it by time", "--held"):
        assert word in str(error.value)
    assert not (tmp_path / "out.parquet").exists()
    roomy = ScaleSettings(held=10**6, block=1)
    again = tmp_path / "again.parquet"
    score_file(path, detectors["knn"], again, settings=roomy)
    expected = detectors["knn"].decision_function(smkc.read(path))
    np.testing.assert_array_equal(scores_of(again), expected)


# ---------------------------------------------------------------------- interrupted


class Killed(BaseException):
    pass


@pytest.mark.parametrize("kind", ["evidence", "knn stride"])
def test_interrupted_anywhere_and_resumed_it_writes_the_same_bytes(
    fleet, detectors, kind, tmp_path, monkeypatch
):
    whole, out = tmp_path / "whole.parquet", tmp_path / "out.parquet"
    settings = ScaleSettings(held=100, block=1500, entities=2, seconds=0)
    arguments = {"entity": "host", "settings": settings}
    expected = score_file(fleet, detectors[kind], whole, **arguments)
    n_scored, n_replaced = 0, 0
    score, replace = Scorer._placed, os.replace

    def counting(self, times, *rest):
        nonlocal n_scored
        n_scored += len(times)
        return score(self, times, *rest)

    def failing(*paths):
        nonlocal n_replaced
        n_replaced += 1
        if n_replaced % 7 == 0:
            raise Killed
        replace(*paths)

    monkeypatch.setattr(Scorer, "_placed", counting)
    monkeypatch.setattr(os, "replace", failing)
    n_kills = 0
    while True:
        try:
            summary = score_file(fleet, detectors[kind], out, resume=True, **arguments)
            break
        except Killed:
            n_kills += 1
    assert n_kills > 5
    assert summary == expected
    assert out.read_bytes() == whole.read_bytes()
    # What was not written yet is scored again, and no more than that.
    assert n_scored < expected.rows * 2


def test_what_is_written_is_not_scored_again(live, detectors, tmp_path, monkeypatch):
    path = write(tmp_path / "live.parquet", long_table(live))
    out = tmp_path / "out.parquet"
    push, rows = Scorer.push, []

    def failing(self, part):
        if len(rows) == 4:
            rows.append(0)
            raise Killed
        rows.append(len(part))
        return push(self, part)

    monkeypatch.setattr(Scorer, "push", failing)
    with pytest.raises(Killed):
        score_file(path, detectors["evidence"], out, settings=TINY)
    assert score_file(path, detectors["evidence"], out, settings=TINY, resume=True).rows == 900
    assert sum(rows) == 900
    np.testing.assert_array_equal(scores_of(out), detectors["evidence"].decision_function(live))


def test_an_unfinished_run_is_neither_lost_nor_mixed_up(live, detectors, tmp_path, monkeypatch):
    path = write(tmp_path / "live.parquet", long_table(live))
    out = tmp_path / "out.parquet"

    def failing(self, part):
        raise Killed

    with monkeypatch.context() as patch:
        patch.setattr(Scorer, "push", failing)
        with pytest.raises(Killed):
            score_file(path, detectors["evidence"], out, settings=TINY)
    with pytest.raises(InputError, match="holds an unfinished run; go on with it by --resume"):
        score_file(path, detectors["evidence"], out, settings=TINY)
    with pytest.raises(InputError, match="other data, another model"):
        score_file(path, detectors["knn"], out, settings=TINY, resume=True)
    os.utime(path, ns=(1, 1))
    with pytest.raises(InputError, match="other data, another model"):
        score_file(path, detectors["evidence"], out, settings=TINY, resume=True)


# ---------------------------------------------------------------------- what cannot be used


def test_what_cannot_be_read_in_pieces_is_said(live, detectors, tmp_path):
    detector = detectors["knn"]
    out = tmp_path / "out.parquet"
    csv = tmp_path / "live.csv"
    csv.write_text("time,cpu\n1,2\n")
    with pytest.raises(ReadError, match="is CSV, which is read whole; write it as Parquet"):
        score_file(csv, detector, out)
    path = write(tmp_path / "live.parquet", long_table(live))
    with pytest.raises(InputError, match=r"call it NAME\.parquet"):
        score_file(path, detector, tmp_path / "out.csv")
    with pytest.raises(ReadError, match="no column 'pod'"):
        score_file(path, detector, out, entity="pod")
    with pytest.raises(SettingError, match="step='soon'"):
        score_file(path, detector, out, read={"step": "soon"})
    nothing = {"time": live.times[:2], "cpu": pa.array([None, None], "f8")}
    bare = write(tmp_path / "bare.parquet", pa.table(nothing))
    with pytest.raises(ReadError, match="holds no observation"):
        score_file(bare, detector, tmp_path / "bare-out.parquet")
    for wrong in ({"held": -1}, {"block": 0}, {"entities": 0}, {"seconds": -1.0}):
        with pytest.raises(SettingError, match=next(iter(wrong))):
            ScaleSettings(**wrong)


def test_a_row_without_an_entity_is_named(tmp_path, detectors):
    table = pa.table(
        {"time": [1, 2], "host": ["a", None], "variable": ["v", "v"], "value": [1.0, 2.0]}
    )
    path = write(tmp_path / "live.parquet", table)
    with pytest.raises(ReadError, match=r"row 1 of .*row group 0 names no entity in column 'host'"):
        score_file(path, detectors["knn"], tmp_path / "out.parquet", entity="host")


# ---------------------------------------------------------------------- how it is read


def test_row_groups_without_the_entities_asked_for_are_not_read(recordings, tmp_path):
    parts = [long_table(part.rows(0, 300), host=name) for name, part in recordings.items()]
    path = write(tmp_path / "hosts.parquet", pa.concat_tables(parts), 400)
    source = Source.open(path, entity="host")
    counts = source.count_entities()
    assert list(counts) == ["host-3", "host-4", "host-5"]
    for name in counts:
        read = list(source.batches([name]))
        assert {entity for batch in read for entity in batch.entities} == {name}
        assert sum(len(batch.piece.times) for batch in read) == counts[name]
        assert len(read) < len(source.groups)
    whole = list(source.batches())
    np.testing.assert_allclose(sum(batch.share for batch in whole), source.size)
    rest = list(source.batches(first=whole[2].number))
    assert [batch.number for batch in rest] == [batch.number for batch in whole[2:]]
    np.testing.assert_allclose(sum(b.share for b in rest), sum(b.share for b in whole[2:]))


def test_a_bar_shows_rate_and_time_left(live, detectors, tmp_path, monkeypatch, capfd):
    monkeypatch.setenv("SMKC_PROGRESS", "1")
    monkeypatch.setattr(progress, "APPEARS_AFTER_SECONDS", 0.0)
    path = write(tmp_path / "live.parquet", long_table(live))
    score_file(path, detectors["knn"], tmp_path / "out.parquet", settings=TINY)
    shown = capfd.readouterr().err
    assert "scoring live.parquet: " in shown
    assert " thousand a second" in shown
    assert "0:00:0" in shown


def test_a_damaged_state_is_said(live, detectors, tmp_path, monkeypatch):
    path = write(tmp_path / "live.parquet", long_table(live))
    out = tmp_path / "out.parquet"
    push, n_pushed = Scorer.push, []

    def failing(self, part):
        n_pushed.append(len(part))
        if len(n_pushed) > 3:
            raise Killed
        return push(self, part)

    with monkeypatch.context() as patch:
        patch.setattr(Scorer, "push", failing)
        with pytest.raises(Killed):
            score_file(path, detectors["evidence"], out, settings=TINY)
    (state,) = out.with_name("out.parquet.parts").glob("block-0000/state-*/*.smkc")
    state.write_bytes(state.read_bytes()[:-100])
    with pytest.raises(ModelFileError, match=r"the run cannot be resumed: .* Or remove"):
        score_file(path, detectors["evidence"], out, settings=TINY, resume=True)
