"""A lane judges, journals and alerts in one piece, and says the same again after a restart."""

import re
import shutil
from contextlib import contextmanager

import numpy as np
import pytest
from tests.following import STEP, made_rows, push_config, with_fault

from smkc.detector import Detector
from smkc.serve.lane.files import LaneFiles
from smkc.serve.lane.follower import recording_of
from smkc.serve.lane.lane import Lane
from smkc.serve.live import LiveUpdates
from smkc.serve.store import Store, StoreError
from smkc.serve.view import BusyError, UnknownError

N_ROWS, LEAST = 356, 240
FAULT = (300, 311)
CUT = 306  # in the middle of it


@pytest.fixture(scope="module")
def rows():
    return with_fault(made_rows(3, N_ROWS), *FAULT)


@contextmanager
def lane_in(folder, *, checkpoint_rows=64, config=None):
    config = config or push_config(folder)
    store = Store.open(folder)
    journal = store.lane("shop", "")
    files = LaneFiles(folder / "lanes" / str(journal.id))
    lane = Lane(store, journal, config.watches[0], config, files, LiveUpdates(), checkpoint_rows)
    try:
        yield lane
    finally:
        lane.model.stop()
        store.close()


def feed(lane, rows):
    n_more = max(LEAST - lane.journal.n_rows, 0)
    lane.take(rows[:n_more])
    lane.look_after_model()
    for row in rows[n_more:]:
        lane.take([row])
        lane.look_after_model()


def told(lane):
    """Return everything that a lane has said."""
    columns = lane.journal.verdicts(None, None, 10_000)
    alerts = [stored.record for stored in lane._store.alerts(limit=1000)]
    with lane._store._database.read("look into the outbox") as connection:
        keys = [
            bytes(key).decode()
            for (key,) in connection.execute("SELECT key FROM outbox ORDER BY id")
        ]
    plain = {name: np.nan_to_num(column, nan=-1.0).tolist() for name, column in columns.items()}
    return plain, alerts, keys


@pytest.fixture(scope="module")
def unbroken(rows, tmp_path_factory):
    with lane_in(tmp_path_factory.mktemp("unbroken")) as lane:
        feed(lane, rows)
        return told(lane)


@pytest.fixture(scope="module")
def killed(rows, tmp_path_factory):
    """Return a folder that a process was killed over, in the middle of the fault."""
    folder = tmp_path_factory.mktemp("killed")
    with lane_in(folder, checkpoint_rows=24) as lane:
        feed(lane, rows[:CUT])
    return folder


@pytest.fixture
def folder(killed, tmp_path):
    """Return a copy of it."""
    return shutil.copytree(killed, tmp_path / "data")


def test_rows_are_judged_once_there_are_enough(unbroken):
    columns, _, _ = unbroken
    assert columns["number"] == list(range(LEAST, N_ROWS))


def test_scores_are_those_of_the_detector(rows, unbroken):
    detector = Detector().fit(recording_of(rows[:LEAST]))
    expected = detector.score_windows(recording_of(rows[LEAST:])).score
    assert unbroken[0]["score"] == expected.tolist()


def test_the_planted_fault_alone_is_alerted_and_closed(unbroken):
    _, alerts, keys = unbroken
    assert len(alerts) == 1
    alert = alerts[0]
    assert FAULT[0] <= alert.first_row < FAULT[0] + 6  # a window
    assert FAULT[0] <= alert.last_row <= FAULT[1] + 24  # two windows, held for two
    assert not alert.is_open
    assert alert.causes
    changes = [key.split("/")[-2] for key in keys]
    assert changes[0] == "open"
    assert changes[-1] == "close"
    assert changes.count("open") == changes.count("close") == 1
    assert len(set(keys)) == len(keys)


@pytest.mark.parametrize("is_clean", [True, False], ids=["stopped", "killed"])
@pytest.mark.parametrize("cut", [100, 240, 241, 301, 315])
def test_a_restart_changes_nothing(rows, unbroken, tmp_path, cut, is_clean):
    with lane_in(tmp_path) as lane:
        feed(lane, rows[:cut])
        if is_clean:
            lane.stop()
    with lane_in(tmp_path) as lane:
        feed(lane, rows[cut - 5 :])  # some come again
        assert told(lane) == unbroken
        assert lane.status(0).problems == ()


def test_rows_in_batches_say_the_same(rows, unbroken, tmp_path):
    with lane_in(tmp_path) as lane:
        feed(lane, rows[:LEAST])
        for first in range(LEAST, N_ROWS, 37):
            lane.take(rows[first : first + 37])
        assert told(lane) == unbroken


def test_series_come_and_go_without_an_error_or_a_refit(rows, unbroken, tmp_path):
    columns, _, _ = unbroken
    assert sum(columns["appeared"]) == sum(columns["vanished"]) == 2 * len(range(240, N_ROWS, 60))
    with lane_in(tmp_path) as lane:
        feed(lane, rows)
        assert [event.kind for event in lane.journal.events(0)] == ["fit"]


# ---------------------------------------------------------------------- damage


def damaged(folder, pattern):
    """Turn one bit of the latest file of a kind; return its path."""
    paths = (folder / "lanes" / "1").glob(pattern)
    path = max(paths, key=lambda path: int(re.findall(r"\d+", path.name)[0]))
    content = bytearray(path.read_bytes())
    content[len(content) // 2] ^= 0x10
    path.write_bytes(content)
    return path


@pytest.mark.parametrize(
    ("patterns", "says"),
    [
        (["stream-*"], "a checkpoint was damaged"),
        (["model-*"], "fitted again from its rows"),
        (["stream-*", "model-*"], "a checkpoint was damaged"),
    ],
    ids=["checkpoint", "model", "both"],
)
def test_what_is_damaged_is_set_aside_and_made_again(rows, unbroken, folder, patterns, says):
    paths = [damaged(folder, pattern) for pattern in patterns]
    with lane_in(folder) as lane:
        assert any(says in problem for problem in lane.status(0).problems)
        for path in paths:
            assert path.with_name(f"{path.name}.damaged").exists()
        feed(lane, rows[CUT:])
        assert told(lane) == unbroken


def test_all_checkpoints_damaged_judges_again_from_the_fit(rows, unbroken, folder):
    for path in (folder / "lanes" / "1").glob("stream-*"):
        path.write_bytes(b"no checkpoint")
    with lane_in(folder) as lane:
        assert len(lane.status(0).problems) == 2
        feed(lane, rows[CUT:])
        assert told(lane) == unbroken


def test_a_missing_model_is_fitted_again(rows, unbroken, folder):
    for path in (folder / "lanes" / "1").glob("model-*"):
        path.unlink()
    with lane_in(folder) as lane:
        feed(lane, rows[CUT:])
        assert told(lane) == unbroken


def test_a_model_whose_rows_are_gone_is_replaced_by_a_new_one(rows, folder):
    with lane_in(folder) as lane:
        lane._store.retain(rows[CUT].time, 40 * STEP, 10**12, 10**12)
        assert 0 < lane.journal.first_kept_row <= CUT - 40
    damaged(folder, "model-*")
    with lane_in(folder, config=push_config(folder, least_rows=50)) as lane:
        assert any("kept no more" in problem for problem in lane.status(0).problems)
        lane.look_after_model()
        feed(lane, rows[CUT:])
        assert told(lane)[0]["number"][-1] == N_ROWS - 1


# ---------------------------------------------------------------------- new models


def wait_for_swap(lane, rows):
    """Go on with rows until a new model has taken over; return how many rows that took."""
    before = lane.model.fitted_at
    for n, row in enumerate(rows):
        lane.take([row])
        if n >= 5:
            lane.model._beside._process.wait()
            lane.look_after_model()
        if lane.model.fitted_at != before:
            return n + 1
    raise AssertionError("no new model took over")


def test_a_refit_swaps_without_stopping_and_is_replayed(rows, tmp_path):
    with lane_in(tmp_path) as lane:
        feed(lane, rows[:330])
        lane.refit("asked for")
        taken = wait_for_swap(lane, rows[330:])
        feed(lane, rows[330 + taken :])
        events = lane.journal.events(0)
        whole = told(lane)
    assert [event.kind for event in events] == ["fit", "fit"]
    alert = whole[1][0]
    spans = events[1].content["reference"]
    assert [spans[0][1], spans[1][0]] == [alert.first_row - 1, alert.last_row + 1]
    assert whole[0]["number"] == list(range(LEAST, N_ROWS))
    for path in (tmp_path / "lanes" / "1").glob("stream-*"):
        path.unlink()
    with lane_in(tmp_path) as lane:  # judged again from the rows after the new reference
        lane.take(made_rows(2, N_ROWS + 1)[-1:])
        after = told(lane)
    with lane_in(tmp_path / "other") as other:
        feed(other, rows[:330])
        other.refit("asked for")
        assert wait_for_swap(other, rows[330:]) == taken
        feed(other, rows[330 + taken :])
        assert told(other) == whole
        other.take(made_rows(2, N_ROWS + 1)[-1:])
        assert told(other) == after


def test_a_refit_that_was_killed_is_begun_anew(rows, folder):
    with lane_in(folder) as lane:
        lane.refit("asked for")
        process = lane.model._beside._process
        process.kill()  # and with it, nothing is told to this lane any more
        process.wait()
        lane.model._beside._errors.close()
        lane.model._beside = None
    with lane_in(folder) as lane:
        assert lane.status(0).is_refitting
        wait_for_swap(lane, rows[CUT:])
        assert lane.journal.events(0)[-1].content["reason"] == "asked for"
        assert not list((folder / "lanes" / "1").glob("refit*"))


def test_a_failed_refit_is_said_and_the_model_goes_on(rows, unbroken, folder):
    with lane_in(folder) as lane:
        lane.refit("asked for")
        lane.model._beside._process.kill()
        lane.model._beside._process.wait()
        feed(lane, rows[CUT:])
        assert any("refit failed" in said for said in lane.status(0).problems)
        assert told(lane) == unbroken
        assert not lane.status(0).is_refitting


@pytest.mark.parametrize(
    ("settings", "at_row", "reason"),
    [
        ({"refit_every": "15m"}, 300, "it was time to"),
        ({"least_rows": 60}, 240, "there are 4 times as many rows by now"),
    ],
    ids=["schedule", "growth"],
)
def test_a_new_model_is_fitted_when_it_is_time(rows, tmp_path, settings, at_row, reason):
    with lane_in(tmp_path, config=push_config(tmp_path, **settings)) as lane:
        for row in rows[: at_row - 1]:
            lane.take([row])
            lane.look_after_model()
        assert not lane.status(0).is_refitting
        lane.take([rows[at_row - 1]])
        lane.look_after_model()
        assert lane.status(0).is_refitting
        wait_for_swap(lane, rows[at_row:])
        assert lane.journal.events(0)[-1].content["reason"] == reason


def test_what_cannot_be_done_yet_is_said(rows, tmp_path):
    with lane_in(tmp_path) as lane:
        feed(lane, rows[:50])
        with pytest.raises(BusyError, match="no model yet"):
            lane.refit("asked for")
        with pytest.raises(UnknownError, match="nothing is known"):
            lane.explain(rows[10].time)
        feed(lane, rows[50:241])
        lane.refit("asked for")
        with pytest.raises(BusyError, match="already"):
            lane.refit("asked for")


def test_a_lane_with_nothing_to_learn_from_says_so_and_tries_again(tmp_path):
    rows = made_rows(3, 320)
    empty = [type(row)(time=row.time, names=(), values=row.values[:0]) for row in rows[:240]]
    with lane_in(tmp_path) as lane:
        feed(lane, empty)
        assert any("no model could be fitted" in said for said in lane.status(0).problems)
        feed(lane, rows[240:])
        assert lane.model.follower is not None
        assert lane.status(0).problems == ()


# ---------------------------------------------------------------------- being asked


def test_feedback_is_taken_up_and_survives_a_restart(rows, unbroken, tmp_path):
    with lane_in(tmp_path) as lane:
        feed(lane, rows[:320])
        alert = lane._store.alerts()[0].record
        lane.accept(alert.id)
        feed(lane, rows[320:])
        whole = told(lane)
    assert whole[0]["p_value"][80:] != unbroken[0]["p_value"][80:]
    for cut in (315, 320, 340):
        folder = tmp_path / f"cut{cut}"
        with lane_in(folder) as lane:
            feed(lane, rows[: min(cut, 320)])
            if cut >= 320:
                lane.accept(alert.id)
                feed(lane, rows[320:cut])
        with lane_in(folder) as lane:
            if cut < 320:
                feed(lane, rows[cut:320])
                lane.accept(alert.id)
            feed(lane, rows[max(cut, 320) :])
            assert told(lane)[0] == whole[0]
            assert [event.kind for event in lane.journal.events(0)] == ["fit", "accept"]


def test_feedback_after_a_checkpoint_at_the_same_row_is_not_lost(rows, tmp_path):
    told_by = []
    for does_checkpoint in (False, True):
        folder = tmp_path / str(does_checkpoint)
        with lane_in(folder) as lane:
            feed(lane, rows[:320])
            lane.checkpoint()
            lane.accept(lane._store.alerts()[0].record.id)
            if does_checkpoint:
                lane.checkpoint()
        with lane_in(folder) as lane:
            feed(lane, rows[320:])
            told_by.append(told(lane))
    assert told_by[0] == told_by[1]


def test_accepted_rows_are_learned_from(folder):
    with lane_in(folder) as lane:
        alert = lane._store.alerts()[0].record
        assert lane.model._reference() == [(0, alert.first_row - 1)]
        lane._store.give_feedback(alert.id, "me", 0)
        assert lane.model._reference() == [(0, CUT - 1)]


def test_causes_of_a_row_that_is_remembered_and_of_an_alert_that_is_not(rows, folder):
    with lane_in(folder) as lane:
        alert = lane._store.alerts()[0].record
        assert lane.explain(rows[305].time)
        lane.model.follower = None
        assert tuple(lane.explain(rows[305].time)) == alert.causes
        with pytest.raises(UnknownError):
            lane.explain(rows[250].time)


def test_an_unknown_alert_cannot_be_accepted(tmp_path, rows):
    with lane_in(tmp_path) as lane, pytest.raises(UnknownError, match="no alert"):
        lane.accept("0123456789abcdef")


# ---------------------------------------------------------------------- a full disk


def test_rows_wait_for_room_and_are_all_there_afterwards(rows, unbroken, folder):
    with lane_in(folder) as lane:
        with lane._store._database.alone("fill the disk") as connection:
            pages = connection.execute("PRAGMA page_count").fetchone()[0]
            connection.execute(f"PRAGMA max_page_count = {pages}")
        error = None
        while error is None:
            try:
                lane.take([rows[lane.journal.n_rows]])
            except StoreError as caught:
                error = caught
        assert error.is_full
        assert lane.is_waiting
        n_before = lane.journal.n_rows
        with pytest.raises(StoreError):
            lane.flush()
        with lane._store._database.alone("make room") as connection:
            connection.execute("PRAGMA max_page_count = 1073741823")
        lane.flush()
        assert lane.journal.n_rows == n_before + 1
        feed(lane, rows[lane.journal.n_rows :])
        assert told(lane) == unbroken


def test_a_checkpoint_that_cannot_be_written_is_a_problem_and_no_more(rows, unbroken, folder):
    with lane_in(folder, checkpoint_rows=20) as lane:
        lanes = folder / "lanes"
        lanes.rename(folder / "elsewhere")
        lanes.write_text("in the way")
        feed(lane, rows[CUT : CUT + 25])
        assert any("no checkpoint" in problem for problem in lane.status(0).problems)
        lanes.unlink()
        (folder / "elsewhere").rename(lanes)
        feed(lane, rows[CUT + 25 :])
        assert not lane.status(0).problems
        assert told(lane) == unbroken


def test_status_says_how_it_stands(rows, folder, tmp_path):
    with lane_in(tmp_path / "new") as lane:
        assert lane.status(0).phase == "collecting"
    with lane_in(folder) as lane:
        status = lane.status(rows[CUT - 1].time + 5 * STEP)
        assert (status.phase, status.rows, status.series) == ("following", CUT, 12)
        assert (status.lag, status.fitted_at) == (5 * STEP, LEAST)
        assert status.latest.number == CUT - 1
        assert status.alert.is_open
        assert status.window == lane.model.follower.window


def test_a_lane_that_retires_closes_its_alert_once(rows, folder):
    with lane_in(folder) as lane:
        (alert,) = lane._store.alerts(open_only=True)
        lane.retire()
        assert not lane._store.alert(alert.record.id).record.is_open
        assert told(lane)[2][-1].split("/")[-2] == "close"
    with lane_in(folder) as lane:
        assert lane.status(0).alert is None
        lane.retire()
        assert [key.split("/")[-2] for key in told(lane)[2]].count("close") == 1
        lane.take(rows[CUT : CUT + 3])
        assert lane.journal.n_rows == CUT + 3


def test_rows_of_one_time_are_taken_once(rows, tmp_path):
    with lane_in(tmp_path) as lane:
        lane.take(rows[:10])
        lane.take(rows[5:12])
        lane.take(rows[3:4])
        assert lane.journal.n_rows == 12


def test_nothing_is_left_half_written(rows, folder):
    (folder / "lanes" / "1" / ".smkc-0123456789abcdef.tmp").write_bytes(b"half")
    with lane_in(folder):
        assert not list((folder / "lanes" / "1").glob(".smkc-*"))


def test_old_files_are_removed(rows, folder):
    with lane_in(folder, checkpoint_rows=5) as lane:
        feed(lane, rows[CUT:])
        assert len(list((folder / "lanes" / "1").glob("stream-*"))) == 2


def test_normal_noise_raises_no_alert_at_one_a_day(tmp_path):
    with lane_in(tmp_path) as lane:
        feed(lane, made_rows(4, 340))
        assert lane._store.alerts() == []
