"""What is loudest now: the variable that moved, with its value and what is usual, alert or not."""

import numpy as np
from tests.following import made_rows, push_config
from tests.smkc.serve.lane.parts import LEAST, feed, lane_in

from smkc.serve.lane.follower import Follower
from smkc.serve.rows import Row

ROWS = made_rows(3, LEAST + 40, churn=False)
MOVED = ROWS[0].names[4]


def moved(row, by):
    values = row.values.copy()
    values[row.names.index(MOVED)] += by
    return Row(time=row.time, names=row.names, values=values)


def test_the_one_that_moved_is_first_with_its_band(tmp_path):
    with lane_in(tmp_path) as lane:
        feed(lane, ROWS[:-1])
        quiet = lane.status(0)
        assert len(quiet.loudest) <= 5
        usual = np.array([row.values[row.names.index(MOVED)] for row in ROWS[:LEAST]])
        last = moved(ROWS[-1], 8.0 * usual.std())
        lane.take([last])
        found = lane.status(0).loudest
        assert found[0].variable == MOVED
        assert found[0].value == last.values[last.names.index(MOVED)]
        assert found[0].lower < np.median(usual) < found[0].upper < found[0].value
        assert found[0].p_value < min([0.01, *(one.p_value for one in quiet.loudest)])
        assert [one.p_value for one in found] == sorted(one.p_value for one in found)
        assert f"was {found[0].value:.4g}" in found[0].detail


def test_the_band_around_a_trace_is_that_of_the_loudest(tmp_path):
    with lane_in(tmp_path) as lane:
        times = np.array([row.time for row in ROWS])
        assert lane.usual_band(MOVED, times) is None  # before the first fit
        feed(lane, [*ROWS[:-1], moved(ROWS[-1], 40.0)])
        loudest = lane.status(0).loudest[0]
        lower, upper = lane.usual_band(MOVED, times)
        assert len(lower) == len(upper) == len(ROWS)
        assert (lower[-1], upper[-1]) == (loudest.lower, loudest.upper)
        usual = np.array([row.values[row.names.index(MOVED)] for row in ROWS[:LEAST]])
        assert ((lower[:LEAST] < usual) & (usual < upper[:LEAST])).mean() > 0.9
        assert lane.usual_band("never seen", times) is None
        assert lane.usual_band(MOVED, times[:0]) is None


def test_as_many_as_the_watch_asks_for(tmp_path):
    for n in (0, 1):
        folder = tmp_path / str(n)
        with lane_in(folder, config=push_config(folder, loudest=n)) as lane:
            feed(lane, [*ROWS[:-1], moved(ROWS[-1], 40.0)])
            assert len(lane.status(0).loudest) == n


def test_rows_go_on_where_it_cannot_be_said(tmp_path, monkeypatch, caplog):
    def fail(self, row, n):
        raise ZeroDivisionError("nobody foresaw this")

    monkeypatch.setattr(Follower, "loudest", fail)
    with lane_in(tmp_path) as lane:
        feed(lane, ROWS)
        assert lane.journal.n_rows == len(ROWS)
        assert lane.status(0).loudest == ()
    assert "loudest" in caplog.text
