import numpy as np
import pytest
import torch
from tests.benchmarks.baselines.made_windows import made_windows

from benchmarks.baselines.deepsets_gru import MeanPooling
from benchmarks.baselines.set_input import (
    CMAX,
    SetAutoencoder,
    masked_errors,
    random_places,
    set_arrays,
    table_arrays,
    worst_step,
)
from benchmarks.windows import PADDING, Windows
from smkc.errors import InputError

ROUNDING = 1e-6


def one_window(values, observed, variables):
    values = np.asarray(values, np.float32)[None]
    names = tuple("abcdefghijklmnopqrstuvwxyz")
    kinds, segments = np.zeros(1, np.int8), np.zeros((1, 2), np.int32)
    variables = np.array([variables], np.int32)
    return Windows(values, np.array([observed], bool), variables, names, kinds, segments)


def network():
    torch.manual_seed(1)
    return SetAutoencoder(MeanPooling(6, 5), hidden=6, width=5)


def batch_of(windows):
    return tuple(torch.from_numpy(array) for array in set_arrays(windows))


@pytest.mark.parametrize("arrays", [set_arrays, table_arrays])
def test_variables_stand_in_the_order_of_names(arrays):
    window = one_window(
        [[1, 2, 3, 4], [5, 6, 7, 8]], [[1, 0, 1, 0], [1, 0, 0, 0]], [20, 4, 7, PADDING]
    )
    values, observed = arrays(window)
    assert values.dtype == np.float32
    assert values.shape == observed.shape == (1, 2, CMAX)
    np.testing.assert_array_equal(values[0, :, :3], [[3, 1, 0], [0, 5, 0]])
    np.testing.assert_array_equal(observed[0, :, :3], [[True, True, False], [False, True, False]])
    assert not values[..., 3:].any()
    assert not observed[..., 3:].any()


def test_sets_may_be_large_and_tables_not(rng):
    variables = rng.permutation(26)[: CMAX + 1]
    values = rng.normal(size=(3, CMAX + 1))
    window = one_window(values, np.ones_like(values), variables)
    actual, observed = set_arrays(window)
    assert actual.shape == (1, 3, 2 * CMAX)
    assert observed.sum() == values.size
    with pytest.raises(InputError, match=r"window 0 observes 17 variables.*16 places; hand in"):
        table_arrays(window)
    window.observed[0, :, 5] = False
    assert table_arrays(window)[1].sum() == 3 * CMAX


def test_the_worst_step_counts_what_is_valid():
    actual = torch.tensor([[[1.0, 9.0], [3.0, 4.0]], [[1.0, 1.0], [1.0, 1.0]]])
    is_valid = torch.tensor([[[True, False], [True, True]], [[False, False], [False, False]]])
    errors = worst_step(actual.bfloat16(), torch.zeros_like(actual), is_valid)
    assert errors.dtype == torch.float32
    assert errors.tolist() == [12.5, 0.0]


def test_errors_count_what_is_valid():
    actual = torch.tensor([[[1.0, 9.0], [3.0, 9.0]], [[1.0, 1.0], [1.0, 1.0]]])
    expected = torch.tensor([[[0.0, 0.0], [1.0, 0.0]], [[0.0, 0.0], [0.0, 0.0]]])
    is_valid = torch.tensor([[[True, False], [True, False]], [[False, False], [False, False]]])
    errors = masked_errors(actual.bfloat16(), expected, is_valid)
    assert errors.dtype == torch.float32
    assert errors.tolist() == [2.5, 0.0]


def test_random_places_are_all_there():
    torch.manual_seed(0)
    places = random_places(torch.zeros(50, 3))
    assert (places.sort(1).values == torch.arange(CMAX)).all()
    assert len(places.unique(dim=0)) == 50


def test_every_trajectory_is_decoded_from_its_set_and_a_few_numbers(rng):
    windows, model = made_windows(rng, 5, length=6), network().eval()
    values, observed = batch_of(windows)
    decoded = model(values, observed).detach()
    for b in range(5):
        places = np.flatnonzero(observed[b].any(0))
        read = torch.stack([values[b], observed[b].float()], -1).transpose(0, 1)[places]
        embedded = model.encoder(read)[1][0]
        pooled = model.pooling(embedded[None], torch.ones(1, len(places), dtype=torch.bool))
        for embedding, place in zip(embedded, places, strict=True):
            told = torch.cat([pooled[0], model.own(embedding)])
            state = torch.tanh(model.start(told))[None]
            for step in reversed(range(6)):
                _, state = model.decoder(told[None], state)
                np.testing.assert_allclose(
                    decoded[b, step, place], model.reading(state[0]).item(), atol=ROUNDING
                )


def test_the_network_itself_knows_no_order(rng):
    model, (values, observed) = network().eval(), batch_of(made_windows(rng, 20))
    order = torch.from_numpy(rng.permutation(CMAX))
    expected = model.errors((values, observed)).detach()
    actual = model.errors((values[..., order], observed[..., order])).detach()
    np.testing.assert_allclose(actual, expected, rtol=1e-5)


def test_training_and_scoring_compute_the_same(rng):
    model, batch = network(), batch_of(made_windows(rng, 20))
    in_training = model.train().errors(batch).detach()
    np.testing.assert_array_equal(model.eval().errors(batch).detach(), in_training)
    expected = masked_errors(model(*batch), *batch).mean()
    assert model.loss(batch, 1).item() == expected.item()
    assert (in_training >= masked_errors(model(*batch), *batch)).all(), "the worst, not the mean"


def test_gradients_reach_every_weight(rng):
    model = network()
    model.loss(batch_of(made_windows(rng, 20)), 1).backward()
    assert all(parameter.grad.abs().sum() > 0 for parameter in model.parameters())


def test_half_precision_gives_a_loss_in_full(rng):
    model, batch = network(), batch_of(made_windows(rng, 20))
    with torch.autocast("cpu", torch.bfloat16):
        loss = model.loss(batch, 1)
    assert loss.dtype == torch.float32
    assert loss.item() == pytest.approx(model.loss(batch, 1).item(), rel=1e-2)
