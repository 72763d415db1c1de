import numpy as np
import pytest
import torch
from tests.benchmarks.baselines.made_windows import made_windows

from benchmarks.baselines.mscred import ATTENTION_SCALE, ConvLstm, Mscred
from benchmarks.baselines.set_input import CMAX
from benchmarks.baselines.signatures import N_SCALES, N_STEPS
from smkc.paper.learn.training import Training


def batch_of(windows):
    return tuple(torch.from_numpy(array) for array in Mscred(window=8).inputs(windows))


def naive_lstm(lstm, maps):
    """Return the states of one window, step by step, and attend to those so far."""
    state = cell = torch.zeros_like(maps[0])
    states, attended = [], []
    for step in maps:
        gates = lstm.from_input(step[None])[0] + lstm.from_state(state[None])[0]
        i, f, g, o = gates.split(len(step))
        i, f = (
            torch.sigmoid(i + lstm.from_cell[0] * cell),
            torch.sigmoid(f + lstm.from_cell[1] * cell),
        )
        cell = f * cell + i * torch.tanh(g)
        state = torch.sigmoid(o + lstm.from_cell[2] * cell) * torch.tanh(cell)
        states.append(state)
        weights = [torch.exp((state * other).sum() / ATTENTION_SCALE) for other in states]
        total = sum(weight * other for weight, other in zip(weights, states, strict=True))
        attended.append(total / sum(weights))
    return torch.stack(attended)


def test_the_recurrence_is_as_written():
    torch.manual_seed(0)
    lstm, maps = ConvLstm(3, 4), torch.randn(2, 5, 3, 4, 4)
    lstm.from_cell.data.normal_()
    expected = torch.stack([naive_lstm(lstm, window) for window in maps])
    torch.testing.assert_close(lstm(maps), expected)


def test_reconstruction_looks_back_and_not_ahead(rng):
    torch.manual_seed(0)
    network, (matrices, _) = Mscred(window=8).network().eval(), batch_of(made_windows(rng, 4))
    assert matrices.shape == (4, N_STEPS, N_SCALES, CMAX, CMAX)
    expected = network(matrices)
    assert expected.shape == matrices.shape
    later = matrices.clone()
    later[:, 3:] += 1
    torch.testing.assert_close(network(later)[:, :3], expected[:, :3])
    earlier = matrices.clone()
    earlier[:, 0] += 1
    assert (network(earlier)[:, -1] - expected[:, -1]).abs().max() > 1e-6


def test_residuals_of_pairs_that_exist_are_counted(rng):
    torch.manual_seed(0)
    network, (matrices, is_variable) = (
        Mscred(window=8).network().eval(),
        batch_of(made_windows(rng, 6)),
    )
    residuals = (network(matrices) - matrices).square().detach().numpy()
    errors = network.errors((matrices, is_variable)).detach()
    for b, n_variables in enumerate(is_variable.sum(1)):
        expected = residuals[b, :, :, :n_variables, :n_variables].mean()
        np.testing.assert_allclose(errors[b], expected, rtol=1e-5)
    expected = errors.mean()
    torch.testing.assert_close(network.loss((matrices, is_variable), 1).detach(), expected)


def test_gradients_reach_every_weight(rng):
    torch.manual_seed(0)
    network = Mscred(window=8).network()
    network.loss(batch_of(made_windows(rng, 8)), 1).backward()
    assert all(parameter.grad.abs().sum() > 0 for parameter in network.parameters())


def test_half_precision_gives_a_loss_in_full(rng):
    torch.manual_seed(0)
    network, batch = Mscred(window=8).network(), batch_of(made_windows(rng, 8))
    with torch.autocast("cpu", torch.bfloat16):
        loss = network.loss(batch, 1)
    assert loss.dtype == torch.float32
    assert loss.item() == pytest.approx(network.loss(batch, 1).item(), rel=1e-2)


def test_spikes_score_higher(rng):
    training = Training(epochs=2, batch_size=16, learning_rate=3e-3)
    competitor = Mscred(window=8, training=training).fit(made_windows(rng, 64))
    windows = made_windows(rng, 40, n_anomalous=10)
    scores = competitor.score(windows)
    assert np.median(scores[windows.is_anomalous]) > scores[~windows.is_anomalous].max()
    assert competitor.log_.train_losses[-1] < competitor.log_.train_losses[0]
