"""What is damaged, gone or cannot be written: a lane says so, and then says the same as ever."""

import re

import pytest
from tests.following import STEP, push_config
from tests.smkc.serve.lane.parts import CUT, N_ROWS, feed, lane_in, told

from smkc.serve.store import StoreError


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
    with lane_in(folder, config=push_config(folder, min_rows=50)) as lane:
        assert any("kept no more" in problem for problem in lane.status(0).problems)
        lane.look_after_model()
        feed(lane, rows[CUT:])
        assert told(lane)[0]["number"][-1] == N_ROWS - 1


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
        assert "make room" in str(error)
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
