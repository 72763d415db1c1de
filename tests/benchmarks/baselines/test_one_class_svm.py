import numpy as np
from tests.benchmarks.baselines.made_windows import made_windows

from benchmarks.baselines.one_class_svm import OneClassSvmStats

# The solver stops at a tolerance of 1e-3: a window or two on the boundary may fall outside.
SLACK = 0.02


def test_nu_bounds_the_share_outside_the_boundary(rng):
    normal = made_windows(rng, 100)
    for nu in (0.1, 0.5):
        competitor = OneClassSvmStats(nu=nu).fit(normal)
        outside = competitor.score(normal) > -competitor.estimator_.offset_[0] + 1e-6
        assert 0 < outside.mean() <= nu + SLACK


def test_a_narrow_kernel_forgets_what_is_far(rng):
    normal = made_windows(rng, 60)
    windows = made_windows(rng, 5, n_anomalous=5)
    scores = OneClassSvmStats(gamma=50.0).fit(normal).score(windows)
    np.testing.assert_allclose(scores, 0.0, atol=1e-9)
