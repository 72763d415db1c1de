import torch
from tests.benchmarks.baselines import states_checks

from benchmarks.baselines.gru_ae import GruAutoencoder, GruAutoencoderTrueStates

SMALL = {"hidden": 16}


def test_it_learns_and_spikes_score_higher(rng):
    states_checks.check_learns_and_scores(GruAutoencoder, rng, **SMALL)


def test_a_score_is_the_windows_own(rng):
    states_checks.check_score_is_the_windows_own(GruAutoencoder, rng, **SMALL)


def test_training_goes_on_from_a_checkpoint(rng, tmp_path):
    states_checks.check_goes_on_from_a_checkpoint(GruAutoencoder, rng, tmp_path, **SMALL)


def test_the_decoder_starts_at_the_last_step():
    network, states = states_checks.network_of(GruAutoencoder, **SMALL)
    _, summary = network.encoder(states)
    written, _ = network.decoder(summary[0][:, None], summary)
    torch.testing.assert_close(network(states)[:, -1:], network.write(written))


def test_all_that_reaches_the_decoder_is_one_vector():
    network, states = states_checks.network_of(GruAutoencoder, **SMALL)
    network.encoder.weight_ih_l0.data.zero_()
    made = network(states)
    torch.testing.assert_close(made, made[:1].expand_as(made))


def test_the_error_is_the_mean_square():
    network, states = states_checks.network_of(GruAutoencoder, **SMALL)
    expected = torch.stack([(network(x[None])[0] - x).square().mean(1) for x in states])
    torch.testing.assert_close(network.step_errors(states), expected)
    torch.testing.assert_close(network.errors((states,)), expected.max(1).values)
    torch.testing.assert_close(network.loss((states,), 1), expected.mean())


def test_the_other_decoder_is_fed_the_true_later_states(rng):
    states_checks.check_learns_and_scores(GruAutoencoderTrueStates, rng, **SMALL)
    network, states = states_checks.network_of(GruAutoencoderTrueStates, **SMALL)
    _, summary = network.encoder(states)
    steps = torch.cat([torch.zeros_like(states[:, :1]), states.flip(1)[:, :-1]], 1)
    hidden, expected = summary, []
    for step in range(states.shape[1]):
        written, hidden = network.decoder(steps[:, step : step + 1], hidden)
        expected.insert(0, network.write(written))
    torch.testing.assert_close(network(states), torch.cat(expected, 1))
