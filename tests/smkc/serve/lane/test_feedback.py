"""What people say of an alert is taken up, and why it was is answered."""

import pytest
from tests.smkc.serve.lane.parts import CUT, feed, lane_in, told

from smkc.serve.view import UnknownError


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
            assert [event.kind for event in lane.journal.events(0)] == ["fit", "settle", "accept"]


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
        lane._store.give_feedback(alert.id, "me")
        assert lane.model._reference() == [(0, CUT - 1)]


def test_an_unknown_alert_cannot_be_accepted(tmp_path, rows):
    with lane_in(tmp_path) as lane, pytest.raises(UnknownError, match="no alert"):
        lane.accept("0123456789abcdef")
