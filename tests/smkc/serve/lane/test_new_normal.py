"""A lasting change is announced once, can be confirmed or refused, and survives a restart."""

import numpy as np
import pytest
from tests.following import made_rows
from tests.smkc.serve.lane.parts import feed, lane_in, told

from smkc.evidence.settings import SETTINGS
from smkc.serve.rows import Row
from smkc.serve.view import UnknownError

SHIFTED, BEGUN = 'load{host="h4"}', 260
ANNOUNCED = BEGUN + SETTINGS.lasting_rows + 20  # by then it has been unusual for long enough
END = ANNOUNCED + 40


@pytest.fixture(scope="module")
def rows():
    """Rows in which one variable is far above its usual values from row BEGUN on."""
    found = []
    for number, row in enumerate(made_rows(5, END, churn=False)):
        values = row.values.copy()
        if number >= BEGUN:
            values[row.names.index(SHIFTED)] += 30.0
        found.append(Row(time=row.time, names=row.names, values=values))
    return found


def test_it_is_announced_once_with_its_beginning(rows, tmp_path, caplog):
    caplog.set_level("INFO", "smkc.serve.lane.lane")
    with lane_in(tmp_path) as lane:
        feed(lane, rows[: BEGUN + 100])
        assert lane.status(0).new_normals == ()
        feed(lane, rows[BEGUN + 100 :])
        (one,) = lane.status(0).new_normals
    assert (one.variable, one.row, one.since) == (SHIFTED, BEGUN, rows[BEGUN].time)
    assert one.now - one.before == pytest.approx(30.0, abs=5.0)
    said = [text for text in caplog.messages if "new normal" in text]
    assert len(said) == 1
    assert SHIFTED in said[0]


def test_confirming_ends_the_question_and_changes_no_verdict(rows, tmp_path):
    with lane_in(tmp_path / "asked") as lane:
        feed(lane, rows)
        expected = told(lane)[0]
    with lane_in(tmp_path / "answered") as lane:
        feed(lane, rows[:ANNOUNCED])
        lane.answer(SHIFTED, "me", is_normal=True)
        feed(lane, rows[ANNOUNCED:])
        assert lane.status(0).new_normals == ()
        assert told(lane)[0] == expected
    with lane_in(tmp_path / "answered") as lane:  # after a restart, too
        assert lane.status(0).new_normals == ()


def test_refusing_makes_it_unusual_again_and_survives_a_restart(rows, tmp_path):
    with lane_in(tmp_path / "whole") as lane:
        feed(lane, rows[:ANNOUNCED])
        quiet = np.array(told(lane)[0]["p_value"])[-10:]
        lane.answer(SHIFTED, "me", is_normal=False)
        feed(lane, rows[ANNOUNCED:])
        assert lane.status(0).new_normals == ()
        expected = told(lane)[0]
    loud = np.array(expected["p_value"])[-30:]
    assert np.median(loud) < 1e-3 < np.median(quiet)
    for cut in (ANNOUNCED, ANNOUNCED + 15):
        folder = tmp_path / f"cut{cut}"
        with lane_in(folder) as lane:
            feed(lane, rows[:ANNOUNCED])
            lane.answer(SHIFTED, "me", is_normal=False)
            feed(lane, rows[ANNOUNCED:cut])
        with lane_in(folder) as lane:
            feed(lane, rows[cut:])
            assert told(lane)[0] == expected
            assert [event.kind for event in lane.journal.events(0)] == ["fit", "settle", "refuse"]


def test_only_what_waits_for_an_answer_can_be_answered(rows, tmp_path):
    with lane_in(tmp_path) as lane:
        feed(lane, rows[:ANNOUNCED])
        with pytest.raises(UnknownError, match="no new normal"):
            lane.answer('load{host="h0"}', "me", is_normal=True)
