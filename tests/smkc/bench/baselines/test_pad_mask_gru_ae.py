import numpy as np
import pytest
import torch
from tests.smkc.bench.baselines.made_windows import made_windows

from smkc.bench.baselines.pad_mask_gru_ae import PadMaskGruAe
from smkc.bench.baselines.set_input import CMAX
from smkc.bench.baselines.training import Training
from smkc.bench.windows import Windows
from smkc.errors import InputError

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


def test_a_step_is_decoded_from_the_code_alone(rng):
    """With the code given, no value reaches the decoder."""
    network = PadMaskGruAe(window=8).network()
    network.code.weight.data.zero_()
    values = torch.from_numpy(rng.normal(size=(2, 8, CMAX)).astype(np.float32))
    decoded = network(values, torch.ones(2, 8, CMAX, dtype=torch.bool))
    torch.testing.assert_close(decoded[0], decoded[1])


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
