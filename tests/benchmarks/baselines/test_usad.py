from dataclasses import replace

import pytest
import torch
from tests.benchmarks.baselines import states_checks
from tests.benchmarks.baselines.made_windows import made_windows

from benchmarks.baselines.tensor_source import TensorSource
from benchmarks.baselines.usad import Usad, UsadNetwork, UsadWorstStep

SMALL = {"hidden": 32, "latent": 16}


class Peaceful(UsadNetwork):
    """Never leaves the first epoch, in which both autoencoders only reproduce."""

    def loss(self, batch, epoch, phase=0):
        return super().loss(batch, 1, phase)


class PeacefulUsad(Usad):
    def network(self):
        n_inputs = self.window * self.sketch.width
        return Peaceful(n_inputs, self.hidden, self.latent, self.alpha, self.over_time)


def test_without_the_game_it_learns(rng):
    states_checks.check_learns_and_scores(PeacefulUsad, rng, **SMALL)


def test_spikes_score_higher(rng):
    competitor = states_checks.made(Usad, **SMALL).fit(made_windows(rng, 150))
    states_checks.check_spikes_score_higher(competitor, rng)


def test_the_second_autoencoder_wins_the_game(rng):
    training = replace(states_checks.TRAINING, epochs=12, patience=12)
    log = states_checks.made(Usad, training, **SMALL).fit(made_windows(rng, 150)).log_
    assert log.best_epoch < 6
    assert log.validation_losses[-1] > 2 * min(log.validation_losses)


def test_a_score_is_the_windows_own(rng):
    states_checks.check_score_is_the_windows_own(Usad, rng, **SMALL)


def test_training_goes_on_from_a_checkpoint(rng, tmp_path):
    states_checks.check_goes_on_from_a_checkpoint(Usad, rng, tmp_path, **SMALL)


def distances(network, states):
    """Errors of AE1(W), AE2(W) and AE2(AE1(W)), each the mean over all entries."""
    flat = states.flatten(1) / network.largest

    def reproduce(x, which):
        return network.decoders[which](network.encoder(x * network.largest / network.typical))

    first = reproduce(flat, 0)
    made = first, reproduce(flat, 1), reproduce(first, 1)
    return [(x - flat).square().mean(1) for x in made]


@pytest.mark.parametrize("epoch", [1, 4])
def test_losses_and_score_are_the_papers(epoch):
    network, states = states_checks.network_of(Usad, **SMALL)
    network.prepare(TensorSource((states,)))
    first, second, again = distances(network, states)
    n = epoch
    expected = first.mean() / n + (1 - 1 / n) * again.mean()
    torch.testing.assert_close(network.loss((states,), epoch, 0), expected)
    expected = second.mean() / n - (1 - 1 / n) * again.mean()
    torch.testing.assert_close(network.loss((states,), epoch, 1), expected)
    torch.testing.assert_close(network.errors((states,)), 0.5 * first + 0.5 * again)


def test_each_phase_trains_the_encoder_and_its_own_decoder():
    network, _ = states_checks.network_of(Usad, **SMALL)
    phases = [{id(p) for p in network.phase_parameters(phase)} for phase in (0, 1)]
    assert phases[0] & phases[1] == {id(p) for p in network.encoder.parameters()}
    assert phases[0] | phases[1] == {id(p) for p in network.parameters()}


def test_outputs_stay_within_the_scale():
    network, states = states_checks.network_of(Usad, **SMALL)
    network.prepare(TensorSource((states,)))
    assert float(network.largest) == float(states.abs().max())
    assert network.reproduce(1e3 * states.flatten(1), 1).abs().max() <= 1.0


def test_at_the_authors_pace_an_epoch_counts_for_less():
    plain, states = states_checks.network_of(Usad, **SMALL)
    paced, _ = states_checks.network_of(UsadWorstStep, **SMALL)
    paced.load_state_dict(plain.state_dict())
    for network in (plain, paced):
        network.prepare(TensorSource((states,)))
    for phase in (0, 1):
        for epoch, counted in ((1, 1), (25, 1), (26, 2), (75, 3)):
            torch.testing.assert_close(
                paced.loss((states,), epoch, phase), plain.loss((states,), counted, phase)
            )
    first, _, _ = distances(paced, states)
    torch.testing.assert_close(paced.validation_loss((states,), 3), first.mean())
    worst = paced.step_errors(states).amax(1)
    torch.testing.assert_close(paced.errors((states,)), worst)
