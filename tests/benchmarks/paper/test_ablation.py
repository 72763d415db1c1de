"""The table of ablations: differences to base, on the same windows."""

import numpy as np
import pytest

from benchmarks.paper.ablation import (
    ablation,
    ablation_jobs,
    ablation_tuned,
    ablation_tuned_jobs,
)
from benchmarks.paper.budget import find_budget
from benchmarks.paper.jobs import RunSettings
from benchmarks.paper.methods import METHODS
from benchmarks.paper.plan import Plan
from benchmarks.paper.scores import Scores, fingerprint, write_scores
from benchmarks.paper.sources import code_digest


def planned(folder):
    settings = RunSettings(budget=find_budget("smoke"), folder=folder)
    return Plan(settings=settings, methods=list(METHODS.values()), seeds=1)


def keep(plan, job, strength):
    rng = np.random.default_rng(1)
    n = 4 * 100
    kinds = np.where(np.arange(n) % 10 == 0, 2, -1).astype(np.int8)
    noise = rng.normal(size=n)
    write_scores(
        plan.settings.path(job),
        Scores(
            np.repeat([3, 6, 12, 16], 100).astype(np.int8),
            np.full(n, 0.1, np.float32),
            kinds,
            (noise + strength * (kinds >= 0)).astype(np.float32),
            {
                "fingerprint": fingerprint(job, plan.settings.budget),
                "code": code_digest(job.row),
            },
        ),
    )


def test_a_better_variant_is_above_base_with_its_difference(tmp_path):
    plan = planned(tmp_path)
    strengths = {"base": 2.0, "log_only": 4.0, "cos_only": 0.0}
    for job in ablation_jobs(plan):
        if job.row.name in strengths:
            keep(plan, job, strengths[job.row.name])
    table = ablation(plan)
    assert [row.name for row in table.rows] == ["log_only", "base", "cos_only"]
    at = table.place("AUPRC less base's")
    better, same, worse = (row.cells[at] for row in table.rows)
    assert better.low > 0 > worse.high
    assert (same.value, same.low, same.high) == (0, 0, 0)
    assert better.paper == pytest.approx(0.031)
    auprc = [row.cells[0].value for row in table.rows]
    assert better.value == pytest.approx(auprc[0] - auprc[1])
    assert "Not run yet: no_presence_stream" in table.notes[-1]


def test_the_papers_twelve_variants_and_ours_are_run(tmp_path):
    plan = planned(tmp_path)
    jobs = ablation_jobs(plan) + ablation_tuned_jobs(plan)
    assert len(jobs) == len(set(jobs)) == 12 + 14
    assert {job.protocol for job in jobs} == {"holdout_C"}


def test_the_tuned_method_has_a_table_of_its_own(tmp_path):
    plan = planned(tmp_path)
    for job in ablation_tuned_jobs(plan):
        keep(plan, job, 2.0)
    assert not ablation(plan).rows
    table = ablation_tuned(plan)
    assert len(table.rows) == 14
    assert "tuned" in table.title
