"""Where the paper is contradicted: differences of rows, ours beside the paper's."""

import pytest
from tests.benchmarks.paper.test_ablation import keep, planned

from benchmarks.paper.contradictions import contradiction_jobs, contradictions


def test_a_difference_has_the_papers_beside_it(tmp_path):
    plan = planned(tmp_path)
    strengths = {"ablation-base": 2.0, "ablation-log_only": 0.5}
    for job in contradiction_jobs(plan):
        if job.method in strengths:
            keep(plan, job, strengths[job.method])
    (row,) = contradictions(plan).rows
    assert row.name == "log_only, SMKC-Recon(HYB), tuned"
    (cell,) = row.cells
    assert cell.high < 0 < cell.paper
    assert cell.paper == pytest.approx(0.031)


def test_nothing_is_said_of_what_was_not_run(tmp_path):
    assert not contradictions(planned(tmp_path)).rows
