"""Steps that a GPU replays are the steps that it would have taken; skipped where there is none."""

import numpy as np
import pytest
import torch

from benchmarks.baselines.tensor_source import TensorSource
from smkc.paper.learn.prediction import Prediction
from smkc.paper.learn.reconstruction import Reconstruction
from smkc.paper.learn.settings import LearnSettings
from smkc.paper.learn.training import INITIAL_WEIGHTS, Training, seeded, train

pytestmark = pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a GPU")

SETTINGS = LearnSettings(patch=4, width=16, layers=1, heads=2, stem_width=8, n_masks=2)
TRAINING = Training(
    epochs=4, patience=10, batch_size=16, device="cuda", seed=3, bf16=False, schedule="cosine"
)


@pytest.fixture
def inputs():
    generator = torch.Generator().manual_seed(5)
    images = torch.rand(100, 6, 16, 16, generator=generator)
    images = (images + images.mT) / 2
    return TensorSource((images, torch.zeros(100)), "cuda")


@pytest.mark.parametrize("kind", [Reconstruction, Prediction])
def test_losses_are_those_of_steps_taken_one_by_one(kind, inputs, monkeypatch):
    losses = []
    for is_steady in (True, False):
        monkeypatch.setattr(kind, "is_steady", is_steady)
        with seeded(0, INITIAL_WEIGHTS):
            network = kind(SETTINGS, 16)
        log = train(network, inputs, inputs, TRAINING)
        losses.append((*log.train_losses, *log.validation_losses))
    np.testing.assert_allclose(*losses, rtol=1e-3)
