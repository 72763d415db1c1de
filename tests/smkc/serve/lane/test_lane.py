"""A lane judges, journals and alerts in one piece, and says the same again after a restart."""

import json
from dataclasses import replace

import numpy as np
import pytest
from tests.following import STEP, made_rows, with_fault
from tests.smkc.serve.lane.parts import CUT, FAULT, LEAST, N_ROWS, feed, lane_in, told

from smkc.detector import Detector
from smkc.serve.lane.follower import Follower, recording_of
from smkc.serve.lane.model import settling_rows
from smkc.serve.rows import Row

SETTLING_ROWS = settling_rows(STEP)


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
    # Means over 16 rows hold it for a while.
    assert FAULT[1] <= alert.last_row <= FAULT[1] + 20
    assert not alert.is_open
    assert alert.causes
    changes = [key.split("/")[-2] for key in keys]
    assert changes[0] == "open"
    assert changes[-1] == "close"
    assert changes.count("open") == changes.count("close") == 1
    assert len(set(keys)) == len(keys)


@pytest.mark.parametrize("is_clean", [True, False], ids=["stopped", "killed"])
@pytest.mark.parametrize("cut", [100, 240, 241, 311, 325])
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
        fit, settled = lane.journal.events(0)
    assert (fit.kind, settled.kind, settled.at_row) == ("fit", "settle", LEAST + SETTLING_ROWS)


@pytest.mark.parametrize("n_at_once", [1, 3, 50])
def test_what_begins_with_the_watch_raises_no_alert_and_is_normal(n_at_once, tmp_path):
    odd = with_fault(made_rows(1, N_ROWS, churn=False), LEAST, N_ROWS - 1, size=3.0)
    later = with_fault(odd, *FAULT)
    with lane_in(tmp_path) as lane:
        feed(lane, later[:LEAST])
        for first in range(LEAST, N_ROWS, n_at_once):
            lane.take(later[first : first + n_at_once])
        settled = lane.journal.events(0)[-1]
        _, alerts, _ = told(lane)
    assert settled.content == {"first_row": LEAST, "last_row": LEAST + SETTLING_ROWS - 1}
    assert [FAULT[0] <= alert.first_row <= FAULT[1] for alert in alerts] == [True]


def test_certain_trouble_that_begins_with_the_watch_raises_an_alert_and_stays_trouble(tmp_path):
    rows = [
        replace(row, names=(*row.names, "up"), values=np.append(row.values, np.float32(t < LEAST)))
        for t, row in enumerate(made_rows(1, LEAST + 40, churn=False))
    ]
    with lane_in(tmp_path) as lane:
        feed(lane, rows)
        assert lane.journal.events(0)[-1].content["first_row"] == LEAST + SETTLING_ROWS
        alert = lane.status(rows[-1].time).alert
    assert (alert.first_row, alert.is_open, alert.causes[0].variable) == (LEAST, True, "up")


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


# ---------------------------------------------------------------------- rows that cannot be taken


@pytest.mark.parametrize(
    "wrong",
    [
        {"time": -4000},
        {"time": 2**63 // 1_000_000},
        {"values": np.full(12, np.inf, np.float32)},
        {"values": np.ones(3, np.float32)},
    ],
    ids=["before 1970", "after 2262", "infinite", "too few values"],
)
def test_a_row_that_cannot_be_kept_is_set_aside_and_the_others_go_on(rows, tmp_path, wrong):
    with lane_in(tmp_path) as lane:
        bad = Row(**vars(rows[3]) | wrong)
        taken = [row for row in rows[:10] if row.time != bad.time]
        in_order = sorted([*taken, bad], key=lambda row: row.time)
        lane.take(in_order[:5])
        lane.take(in_order[5:])
        assert lane.journal.n_rows == len(taken)
        status = lane.status(0)
        assert status.set_aside == 1
        (problem,) = status.problems
        assert "rows-set-aside.jsonl" in problem
        kept = (lane._files.folder / "rows-set-aside.jsonl").read_text().splitlines()
        assert [json.loads(line)["time"] for line in kept] == [bad.time]


def test_a_row_that_was_set_aside_is_told_for_a_day(rows, tmp_path):
    with lane_in(tmp_path) as lane:
        lane.take([Row(**vars(rows[0]) | {"time": -1})])
        lane._told_until_row = 20
        lane.take(rows[:19])
        assert lane.status(0).problems
        lane.take(rows[19:20])
        assert lane.status(0).problems == ()


def test_a_fit_that_fails_unexpectedly_is_tried_again_later(rows, tmp_path, monkeypatch):
    with lane_in(tmp_path) as lane:
        fit = Detector.fit
        monkeypatch.setattr(Detector, "fit", lambda self, rows: 1 / 0)
        feed(lane, rows[: LEAST + 10])
        assert "ZeroDivisionError" in lane.status(0).problems[0]
        monkeypatch.setattr(Detector, "fit", fit)
        feed(lane, rows[LEAST + 10 :])
        assert lane.status(0).phase == "following"


def test_rows_that_cannot_be_replayed_cost_the_model_and_not_the_lane(folder, rows, monkeypatch):
    replay = Follower.replay
    monkeypatch.setattr(Follower, "replay", lambda self, rows: 1 / 0)
    with lane_in(folder) as lane:
        monkeypatch.setattr(Follower, "replay", replay)
        assert "cannot be judged again" in lane.status(0).problems[0]
        feed(lane, rows[CUT:])
        assert lane.status(0).phase == "following"


def test_an_alert_whose_causes_cannot_be_told_is_told_without(
    rows, unbroken, tmp_path, monkeypatch
):
    monkeypatch.setattr(Follower, "causes", lambda *_: 1 / 0)
    with lane_in(tmp_path) as lane:
        feed(lane, rows)
        columns, alerts, keys = told(lane)
        assert (columns, keys) == (unbroken[0], unbroken[2])
        assert [alert.causes for alert in alerts] == [()]
