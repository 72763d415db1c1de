import os

import numpy as np
import pytest
from tests.smkc.scale.conftest import TINY, check_agree, long_table, scores_of, write

from smkc.errors import InputError, ModelFileError
from smkc.scale import ScaleSettings, score_file
from smkc.scale.scoring import Scorer


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
    score, replace = Scorer.push, os.replace

    def counting(self, rows):
        nonlocal n_scored
        n_scored += len(rows)
        return score(self, rows)

    def failing(*paths):
        nonlocal n_replaced
        n_replaced += 1
        if n_replaced % 7 == 0:
            raise Killed
        replace(*paths)

    monkeypatch.setattr(Scorer, "push", counting)
    monkeypatch.setattr(os, "replace", failing)
    n_kills = 0
    while True:
        try:
            summary = score_file(fleet, detectors[kind], out, resume=True, **arguments)
            break
        except Killed:
            n_kills += 1
    assert n_kills > 5
    check_agree((out, summary), (whole, expected), kind)
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


def test_unfinished_run_is_kept_and_not_mixed_with_another(live, detectors, tmp_path, monkeypatch):
    path = write(tmp_path / "live.parquet", long_table(live))
    out = tmp_path / "out.parquet"

    def failing(self, part):
        raise Killed

    with monkeypatch.context() as patch:
        patch.setattr(Scorer, "push", failing)
        with pytest.raises(Killed):
            score_file(path, detectors["evidence"], out, settings=TINY)
    with pytest.raises(InputError, match="holds an unfinished run; continue it with --resume"):
        score_file(path, detectors["evidence"], out, settings=TINY)
    with pytest.raises(InputError, match="other data, another model"):
        score_file(path, detectors["knn"], out, settings=TINY, resume=True)
    os.utime(path, ns=(1, 1))
    with pytest.raises(InputError, match="other data, another model"):
        score_file(path, detectors["evidence"], out, settings=TINY, resume=True)


def test_damaged_state_is_reported(live, detectors, tmp_path, monkeypatch):
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
