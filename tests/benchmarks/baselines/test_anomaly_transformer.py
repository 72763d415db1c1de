import math

import torch
from tests.benchmarks.baselines import states_checks

from benchmarks.baselines.anomaly_transformer import (
    LOG_FLOOR,
    AnomalyTransformer,
    AnomalyTransformerSharp,
)

SMALL = {"hidden": 32, "heads": 2, "layers": 2}
LENGTH = states_checks.LENGTH


def test_it_learns_and_spikes_score_higher(rng):
    states_checks.check_learns_and_scores(AnomalyTransformer, rng, **SMALL)


def test_a_score_is_the_windows_own(rng):
    states_checks.check_score_is_the_windows_own(AnomalyTransformer, rng, **SMALL)


def test_training_goes_on_from_a_checkpoint(rng, tmp_path):
    states_checks.check_goes_on_from_a_checkpoint(AnomalyTransformer, rng, tmp_path, **SMALL)


def test_the_prior_is_a_gaussian_made_to_sum_to_one():
    network, _ = states_checks.network_of(AnomalyTransformer, **SMALL)
    raw = torch.randn(1, LENGTH, 2)
    prior = network.layers[0]._prior(raw)[0]
    for head in range(2):
        for i in range(LENGTH):
            share = 1 / (1 + math.exp(-5 * raw[0, i, head].item())) + 1e-5
            sigma = 3**share - 1
            row = [
                math.exp(-((i - j) ** 2) / (2 * sigma**2)) / (math.sqrt(2 * math.pi) * sigma)
                for j in range(LENGTH)
            ]
            expected = torch.tensor(row) / sum(row)
            torch.testing.assert_close(prior[head, i], expected, rtol=1e-4, atol=1e-6)


def naive_discrepancy(associations):
    """(B, L): KL both ways, the mean over heads and layers."""
    total = 0.0
    for prior, series in associations:
        log_prior, log_series = (prior + LOG_FLOOR).log(), (series + LOG_FLOOR).log()
        total = total + (prior * (log_prior - log_series)).sum(-1).mean(1)
        total = total + (series * (log_series - log_prior)).sum(-1).mean(1)
    return total / len(associations)


def test_the_score_is_the_papers():
    network, states = states_checks.network_of(AnomalyTransformer, **SMALL)
    error, associations = network(states)
    for prior, series in associations:
        torch.testing.assert_close(prior.sum(-1), torch.ones(5, 2, LENGTH))
        torch.testing.assert_close(series.sum(-1), torch.ones(5, 2, LENGTH))
    weight = torch.softmax(-naive_discrepancy(associations), dim=1)
    torch.testing.assert_close(network.errors((states,)), (weight * error).amax(1))


def test_gradients_are_those_of_two_losses_with_stops_between():
    network, states = states_checks.network_of(AnomalyTransformer, **SMALL)
    network.loss((states,), 1).backward()
    actual = [p.grad.clone() for p in network.parameters()]
    network.zero_grad()
    for sign, stopped in ((-1, 0), (1, 1)):
        error, associations = network(states)
        one_way = [
            tuple(x.detach() if k == stopped else x for k, x in enumerate(pair))
            for pair in associations
        ]
        (error.mean() + sign * 3.0 * naive_discrepancy(one_way).mean()).backward()
    for parameter, gradient in zip(network.parameters(), actual, strict=True):
        torch.testing.assert_close(gradient, parameter.grad, rtol=1e-3, atol=1e-6)


def test_the_prior_follows_and_the_series_flees():
    network, states = states_checks.network_of(AnomalyTransformer, **SMALL)
    network.loss((states,), 1).backward()
    layer = network.layers[-1]
    before = naive_discrepancy(network(states)[1]).mean().item()
    with torch.no_grad():
        layer.spread.weight -= 1e-3 * layer.spread.weight.grad
    assert naive_discrepancy(network(states)[1]).mean().item() < before


def test_the_authors_temperature_multiplies_the_sum_over_layers():
    plain, states = states_checks.network_of(AnomalyTransformer, **SMALL)
    sharp, _ = states_checks.network_of(AnomalyTransformerSharp, **SMALL)
    sharp.load_state_dict(plain.state_dict())
    error, associations = plain(states / plain.typical)
    total = torch.zeros_like(error)
    for prior, series in associations:
        for one, other in ((prior, series), (series, prior)):
            ratio = torch.log(one + LOG_FLOOR) - torch.log(other + LOG_FLOOR)
            total += 50 * (one * ratio).sum(3).mean(1)
    expected = torch.softmax(-total, dim=1) * error
    torch.testing.assert_close(sharp.step_errors(states), expected, rtol=1e-3, atol=1e-6)
    assert not torch.allclose(plain.step_errors(states), expected)
