"""Causes of a lane's rows: those of the loud ones, the same now, later and after a restart."""

import numpy as np
import pytest
from tests import worlds
from tests.following import push_config, row_of
from tests.smkc.serve.lane.parts import LEAST, feed, lane_in

from smkc.evidence.causes.loud import loud_rows, loudness
from smkc.recording.times import show_time
from smkc.serve.lane.follower import Recent
from smkc.serve.rows import Row

N_PARTS, N_PODS, WINDOW = 10, 2, 8
GUILTY = (0, 1, 2)
CHURN, FAULT, END = 300, 316, 336


def made(seed, *, size, last=END):
    """Rows of a service whose pods begin to come and go, two windows before three parts fail."""
    table = worlds.coupled(np.random.default_rng(seed), END, N_PARTS + N_PODS, memory=0.5)
    table[FAULT : last + 1, GUILTY] += size
    rows = []
    for t, values in enumerate(table):
        names = [f'load{{part="p{j}"}}' for j in range(N_PARTS)]
        age = max(t - CHURN, 0)
        names += [f'load{{pod="pod-{j}-{(age + 4 * j) // 8}"}}' for j in range(N_PODS)]
        rows.append(row_of(t, names, values))
    return rows


def config(folder):
    return push_config(folder, detector={"window": WINDOW})


def is_guilty(cause):
    return any(f'part="p{j}"' in cause.variable for j in GUILTY)


@pytest.mark.parametrize("seed", [100, 101, 102])
@pytest.mark.parametrize(
    ("size", "last"),
    [
        pytest.param(40.0, END, id="a large fault"),
        pytest.param(6.0, END, id="a small fault"),
        pytest.param(6.0, FAULT + 1, id="a short one"),
    ],
)
def test_a_pod_that_left_when_it_should_comes_after_the_guilty(tmp_path, seed, size, last):
    with lane_in(tmp_path, config=config(tmp_path)) as lane:
        rows = made(seed, size=size, last=last)
        feed(lane, rows[:FAULT])
        for number in range(FAULT, FAULT + WINDOW):
            feed(lane, [rows[number]])
            causes = lane._recent.causes(lane.model.follower, number, FAULT)
            assert is_guilty(causes[0]), (number, causes[0])
            assert sum(map(is_guilty, causes[:3])) >= 2


def test_causes_are_the_same_from_memory_from_the_journal_and_after_a_restart(tmp_path):
    rows = made(7, size=6.0)
    with lane_in(tmp_path, config=config(tmp_path)) as lane:
        feed(lane, rows)
        follower = lane.model.follower
        asked = range(END - 2 * WINDOW, END)
        found = [lane._recent.causes(follower, number, FAULT) for number in asked]
        assert all(found)
        anew = Recent.of(lane.journal, WINDOW)
        assert [anew.causes(follower, number, FAULT) for number in asked] == found
        assert lane._recent.causes(follower, LEAST, LEAST) is None  # too long ago
    with lane_in(tmp_path, config=config(tmp_path)) as lane:
        again = lane.model.follower
        assert [lane._recent.causes(again, number, FAULT) for number in asked] == found


def test_words_speak_of_the_loud_rows_and_a_window_before(tmp_path):
    rows = made(7, size=40.0)
    early = rows[CHURN]  # two windows before: farther from usual, but it is over
    values = early.values.copy()
    values[early.names.index('load{part="p0"}')] += 100.0
    rows[CHURN] = Row(time=early.time, names=early.names, values=values)
    with lane_in(tmp_path, config=config(tmp_path)) as lane:
        feed(lane, rows[: FAULT + 2])
        causes = lane._recent.causes(lane.model.follower, FAULT + 1, FAULT)
    (detail,) = (cause.detail for cause in causes if 'part="p0"' in cause.variable)
    times = [show_time(np.datetime64(row.time, "ms")) for row in rows[FAULT : FAULT + 2]]
    assert any(f" at {time};" in detail for time in times), detail


def test_loudness_does_not_depend_on_the_order():
    nats = np.random.default_rng(0).exponential(3.0, 9)
    assert len({loudness(np.roll(nats, k)) for k in range(9)}) == 1


def test_rows_of_which_nothing_is_known_are_silent():
    assert loud_rows({5: 2.0}, 3, 6) == (5, 5)
    assert loud_rows({}, 3, 6) == (3, 6)
