"""How much a lane writes beside its journal: few checkpoints, packed, and each model once."""

import os
from collections import Counter
from pathlib import Path

import pytest
from tests.following import made_rows, push_config
from tests.smkc.serve.lane.parts import LEAST, feed, lane_in, told

from smkc.base import BaseDetector
from smkc.serve.lane import lane as lane_module

# A checkpoint every so many rows, and one after each fit, each as large as the state: this was
# written before.
ROWS_BEFORE = 256
N_ROWS = LEAST + lane_module.CHECKPOINT_ROWS + 10


@pytest.fixture
def written(monkeypatch):
    """Return how many bytes were put in place under each kind of name."""
    found, replace = Counter(), os.replace

    def count(source, target, **further):
        found[Path(target).name.partition("-")[0]] += os.stat(source).st_size
        return replace(source, target, **further)

    monkeypatch.setattr(os, "replace", count)
    return found


@pytest.mark.slow
def test_checkpoints_take_a_tenth_of_what_they_took(tmp_path, written):
    config = push_config(tmp_path, history="1h")  # no refit: all the history is known
    rows = made_rows(3, N_ROWS, 60)
    with lane_in(tmp_path, config=config, checkpoint_rows=lane_module.CHECKPOINT_ROWS) as lane:
        feed(lane, rows)
        plain = tmp_path / "plain.smkc"
        lane.model.follower._stream.save(plain)
        n_before = 1 + (N_ROWS - LEAST) // ROWS_BEFORE
        assert 0 < written["stream"] <= n_before * plain.stat().st_size / 10
        assert written["model"] == (lane._files.model_path(LEAST)).stat().st_size


def test_a_model_fitted_beside_is_written_once(tmp_path, monkeypatch):
    rows = made_rows(3, LEAST + 40, 12)
    with lane_in(tmp_path) as lane:
        feed(lane, rows[: LEAST + 20])
        lane.refit("a test")
        lane.model._beside._process.wait()
        monkeypatch.delattr(BaseDetector, "save")  # the process beside has written it
        lane.look_after_model()
        assert lane.model.fitted_at == LEAST + 20
        feed(lane, rows[LEAST + 20 :])
        expected = told(lane)
    with lane_in(tmp_path) as lane:
        assert told(lane) == expected
        assert lane.status(0).problems == ()


def test_a_lane_that_takes_long_to_judge_is_written_more_often(rows, tmp_path, monkeypatch):
    monkeypatch.setattr(lane_module, "FEWEST_CHECKPOINT_ROWS", 10)
    with lane_in(tmp_path, checkpoint_rows=10_000) as lane:
        feed(lane, rows[: LEAST + 30])
        assert lane._files.checkpoints() == []
        monkeypatch.setattr(lane_module, "JUDGING_SECONDS", 0.0)
        feed(lane, rows[LEAST + 30 : LEAST + 45])
        assert [at.row for at in lane._files.checkpoints()] == [LEAST + 41, LEAST + 31]


def test_a_lane_that_is_killed_again_and_again_still_writes_checkpoints(rows, tmp_path):
    for cut in range(LEAST, LEAST + 60, 10):
        with lane_in(tmp_path, checkpoint_rows=32) as lane:
            feed(lane, rows[: cut + 10])  # and it is killed
    assert [at.row for at in lane._files.checkpoints()] == [LEAST + 32]


def test_rows_since_the_fit_are_needed_until_there_is_a_checkpoint(rows, tmp_path):
    with lane_in(tmp_path, checkpoint_rows=10_000) as lane:
        feed(lane, rows[: LEAST + 30])
        now = rows[-1].time + 10**9
        lane._store.retain(now, 1000, 10**12, 10**12)
        assert lane.journal.first_kept_row == LEAST
        assert lane._files.checkpoints() == []
    with lane_in(tmp_path) as lane:
        assert lane.model.follower.next_row == LEAST + 30
        assert lane.status(0).problems == ()
