"""What must hold on a GPU; skipped where there is none."""

import numpy as np
import pytest
import torch

from benchmarks.baselines.randproj_knn import RandProjKnn
from benchmarks.paper.methods import METHODS, SCALING_METHODS
from benchmarks.windows import Windows
from benchmarks.world import World, generate
from smkc.paper.learn.training import Training
from smkc.paper.sketch import Sketch

pytestmark = pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a GPU")

TOLERANCE = 1e-4  # of scores on the GPU against those on the CPU


def some(pool, rate=0.0):
    return Windows.concat(
        [
            generate(
                World(),
                pool=pool,
                n_windows=60,
                cardinality=cardinality,
                rate=rate,
                seed=cardinality,
            )
            for cardinality in (1, 6)
        ]
    )


@pytest.mark.parametrize("key", SCALING_METHODS)
def test_the_training_free_detector_scores_as_on_the_cpu(key):
    representation = SCALING_METHODS[key].representation
    on_cpu, on_gpu = (
        RandProjKnn(window=32, representation=representation, device=device)
        .fit(some("train"))
        .score(some("eval", rate=0.2))
        for device in ("cpu", "cuda")
    )
    np.testing.assert_allclose(on_gpu, on_cpu, atol=TOLERANCE)


@pytest.mark.parametrize("key", [key for key, method in METHODS.items() if method.is_trained])
def test_networks_train_and_score(key):
    training = Training(epochs=2, device="cuda")
    method = METHODS[key].make(window=32, sketch=Sketch(), seed=0, training=training)
    scores = method.fit(some("train")).score(some("eval", rate=0.2))
    assert np.isfinite(scores).all()
    assert len(np.unique(scores)) > 60
