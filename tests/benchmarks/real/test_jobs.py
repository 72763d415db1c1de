"""Running jobs: scores come first, are found again, and survive whatever goes wrong."""

import json
import os
from dataclasses import replace

import numpy as np
import pytest

from benchmarks.real import measures, methods
from benchmarks.real.budget import BUDGETS
from benchmarks.real.condition import Condition
from benchmarks.real.datasets import public_sources
from benchmarks.real.jobs import RunSettings, check_datasets, run, write_recorded
from benchmarks.real.measures import METRICS
from benchmarks.real.methods import METHODS
from benchmarks.real.peers.z_scores import PlainZ
from benchmarks.real.scores import Job, Scores, fingerprint, read_scores, write_scores
from benchmarks.running import Failed
from smkc.errors import ReadError

FULL = BUDGETS["full"]


def job(method="plain-z", dataset="smd", **condition):
    return Job(method=method, dataset=dataset, condition=Condition(**condition))


@pytest.fixture
def settings(registry, tmp_path):
    return RunSettings(budget=FULL, folder=tmp_path / "out")


def read(settings, of):
    return read_scores(settings.path(of), fingerprint(of, settings.budget))


def use(monkeypatch, key, make):
    """Let a method be made in another way."""
    changed = {**METHODS, key: replace(METHODS[key], make=make)}
    monkeypatch.setattr(methods, "METHODS", changed)
    monkeypatch.setattr("benchmarks.real.scores.METHODS", changed)


def test_one_score_a_row_of_every_recording_is_kept(settings):
    assert run([job()], settings) == 0
    found = read(settings, job())
    assert {name: len(scores) for name, scores in found.of_series.items()} == {
        "one": 180,
        "two": 180,
    }
    assert found.made["cpu_seconds"] >= 0
    assert found.made["commit"]
    assert not list(settings.folder.rglob("*.tmp"))


def test_metrics_stand_beside_the_scores_and_come_from_them(settings):
    run([job()], settings)
    beside = settings.path(job()).with_suffix(".json")
    kept = settings.measured(job(), {})
    assert set(METRICS) <= kept.of_series["one"].keys()
    assert kept.of_series["one"]["auroc"] > 0.95
    assert kept.of_series["one"]["n_events"] == 2
    beside.unlink()
    again = settings.measured(job(), {})
    for name, values in kept.of_series.items():
        assert again.of_series[name] == pytest.approx(values, abs=1e-6)
    assert beside.exists()


def test_what_was_run_is_not_run_again(settings):
    run([job()], settings)
    before = settings.path(job()).stat().st_mtime_ns
    run([job(), job("pca")], settings)
    assert settings.path(job()).stat().st_mtime_ns == before
    assert settings.is_done(job("pca"))


def test_scores_no_longer_hold_when_settings_do_not(settings, monkeypatch):
    run([job()], settings)
    before = read(settings, job()).of_series["one"]
    use(monkeypatch, "plain-z", lambda seed: PlainZ(pooling="max"))
    assert not settings.is_done(job())
    assert settings.measured(job(), {}) is None
    run([job()], settings)
    assert not np.array_equal(read(settings, job()).of_series["one"], before)


def test_what_decides_scores_decides_the_fingerprint(settings):
    several = [job(), job(churn="full"), job(drift=True), job(seed=1), job(prequential=True)]
    several += [job("pca"), job(dataset="lro")]
    budgets = (FULL, BUDGETS["smoke"])
    digests = {fingerprint(each, budget) for budget in budgets for each in several}
    assert len(digests) == 14
    assert fingerprint(job(), FULL) == fingerprint(job(), replace(FULL, name="other", seeds=9))
    assert fingerprint(job("smkc-knn"), FULL) != fingerprint(job("randproj-knn"), FULL)


@pytest.mark.parametrize("damage", [b"", b"PAR1 no Parquet at all PAR1", None])
def test_a_damaged_file_counts_as_none(settings, damage):
    run([job()], settings)
    path = settings.path(job())
    path.write_bytes(path.read_bytes()[:-30] if damage is None else damage)
    assert not settings.is_done(job())
    assert run([job()], settings) == 0
    assert settings.is_done(job())


def test_files_hold_what_was_written(tmp_path):
    scores = Scores(
        {"b": np.array([1.5, np.nan], np.float32), "a": np.array([0.25], np.float32)},
        {"fingerprint": "abc", "named": {"a": [["cpu"]]}},
    )
    write_scores(tmp_path / "deep" / "s.parquet", scores)
    found = read_scores(tmp_path / "deep" / "s.parquet", "abc")
    assert list(found.of_series) == ["b", "a"]
    for name, values in scores.of_series.items():
        assert found.of_series[name].tobytes() == values.tobytes()
    assert found.made == scores.made
    assert read_scores(tmp_path / "deep" / "s.parquet", "abd") is None
    assert [path.name for path in (tmp_path / "deep").iterdir()] == ["s.parquet"]


def test_a_run_stops_in_time_and_goes_on(settings):
    jobs = [job(), job("pca")]
    assert run(jobs, replace(settings, stop_after=0.0)) == 2
    assert run(jobs, settings) == 0


def test_an_interrupted_run_keeps_what_was_done_and_goes_on(settings, monkeypatch):
    class Interrupted(PlainZ):
        def score(self, test):
            raise KeyboardInterrupt

    jobs = [job(), job("pca"), job("robust-z-max")]
    with monkeypatch.context() as patch:
        use(patch, "pca", lambda seed: Interrupted())
        with pytest.raises(KeyboardInterrupt):
            run(jobs, settings)
    done = [settings.is_done(each) for each in jobs]
    assert done == [True, False, False]
    assert not list(settings.folder.rglob("*.tmp"))
    before = settings.path(jobs[0]).stat().st_mtime_ns
    assert run(jobs, settings) == 0
    assert settings.path(jobs[0]).stat().st_mtime_ns == before
    assert all(settings.is_done(each) for each in jobs)


def test_a_peer_that_fails_is_named_and_stops_no_other(settings, monkeypatch):
    class Failing(PlainZ):
        def score(self, test):
            raise ZeroDivisionError("no columns left")

    use(monkeypatch, "pca", lambda seed: Failing())
    with pytest.raises(Failed, match=r"PCA, smd.*smd/one: ZeroDivisionError: no columns left"):
        run([job("pca"), job()], settings)
    assert settings.is_done(job())
    assert not settings.is_done(job("pca"))


def test_scores_of_the_wrong_length_are_no_scores(settings, monkeypatch):
    class Short(PlainZ):
        def score(self, test):
            return super().score(test)[1:]

    use(monkeypatch, "plain-z", lambda seed: Short())
    with pytest.raises(Failed, match="one a row"):
        run([job()], settings)


def test_causes_are_named_where_they_are_known(settings):
    jobs = [job(), job(churn="full"), job(drift=True), job("isolation-forest"), job(dataset="lro")]
    run(jobs, settings)
    found = [settings.measured(each, {}) for each in jobs]
    assert found[0].hits["named"]["1"] == 1.0
    assert found[0].hits["chance"]["1"] == pytest.approx((1 / 6 + 2 / 6) / 2)
    assert found[1].hits["named"].keys() == {"1", "3", "5"}
    assert [each.hits for each in found[2:]] == [None, None, None]


def test_renamed_causes_count_as_what_they_were(settings):
    for seed in range(5):
        each = job("robust-z-max", churn="full", seed=seed)
        run([each], settings)
        named = read(settings, each).made["named"]
        assert all(
            "~" not in name for events in named.values() for names in events for name in names
        )


def test_one_file_records_all_metrics(settings):
    run([job(), job("pca")], settings)
    found = {each: settings.measured(each, {}) for each in (job(), job("pca"))}
    path = write_recorded(settings, {job(): found[job()]})
    write_recorded(settings, {job("pca"): found[job("pca")]})
    assert len(json.loads(path.read_text())) == 2
    for each in (job(), job("pca")):
        settings.path(each).unlink()
        settings.path(each).with_suffix(".json").unlink()
        recorded = settings.measured(each, settings.recorded())
        assert recorded.of_series["two"]["vus_tsb_ad"] == pytest.approx(
            found[each].of_series["two"]["vus_tsb_ad"], abs=1e-6
        )
    assert settings.measured(job(seed=1, churn="full"), settings.recorded()) is None


def test_a_missing_or_changed_file_is_said_before_anything_runs(registry):
    check_datasets(["smd", "lro"])
    file = registry / "lro" / "one.test.parquet"
    content = file.read_bytes()
    file.write_bytes(content[:-1] + b"x")
    with pytest.raises(ReadError, match=r"dataset lro.*SHA-256.*--datasets"):
        check_datasets(["smd", "lro"])
    check_datasets(["smd"])
    file.unlink()
    with pytest.raises(ReadError, match=r"dataset lro.*is missing.*https://example.org"):
        check_datasets(["smd", "lro"])


def test_a_step_without_a_score_counts_and_is_counted(settings):
    run([job()], settings)
    scores = read(settings, job())
    holes = {name: values.copy() for name, values in scores.of_series.items()}
    holes["one"][40:52] = np.nan  # the first fault
    measured = measures.measure(job(), Scores(holes, scores.made), FULL)
    assert measured.of_series["one"]["n_unscored"] == 12
    assert measured.of_series["one"]["recall"] == 0.5
    assert measured.of_series["two"]["n_unscored"] == 0


@pytest.mark.slow
@pytest.mark.skipif(
    not os.environ.get("SMKC_DATA"),
    reason="SMKC_DATA is not set; public sources: " + public_sources(),
)
def test_processes_change_no_bit(tmp_path):
    jobs = [job(key, "skab") for key in ("plain-z", "windowed-knn", "random")]
    alone = RunSettings(budget=BUDGETS["smoke"], folder=tmp_path / "1")
    together = replace(alone, folder=tmp_path / "2", processes=2)
    assert run(jobs, alone) == run(jobs, together) == 0
    for each in jobs:
        (ours,), (theirs,) = (read(by, each).of_series.values() for by in (alone, together))
        assert ours.tobytes() == theirs.tobytes(), each
