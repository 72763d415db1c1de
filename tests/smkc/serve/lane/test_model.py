"""A lane's models: fitted beside while rows go on, swapped in, begun anew when killed."""

from contextlib import contextmanager

import pytest
from tests.following import STEP, made_rows, push_config
from tests.smkc.serve.lane.parts import CUT, LEAST, N_ROWS, feed, lane_in, told

from smkc.serve.config import config_of
from smkc.serve.view import BusyError

AFTER = 390  # the alert on the fault is closed


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
        feed(lane, rows[:AFTER])
        lane.refit("asked for")
        taken = wait_for_swap(lane, rows[AFTER:])
        feed(lane, rows[AFTER + taken :])
        events = lane.journal.events(0)
        whole = told(lane)
    assert [event.kind for event in events] == ["fit", "settle", "fit"]
    alert = whole[1][0]
    spans = events[2].content["reference"]
    assert [spans[0][1], spans[1][0]] == [alert.first_row - 1, alert.last_row + 1]
    assert whole[0]["number"] == list(range(LEAST, N_ROWS))
    for path in (tmp_path / "lanes" / "1").glob("stream-*"):
        path.unlink()
    with lane_in(tmp_path) as lane:  # judged again from the rows after the new reference
        lane.take(made_rows(2, N_ROWS + 1)[-1:])
        after = told(lane)
    with lane_in(tmp_path / "other") as other:
        feed(other, rows[:AFTER])
        other.refit("asked for")
        assert wait_for_swap(other, rows[AFTER:]) == taken
        feed(other, rows[AFTER + taken :])
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
        ({"min_rows": 60}, 240, "there are 4 times as many rows by now"),
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


@contextmanager
def young_lane(folder, rows, **history):
    """Open a lane that has learned from 60 rows, by settings that learn from few at first."""
    watch = {"name": "shop", "source": "push", "self_test": False, "min_rows": 60} | history
    with lane_in(folder, config=config_of({"data": str(folder), "watch": [watch]})) as lane:
        lane.take(rows[:60])
        lane.look_after_model()
        yield lane


@pytest.mark.parametrize(
    ("history", "is_due"), [({}, True), ({"history": "30m"}, False)], ids=["not set", "set"]
)
def test_a_history_that_is_not_set_grows_with_the_rows(
    rows, tmp_path, monkeypatch, history, is_due
):
    monkeypatch.setattr("smkc.serve.config.watch.LEAST_HISTORY", 60 * STEP)
    with young_lane(tmp_path, rows, **history) as lane:
        lane.take(rows[60:240])
        lane.look_after_model()
        assert lane.status(0).is_refitting == is_due


def test_rows_that_are_not_kept_are_not_waited_for_again_and_again(rows, tmp_path):
    with young_lane(tmp_path, rows) as lane:
        lane.take(rows[60:239])
        lane.checkpoint()
        lane._store.retain(rows[238].time, 100 * STEP, 10**12, 10**12)
        assert lane.journal.first_kept_row > 100
        lane.take(rows[239:300])
        lane.look_after_model()
        assert not lane.status(0).is_refitting


def test_what_cannot_be_done_yet_is_said(rows, tmp_path):
    with lane_in(tmp_path) as lane:
        feed(lane, rows[:50])
        with pytest.raises(BusyError, match="no model yet"):
            lane.refit("asked for")
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
