import numpy as np
import pytest
import torch
from tests.benchmarks.baselines.made_windows import made_windows

from benchmarks.baselines.pad_mask_gru_ae import PadMaskGruAe
from benchmarks.baselines.set_input import CMAX, masked_errors
from benchmarks.windows import Windows
from smkc.errors import InputError
from smkc.paper.learn.training import Training

QUICK = Training(epochs=3, batch_size=16, learning_rate=1e-2)


def test_the_network_reads_values_and_presence_of_every_place(rng):
    competitor = PadMaskGruAe(window=8)
    values, observed = competitor.inputs(made_windows(rng, 5))
    assert values.shape == observed.shape == (5, 8, CMAX)
    network = competitor.network()
    assert network.encoder.input_size == 2 * CMAX == 32
    decoded = network(torch.from_numpy(values), torch.from_numpy(observed))
    assert decoded.shape == (5, 8, CMAX)
    absent = observed.copy()
    absent[:, 3] = False
    other = network(torch.from_numpy(values), torch.from_numpy(absent))
    assert not torch.isclose(decoded, other).all()


def test_a_step_is_decoded_from_the_whole_window_and_later_steps(rng):
    network = PadMaskGruAe(window=8).network()
    values = torch.from_numpy(rng.normal(size=(1, 8, CMAX)).astype(np.float32))
    observed = torch.ones(1, 8, CMAX, dtype=torch.bool)
    _, code = network.encoder(torch.cat([values, observed.float()], -1))
    network.encoder.forward = lambda steps: (steps, code)  # the code stays what it was
    expected = network(values, observed)
    for step in range(8):
        other = values.clone()
        other[:, step] += 1
        is_same = torch.isclose(network(other, observed), expected).all(-1)[0]
        assert is_same.tolist() == [t >= step for t in range(8)]


def test_training_uses_every_place(rng):
    """Windows of four variables train the weights of all places, and are scored in the first."""
    network, windows = PadMaskGruAe(window=8).network(), made_windows(rng, 400)
    batch = tuple(map(torch.from_numpy, PadMaskGruAe(window=8).inputs(windows)))
    network.train().loss(batch, 1).backward()
    assert (network.encoder.weight_ih_l0.grad.abs().sum(0) > 0).all()
    assert (network.reading.weight.grad.abs().sum(1) > 0).all()
    network.zero_grad()
    loss = network.eval().loss(batch, 1)
    torch.testing.assert_close(loss, masked_errors(network(*batch), *batch).mean())
    loss.backward()
    assert (network.reading.weight.grad.abs().sum(1) > 0).tolist() == [True] * 4 + [False] * 12


def test_too_many_variables_are_refused(rng):
    values = rng.normal(size=(1, 8, CMAX + 1)).astype(np.float32)
    names = tuple(f"v{j:02d}" for j in range(CMAX + 1))
    variables = np.arange(CMAX + 1, dtype=np.int32)[None]
    kinds, segments = np.full(1, -1, np.int8), np.zeros((1, 2), np.int32)
    observed = np.ones(values.shape, bool)
    windows = Windows(values, observed, variables, names, kinds, segments)
    with pytest.raises(InputError, match=r"17 variables.*at most 16 variables, or use a method"):
        PadMaskGruAe(window=8, training=QUICK).fit(made_windows(rng)).score(windows)


def test_spikes_score_higher(rng):
    competitor = PadMaskGruAe(window=8, training=QUICK).fit(made_windows(rng, 120))
    windows = made_windows(rng, 40, n_anomalous=10)
    scores = competitor.score(windows)
    assert np.median(scores[windows.is_anomalous]) > scores[~windows.is_anomalous].max()
    assert competitor.log_.train_losses[-1] < competitor.log_.train_losses[0]
