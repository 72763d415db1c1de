import pytest
import torch
from tests.benchmarks.baselines import states_checks

from benchmarks.baselines.tensor_source import TensorSource
from benchmarks.baselines.tranad import TranAD

SMALL = {"hidden": 32, "heads": 2}


def test_it_learns_and_spikes_score_higher(rng):
    states_checks.check_learns_and_scores(TranAD, rng, **SMALL)


def test_a_score_is_the_windows_own(rng):
    states_checks.check_score_is_the_windows_own(TranAD, rng, **SMALL)


def test_training_goes_on_from_a_checkpoint(rng, tmp_path):
    states_checks.check_goes_on_from_a_checkpoint(TranAD, rng, tmp_path, **SMALL)


@pytest.mark.parametrize("epoch", [1, 10])
def test_losses_and_score_are_the_papers(epoch):
    network, states = states_checks.network_of(TranAD, epsilon=1.2, **SMALL)
    network.prepare(TensorSource((states,)))
    window = states / states.abs().max()
    first, second, again = [(x - window).square().sum(2) for x in network(window)]
    plain = 1.2**-epoch
    expected = (plain * first + (1 - plain) * again).mean()
    torch.testing.assert_close(network.loss((states,), epoch, 0), expected)
    expected = (plain * second - (1 - plain) * again).mean()
    torch.testing.assert_close(network.loss((states,), epoch, 1), expected)
    torch.testing.assert_close(network.step_errors(states), 0.5 * first + 0.5 * again)


def test_the_second_reading_sees_the_first_ones_errors():
    network, states = states_checks.network_of(TranAD, **SMALL)
    _, unfocused, focused = network(states)
    assert not torch.allclose(unfocused, focused)
    network.embed_focus.weight.data.zero_()
    _, unfocused, focused = network(states)
    torch.testing.assert_close(unfocused, focused)


def test_a_window_reads_no_later_step_of_its_own():
    network, states = states_checks.network_of(TranAD, **SMALL)
    later = states.clone()
    later[:, 5:] += 3.0
    embedded, changed = network.embed(states), network.embed(later)
    context = torch.zeros_like(embedded)
    network.context_encoder.forward = lambda x: context
    torch.testing.assert_close(network.encode(embedded)[:, :5], network.encode(changed)[:, :5])
    assert not torch.allclose(network.encode(embedded)[:, 5:], network.encode(changed)[:, 5:])


def test_each_phase_leaves_the_other_decoder_alone():
    network, _ = states_checks.network_of(TranAD, **SMALL)
    everything = {id(p) for p in network.parameters()}
    for phase in (0, 1):
        chosen = {id(p) for p in network.phase_parameters(phase)}
        assert everything - chosen == {id(p) for p in network.decoders[1 - phase].parameters()}
