import numpy as np
import torch
from tests.benchmarks.baselines.made_windows import made_windows
from torch import nn

from benchmarks.baselines.set_transformer_gru import (
    N_HEADS,
    AttentionBlock,
    AttentionPooling,
    SetTransformerGru,
)
from smkc.paper.learn.training import Training

HIDDEN = 2 * N_HEADS


def some_places(n_places=5):
    is_variable = torch.rand(6, n_places) > 0.4
    is_variable[:, 2] = True
    return is_variable


def test_a_block_is_attention_as_torch_has_it():
    torch.manual_seed(0)
    block, queries, keys = (
        AttentionBlock(HIDDEN),
        torch.randn(6, 3, HIDDEN),
        torch.randn(6, 5, HIDDEN),
    )
    is_key = some_places()
    attention = nn.MultiheadAttention(HIDDEN, N_HEADS, batch_first=True)
    parts = block.query, block.key, block.value
    attention.in_proj_weight.data = torch.cat([part.weight for part in parts]).detach()
    attention.in_proj_bias.data = torch.cat([part.bias for part in parts]).detach()
    attention.out_proj = block.joined
    found, _ = attention(queries, keys, keys, key_padding_mask=~is_key)
    heard = block.after_attention(queries + found)
    expected = block.after_rows(heard + block.row_wise(heard))
    torch.testing.assert_close(block(queries, keys, is_key), expected)


def test_pooling_sees_variables_and_not_their_order():
    torch.manual_seed(0)
    pooling, embeddings, is_variable = (
        AttentionPooling(HIDDEN, 3),
        torch.randn(6, 5, HIDDEN),
        some_places(),
    )
    expected = pooling(embeddings, is_variable)
    assert expected.shape == (6, 3)
    order = torch.tensor([3, 0, 4, 2, 1])
    torch.testing.assert_close(pooling(embeddings[:, order], is_variable[:, order]), expected)
    other = torch.where(is_variable[..., None], embeddings, torch.tensor(1e3))
    torch.testing.assert_close(pooling(other, is_variable), expected)
    other = embeddings.clone()
    other[:, 2] += 1
    assert not torch.isclose(pooling(other, is_variable), expected).all(1).any()


def test_variables_attend_to_each_other():
    torch.manual_seed(0)
    block, embeddings = AttentionBlock(HIDDEN), torch.randn(1, 3, HIDDEN)
    every = torch.ones(1, 3, dtype=torch.bool)
    expected = block(embeddings, embeddings, every)
    embeddings[:, 2] += 1
    actual = block(embeddings, embeddings, every)
    assert not torch.isclose(actual, expected).all(-1).any()


def test_spikes_score_higher(rng):
    training = Training(epochs=3, batch_size=16, learning_rate=3e-3)
    competitor = SetTransformerGru(window=8, training=training).fit(made_windows(rng, 120))
    windows = made_windows(rng, 40, n_anomalous=10)
    scores = competitor.score(windows)
    assert np.median(scores[windows.is_anomalous]) > scores[~windows.is_anomalous].max()
    assert competitor.log_.train_losses[-1] < competitor.log_.train_losses[0]
