"""The table over seeds: what Student's interval says of a difference."""

import numpy as np
import pytest
from tests.benchmarks.paper.test_ablation import keep, planned

from benchmarks.paper.seeds import seeds, seeds_jobs, t_interval


def test_the_interval_is_students():
    low, high = t_interval(np.array([0.0, 0.1, 0.2]))
    # 4.303 is the 97.5% quantile of t with 2 degrees of freedom, from any table of it.
    half = 4.303 * 0.1 / np.sqrt(3)
    assert (low, high) == pytest.approx((0.1 - half, 0.1 + half), abs=1e-4)
    assert t_interval(np.array([1.0])) == (None, None)


def test_a_better_row_is_ahead_of_deep_sets_on_every_seed(tmp_path):
    plan = planned(tmp_path)
    strengths = {"smkc-ens": 4.0, "deepsets-gru": 2.0, "largest-jump": 0.0}
    for job in seeds_jobs(plan):
        if job.method in strengths:
            keep(plan, job, strengths[job.method])
    table = seeds(plan)
    assert [row.name for row in table.rows] == [
        "SMKC-ENS(HYB)",
        "DeepSets-GRU(Set)",
        "max |delta g|",
    ]
    ahead = [row.cells[-1].value for row in table.rows]
    assert ahead[0] == plan.paired_seeds
    assert np.isnan(ahead[1]), "it is what others are compared with"
    assert ahead[2] == 0
    assert "Not run yet: SMKC-ENS(HYB), tuned" in table.notes[-1]
