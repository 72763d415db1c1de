"""The masked models as the training loop sees them."""

from dataclasses import replace

import pytest
import torch
from tests.smkc.paper.learn.made_images import TINY, made_images

from benchmarks.baselines.tensor_source import TensorSource
from smkc.errors import SmkcError
from smkc.paper.learn.learner import untrained_network
from smkc.paper.learn.settings import LearnSettings
from smkc.paper.learn.training import Training, evaluated, train

QUICK = Training(epochs=3, batch_size=8, learning_rate=2e-3, seed=5)
SETTINGS = LearnSettings(
    patch=2, n_masks=3, predictor_layers=1, decoder_layers=1, training=QUICK, **TINY
)


def network(objective, **more):
    return untrained_network(replace(SETTINGS, **more), objective, 8)


@pytest.fixture(scope="module")
def data():
    pixels, tau = made_images(n_windows=32)
    return TensorSource((pixels[:24], tau[:24])), TensorSource((pixels[24:], tau[24:]))


@pytest.mark.parametrize("objective", ["recon", "prediction"])
def test_training_lowers_the_loss(objective, data):
    log = train(network(objective), *data, replace(QUICK, epochs=8))
    assert log.train_losses[-1] < 0.95 * log.train_losses[0]


def test_the_teacher_follows_and_is_not_trained(data):
    ours = network("prediction")
    before = {name: x.clone() for name, x in ours.teacher.state_dict().items()}
    steps = []
    update = ours.stepped
    ours.stepped = lambda *at: (steps.append(at), update(*at))
    train(ours, *data, QUICK)
    assert steps == [(step, 9) for step in range(9)]
    teacher, student = ours.teacher, ours.student
    moved = (teacher.class_token - before["class_token"]).norm()
    apart = (student.class_token - before["class_token"]).norm()
    assert 0 < moved < 0.2 * apart
    assert not any(parameter.requires_grad for parameter in teacher.parameters())


def test_prediction_is_trained_to_the_end_whatever_its_losses(data):
    log = train(network("prediction"), *data, replace(QUICK, epochs=6, patience=1))
    assert log.epochs == log.best_epoch == 6


def test_a_collapse_stops_prediction(data):
    ours = network("prediction")
    ours.embeddings = lambda batch: torch.ones(len(batch[0]), 16)
    with pytest.raises(SmkcError, match="the representation has collapsed"):
        train(ours, *data, QUICK)


def test_channels_count_alike_in_reconstruction(data):
    ours = network("recon")
    train(ours, *data, QUICK)
    expected = data[0].tensors[0].transpose(0, 1).flatten(1).std(dim=1)
    torch.testing.assert_close(ours.spread, expected.clamp(min=1e-2))


@pytest.mark.parametrize(("objective", "n_parts"), [("recon", 6), ("prediction", 1)])
def test_surprise_by_token_and_mean_error(objective, n_parts, data):
    ours = network(objective).eval()
    with torch.no_grad():
        by_token = ours.surprises(data[1].tensors)
        each = ours.surprise_by_patch(*data[1].tensors)
    n_masks, n_masked = ours.masked.shape
    assert each.shape == (8, n_masks, n_masked, n_parts)
    assert len(ours.error_parts) == n_parts
    expected, times = torch.zeros(8, 10, n_parts), torch.zeros(10, 1)
    for mask in range(n_masks):
        for place in range(n_masked):
            expected[:, ours.masked[mask, place]] += each[:, mask, place]
            times[ours.masked[mask, place]] += 1
    torch.testing.assert_close(by_token, expected / times.clamp(min=1))
    scores = torch.from_numpy(evaluated(ours, ours.errors, data[1], QUICK))
    torch.testing.assert_close(scores, each.mean((1, 2, 3)))
    again = network(objective)
    assert torch.equal(again.masked, ours.masked), "the same masks in every model"
