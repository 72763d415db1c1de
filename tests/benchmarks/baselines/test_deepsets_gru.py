import numpy as np
import torch
from tests.benchmarks.baselines.made_windows import made_windows

from benchmarks.baselines.deepsets_gru import DeepSetsGru, MeanPooling
from smkc.paper.learn.training import Training


def test_pooling_is_a_function_of_a_mean():
    torch.manual_seed(0)
    pooling = MeanPooling(4, 3)
    embeddings = torch.randn(2, 5, 4)
    is_variable = torch.tensor(
        [[True, False, True, True, False], [False, True, False, False, False]]
    )
    expected = torch.stack(
        [
            pooling.rho((pooling.phi(row[mask])).mean(0))
            for row, mask in zip(embeddings, is_variable, strict=True)
        ]
    )
    torch.testing.assert_close(pooling(embeddings, is_variable), expected)
    embeddings[~is_variable] = 1e3
    torch.testing.assert_close(pooling(embeddings, is_variable), expected)


def test_a_set_twice_over_is_pooled_alike():
    torch.manual_seed(0)
    pooling, embeddings = MeanPooling(4, 3), torch.randn(1, 3, 4)
    once = pooling(embeddings, torch.ones(1, 3, dtype=torch.bool))
    twice = pooling(embeddings.repeat(1, 2, 1), torch.ones(1, 6, dtype=torch.bool))
    torch.testing.assert_close(twice, once)


def test_spikes_score_higher(rng):
    training = Training(epochs=3, batch_size=16, learning_rate=1e-2)
    competitor = DeepSetsGru(window=8, training=training).fit(made_windows(rng, 120))
    windows = made_windows(rng, 40, n_anomalous=10)
    scores = competitor.score(windows)
    assert scores.dtype == np.float64
    assert scores[windows.is_anomalous].min() > np.median(scores[~windows.is_anomalous])
    assert np.median(scores[windows.is_anomalous]) > scores[~windows.is_anomalous].max()
    assert competitor.log_.train_losses[-1] < competitor.log_.train_losses[0]
