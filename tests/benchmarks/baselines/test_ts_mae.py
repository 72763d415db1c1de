import pytest
import torch
from tests.benchmarks.baselines import states_checks

from benchmarks.baselines.ts_mae import PARTINGS, PARTS, MaskedAutoencoder

SMALL = {"hidden": 16, "layers": 1, "decoder_hidden": 16, "heads": 2}


def test_it_learns_and_spikes_score_higher(rng):
    states_checks.check_learns_and_scores(MaskedAutoencoder, rng, **SMALL)


def test_a_score_is_the_windows_own(rng):
    states_checks.check_score_is_the_windows_own(MaskedAutoencoder, rng, **SMALL)


def test_training_goes_on_from_a_checkpoint(rng, tmp_path):
    states_checks.check_goes_on_from_a_checkpoint(MaskedAutoencoder, rng, tmp_path, **SMALL)


def test_hidden_steps_reach_no_guess():
    network, states = states_checks.network_of(MaskedAutoencoder, **SMALL)
    seen = torch.tensor([[1, 6]]).expand(5, -1)
    changed = states.clone()
    changed[:, [0, 2, 3, 4, 5, 7]] += 100.0
    expected = network.guess(network.encode(states, seen), seen)
    torch.testing.assert_close(network.guess(network.encode(changed, seen), seen), expected)
    changed[:, 6] += 1.0
    assert not torch.allclose(network.guess(network.encode(changed, seen), seen), expected)


def test_the_order_in_which_steps_are_seen_does_not_matter():
    network, states = states_checks.network_of(MaskedAutoencoder, **SMALL)
    error, is_hidden = network(states, torch.tensor([[1, 6]]).expand(5, -1))
    other, still_hidden = network(states, torch.tensor([[6, 1]]).expand(5, -1))
    torch.testing.assert_close(error, other)
    assert torch.equal(is_hidden, still_hidden)
    assert is_hidden[0].tolist() == [True, False, True, True, True, True, False, True]


def test_the_loss_is_over_hidden_steps_alone():
    network, states = states_checks.network_of(MaskedAutoencoder, **SMALL)
    torch.manual_seed(3)
    actual = network.loss((states,), 1)
    torch.manual_seed(3)
    seen = torch.rand(5, 8).argsort(1)[:, :2]
    error, is_hidden = network(states, seen)
    torch.testing.assert_close(actual, error[is_hidden].mean())


@pytest.mark.parametrize("length", [8, 10, 3, 2])
def test_every_step_is_hidden_equally_often(length):
    network = MaskedAutoencoder(window=length, sketch=states_checks.SKETCH, **SMALL).network()
    seen_at, times_hidden = [], torch.zeros(length)

    def counted(states, seen):
        is_hidden = torch.ones(states.shape[:2], dtype=torch.bool).scatter(1, seen, False)
        seen_at.append(seen)
        times_hidden.add_(is_hidden[0])
        return torch.ones(states.shape[:2]), is_hidden

    network.forward = counted
    errors = network.step_errors(torch.zeros(3, length, 32))
    n_parts = min(PARTS, length)
    assert len(seen_at) == PARTINGS * n_parts
    assert times_hidden.tolist() == [PARTINGS * (n_parts - 1)] * length
    torch.testing.assert_close(errors, torch.ones(3, length))
