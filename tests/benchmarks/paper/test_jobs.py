"""Running jobs: scores are kept, found again, made anew when they no longer hold."""

import json
from dataclasses import replace

import numpy as np
import pytest
from tests.promise import assert_scores_agree

from benchmarks.paper import jobs as jobs_module
from benchmarks.paper.budget import BUDGETS, find_budget
from benchmarks.paper.jobs import RunSettings, run
from benchmarks.paper.scores import Job, Scores, fingerprint, read_scores, write_scores
from benchmarks.protocols import Sizes
from benchmarks.running import Failed
from smkc.errors import SettingError

TINY = replace(
    BUDGETS["smoke"], sizes=Sizes(train=20, validation=10, test=20), epochs=2, patience=2
)


def job(method="largest-jump", **more):
    return Job(**{"method": method, "protocol": "holdout_C", "seed": 0, **more})


def settings(folder, **more):
    return RunSettings(budget=TINY, folder=folder, **more)


def test_scores_of_every_test_set_are_kept(tmp_path):
    ours = settings(tmp_path)
    assert run([job(rates=(0.1, 0.2))], ours) == 0
    found = ours.read(job(rates=(0.1, 0.2)))
    assert len(found.scores) == 2 * 4 * 20
    kinds, scores = found.test_set(12, 0.2)
    assert len(kinds) == len(scores) == 20
    assert (kinds >= 0).sum() == 4
    assert found.made["device"] == "cpu"
    assert json.dumps(dict(found.made))


def test_what_was_run_is_not_run_again(tmp_path):
    ours = settings(tmp_path)
    run([job()], ours)
    path = ours.path(job())
    before = path.stat().st_mtime_ns
    run([job(), job(seed=1)], ours)
    assert path.stat().st_mtime_ns == before
    assert ours.read(job(seed=1)) is not None


def test_scores_that_no_longer_hold_are_made_anew(tmp_path):
    ours = settings(tmp_path)
    run([job()], ours)
    other = replace(ours, budget=replace(TINY, sizes=Sizes(train=20, validation=10, test=30)))
    assert other.read(job()) is None
    run([job()], other)
    assert len(other.read(job()).scores) == 4 * 30


def test_scores_of_other_code_are_made_anew(tmp_path, monkeypatch):
    ours = settings(tmp_path)
    run([job()], ours)
    assert ours.read(job()) is not None
    monkeypatch.setattr(jobs_module, "code_digest", lambda method: "another")
    assert ours.read(job()) is None
    assert replace(ours, any_code=True).read(job()) is not None
    run([job()], ours)
    assert ours.read(job()).made["code"] == "another"


def test_epochs_matter_to_networks_alone():
    longer = replace(TINY, epochs=9)
    assert fingerprint(job(), TINY) == fingerprint(job(), longer)
    assert fingerprint(job("gru-ae"), TINY) != fingerprint(job("gru-ae"), longer)


@pytest.mark.parametrize("damage", [b"", b"PAR1 no Parquet at all PAR1", None])
def test_a_damaged_file_counts_as_none(tmp_path, damage):
    ours = settings(tmp_path)
    run([job()], ours)
    path = ours.path(job())
    path.write_bytes(path.read_bytes()[:-30] if damage is None else damage)
    assert ours.read(job()) is None
    assert run([job()], ours) == 0
    assert ours.read(job()) is not None


def test_files_hold_what_was_written(tmp_path):
    rng = np.random.default_rng(0)
    scores = Scores(
        np.array([3, 3, 16], np.int8),
        np.array([0.1, 0.1, 0.01], np.float32),
        np.array([-1, 5, 0], np.int8),
        rng.normal(size=3).astype(np.float32),
        {"fingerprint": "abc"},
    )
    write_scores(tmp_path / "deep" / "s.parquet", scores)
    found = read_scores(tmp_path / "deep" / "s.parquet", "abc")
    assert found.scores.tobytes() == scores.scores.tobytes()
    assert found.test_set(3, 0.1)[0].tolist() == [-1, 5]
    assert read_scores(tmp_path / "deep" / "s.parquet", "abd") is None
    assert [path.name for path in (tmp_path / "deep").iterdir()] == ["s.parquet"]


@pytest.mark.slow
def test_processes_change_no_score(tmp_path):
    jobs = [job(), job("statspool-knn"), job("gru-ae"), job("randproj-knn")]
    alone, together = settings(tmp_path / "1"), settings(tmp_path / "2", processes=2)
    assert run(jobs, alone) == run(jobs, together) == 0
    for each in jobs:
        assert_scores_agree(together.read(each).scores, alone.read(each).scores)
    assert not list((tmp_path / "2" / "checkpoints").rglob("*.*")), "and leave no checkpoint"


def test_a_run_stops_in_time_and_goes_on(tmp_path):
    jobs = [job(seed=seed) for seed in range(3)]
    assert run(jobs, settings(tmp_path, stop_after=0.0)) == 3
    assert run(jobs, settings(tmp_path)) == 0


def test_a_job_that_fails_is_named_and_stops_no_other(tmp_path):
    few = replace(TINY, sizes=Sizes(train=2, validation=10, test=20))  # 8 windows, 20 neighbours
    ours = replace(settings(tmp_path), budget=few)
    with pytest.raises(Failed, match=r"RandProj-kNN.*neighbours"):
        run([job("randproj-knn"), job()], ours)
    assert ours.read(job()) is not None
    assert ours.read(job("randproj-knn")) is None


def test_budgets_have_names():
    assert find_budget("paper").seeds == 3
    assert find_budget("paper").hash_width_seeds == 7
    assert find_budget("paper").sizes == Sizes(train=400, validation=200, test=600)
    with pytest.raises(SettingError, match="smoke, quick, paper"):
        find_budget("huge")
