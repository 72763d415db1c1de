"""The plan: which runs there are, in which order, and how their metrics become cells."""

from dataclasses import replace

import numpy as np
import pytest

from benchmarks.alerts.columns import DEMO, HELD_BACK, LABELLED, OWN
from benchmarks.choosing import choose
from benchmarks.real import datasets
from benchmarks.real.budget import BUDGETS
from benchmarks.real.condition import Condition
from benchmarks.real.datasets import dataset, dataset_names
from benchmarks.real.jobs import RunSettings, run
from benchmarks.real.methods import METHODS
from benchmarks.real.plan import Figures, Plan, by_value, mean_cell, stage_of
from benchmarks.table import Cell


def plan_of(tmp_path, keys, budget="full", **more):
    settings = RunSettings(budget=BUDGETS[budget], folder=tmp_path / "out")
    seeds = more.pop("seeds", settings.budget.seeds)
    return Plan(
        settings=settings,
        methods=[METHODS[key] for key in choose(keys, METHODS, "method")],
        seeds=seeds,
        **more,
    )


def test_every_run_is_planned_once_and_the_important_ones_first(registry, tmp_path):
    jobs = plan_of(tmp_path, "stumpy,plain-z,smkc-knn").jobs()
    assert len(jobs) == len(set(jobs))
    quick = [job for job in jobs if job.method != "stumpy"]
    stages = [stage_of(job.condition) for job in quick]
    assert stages == sorted(stages, key=["main", "churn", "drift", "prequential"].index)
    assert {job.method for job in jobs[: len(quick)]} == {"plain-z", "smkc-knn"}
    for stage in set(stages):
        names = [job.method for job, at in zip(quick, stages, strict=True) if at == stage]
        assert names == sorted(names), "one method's jobs together"


def test_seeds_are_where_chance_is(registry, tmp_path):
    jobs = plan_of(tmp_path, "plain-z,random", churn=["none"], drift=[False], modes=[False]).jobs()
    assert [(job.method, job.dataset, job.condition.seed) for job in jobs] == [
        *[("random", "smd", seed) for seed in range(3)],
        *[("random", "lro", seed) for seed in range(3)],
        ("plain-z", "smd", 0),
        ("plain-z", "lro", 0),
    ]
    churned = plan_of(tmp_path, "plain-z", churn=["full"], drift=[False], modes=[False]).jobs()
    assert [(job.dataset, job.condition.seed) for job in churned] == [("smd", s) for s in range(3)]


def test_dear_methods_run_under_less_unless_everything_is_asked_for(registry, tmp_path):
    thrifty, thorough = (
        plan_of(tmp_path, "stumpy", budget).jobs() for budget in ("full", "thorough")
    )
    assert {stage_of(job.condition) for job in thrifty} == {"main", "churn"}
    assert {job.condition.seed for job in thrifty} == {0}
    assert len(thorough) == len(plan_of(tmp_path, "plain-z", "thorough").jobs())


def test_mild_churn_is_looked_at_by_itself(registry, tmp_path):
    mild = [
        job.condition
        for job in plan_of(tmp_path, "plain-z").jobs()
        if job.condition.churn == "mild"
    ]
    assert [(each.drift, each.prequential) for each in mild] == [(False, False)] * 3


def test_columns_are_the_datasets_and_those_with_churn(registry, tmp_path):
    names = [str(column) for column in plan_of(tmp_path, "pca").columns]
    assert names == ["smd", "lro", "smd, full churn"]
    assert [str(c) for c in plan_of(tmp_path, "pca", churn=["none"]).columns] == names[:2]


def test_a_dataset_beside_the_others_has_columns_that_no_mean_is_over(registry, tmp_path):
    found = datasets._registry()
    found["lro"] = replace(found["lro"], is_beside=True)
    plan = plan_of(tmp_path, "pca")
    assert [str(column) for column in plan.columns] == ["smd", "smd, full churn"]
    assert [str(column) for column in plan.beside] == ["lro"]
    assert {job.dataset for job in plan.jobs()} == {"smd", "lro"}
    alone = plan_of(tmp_path, "pca", datasets=["lro"])
    assert [str(column) for column in alone.columns] == ["lro"], "there is nothing to be beside"
    assert alone.beside == []


def test_means_are_over_the_usual_columns_then_more_and_our_own_apart(tmp_path):
    few = plan_of(tmp_path, "pca")
    assert {name: len(columns) for name, columns in few.means.items()} == {"mean of 11": 11}
    labelled = [name for name in dataset_names(ranked=False) if dataset(name).is_labelled]
    assert set(labelled) == {*LABELLED, *OWN, *HELD_BACK, "nab", "wsn"} - {DEMO}
    many = plan_of(tmp_path, "pca", datasets=labelled)
    eleven, fifteen, seventeen, own = many.means.values()
    assert list(many.means) == ["mean of 11", "mean of 15", "mean of 17", "mean of 7 of our own"]
    assert eleven == few.columns
    assert fifteen == many.columns
    assert {str(column) for column in seventeen} - set(map(str, fifteen)) == {"nab", "wsn"}
    assert {column.dataset for column in own} == {*OWN, *HELD_BACK} - {DEMO}


def test_cells_are_means_over_recordings_and_seeds(registry, tmp_path):
    plan = plan_of(tmp_path, "random,plain-z", churn=["none"], drift=[False], modes=[False])
    run(plan.jobs(), plan.settings)
    figures = Figures(plan)
    values = figures.of_series(METHODS["random"], "smd", Condition(), "auroc")
    assert values.shape == (3, 2)
    cell = figures.cell(METHODS["random"], "smd", Condition(), "auroc")
    assert cell.value == pytest.approx(values.mean())
    assert cell.sd == pytest.approx(values.mean(axis=1).std(ddof=1))
    assert figures.cell(METHODS["random"], "smd", Condition(), "auroc", 1).sd is None
    assert figures.cell(METHODS["plain-z"], "smd", Condition(), "auroc").sd is None
    missing = figures.cell(METHODS["plain-z"], "smd", Condition(drift=True), "auroc")
    assert np.isnan(missing.value)


def test_a_method_without_all_its_seeds_has_no_cell(registry, tmp_path):
    plan = plan_of(tmp_path, "random", churn=["none"], drift=[False], modes=[False])
    run(plan.jobs()[:2], plan.settings)
    cell = Figures(plan).cell(METHODS["random"], "smd", Condition(), "auroc")
    assert np.isnan(cell.value)


def test_means_and_orders():
    assert mean_cell([Cell(0.2), Cell(0.4)]).value == pytest.approx(0.3)
    assert np.isnan(mean_cell([Cell(0.2), Cell(np.nan)]).value)
    assert by_value({"a": 0.1, "b": np.nan, "c": 0.5}) == ["c", "a", "b"]


def test_a_plan_can_be_narrowed_to_nothing(registry, tmp_path):
    plan = plan_of(tmp_path, "stumpy", modes=[True])
    assert plan.jobs() == []
    assert replace(plan, modes=[False]).jobs()
