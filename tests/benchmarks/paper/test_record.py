"""The record: ranks in few files, joined with what is there, and the same tables from them."""

from dataclasses import replace

import numpy as np
import pytest

from benchmarks.paper.budget import BUDGETS
from benchmarks.paper.record import file_of, read_recorded, write_record
from benchmarks.paper.scores import Job, Scores, fingerprint
from smkc.errors import InputError, ReadError

BUDGET = BUDGETS["smoke"]


def job(method="lof", **more):
    return Job(**{"method": method, "protocol": "holdout_C", "seed": 0, **more})


def scored(of, values, kinds=(-1, 2, -1, 0), **made):
    return Scores(
        np.array([3, 3, 6, 6], np.int8),
        np.full(4, 0.1, np.float32),
        np.array(kinds, np.int8),
        np.array(values, np.float32),
        {"fingerprint": fingerprint(of, BUDGET), "commit": "abc", **made},
    )


def read(folder, of):
    return read_recorded(folder, of, fingerprint(of, BUDGET))


def test_ranks_are_those_within_a_test_set(tmp_path):
    ours, other = job(), job("statspool-knn", seed=1)
    write_record(
        tmp_path,
        {ours: scored(ours, [5.5, -2, 7, 7]), other: scored(other, [1, 2, 3, 4], device="cpu")},
        BUDGET,
    )
    found = read(tmp_path, ours)
    assert found.scores.tolist() == [1, 0, 0, 0]
    assert found.kinds.tolist() == [-1, 2, -1, 0]
    assert found.test_set(6, 0.1)[0].tolist() == [-1, 0]
    assert found.made["commit"] == "abc"
    assert read(tmp_path, other).made["device"] == "cpu"
    assert read(tmp_path, job(seed=1)) is None
    assert [path.name for path in tmp_path.iterdir()] == ["main.parquet"]


def test_new_scores_replace_old_ones_and_leave_the_others(tmp_path):
    ours, other = job(), job("statspool-knn")
    write_record(tmp_path, {ours: scored(ours, [1, 2, 3, 4])}, BUDGET)
    write_record(tmp_path, {other: scored(other, [1, 2, 2, 1])}, BUDGET)
    assert read(tmp_path, ours).scores.tolist() == [0, 1, 0, 1]
    write_record(tmp_path, {ours: scored(ours, [2, 1, 3, 4], commit="def")}, BUDGET)
    assert read(tmp_path, ours).scores.tolist() == [1, 0, 0, 1]
    assert read(tmp_path, ours).made["commit"] == "def"
    assert read(tmp_path, other).scores.tolist() == [0, 1, 1, 0]


def test_of_other_worlds_the_main_rate_alone_is_kept(tmp_path):
    rates = np.array([0.01, 0.1, 0.01, 0.1], np.float32)
    ours, other = (job(world=world, rates=(0.01, 0.10)) for world in ("paper", "noisy"))
    found = {each: replace(scored(each, [1, 2, 3, 4]), rates=rates) for each in (ours, other)}
    write_record(tmp_path, found, BUDGET)
    assert read(tmp_path, ours).rates.tolist() == rates.tolist()
    assert read(tmp_path, other).rates.tolist() == rates[[1, 3]].tolist()
    assert read(tmp_path, other).kinds.tolist() == [2, 0]
    assert read(tmp_path, other).cardinalities.tolist() == [3, 6]


def test_what_no_longer_holds_is_neither_read_nor_kept(tmp_path):
    ours, other = job(), job("statspool-knn")
    old = scored(ours, [1, 2, 3, 4], fingerprint="0")
    write_record(tmp_path, {ours: old, other: scored(other, [1, 2, 3, 4])}, BUDGET)
    assert read(tmp_path, ours) is None
    third = job("largest-jump")
    write_record(tmp_path, {third: scored(third, [1, 2, 3, 4])}, BUDGET)
    assert read_recorded(tmp_path, ours, "0") is None
    assert read(tmp_path, other) is not None


def test_what_does_not_go_together_is_refused(tmp_path):
    ours, other = job(), job("statspool-knn")
    write_record(tmp_path, {ours: scored(ours, [1, 2, 3, 4])}, BUDGET)
    with pytest.raises(InputError, match="different windows"):
        write_record(tmp_path, {other: scored(other, [1, 2, 3, 4], (-1, 2, 0, -1))}, BUDGET)
    with pytest.raises(InputError, match="NaN"):
        write_record(tmp_path, {other: scored(other, [1, 2, 3, np.nan])}, BUDGET)
    with pytest.raises(InputError, match="records the budget 'smoke', not 'quick'"):
        write_record(tmp_path, {other: scored(other, [1, 2, 3, 4])}, replace(BUDGET, name="quick"))
    assert read(tmp_path, ours) is not None, "and changes nothing"
    (tmp_path / "main.parquet").write_bytes(b"")
    with pytest.raises(ReadError, match="holds no recorded scores"):
        read(tmp_path, ours)


@pytest.mark.parametrize(
    ("method", "more", "name"),
    [
        ("lof", {}, "main"),
        ("randproj-knn", {"buckets": 64}, "hash-width"),
        ("randproj-full", {"length": 64}, "scaling"),
        ("ablation-base", {}, "ablation"),
        ("lof", {"world": "noisy"}, "main-noisy"),
    ],
)
def test_tables_have_files_of_their_own(method, more, name):
    assert file_of(job(method, **more)) == f"{name}.parquet"
