import pytest
import torch
from tests.smkc.paper.learn.made_images import seeded, tiny
from torch.nn import functional

from smkc.paper.learn.attention import (
    CrossBlock,
    CrossDecoder,
    SelfBlock,
    attend,
    linear_attention,
    pick,
)
from smkc.paper.learn.patches import Patches
from smkc.paper.learn.settings import BACKBONES


def small(backbone="attention"):
    return tiny(width=8, backbone=backbone)


def heads(*shape, seed=0):
    return torch.randn(shape, generator=seeded(seed))


def test_linear_attention_is_its_quadratic_form():
    queries, keys, values = (heads(2, 3, n, 4, seed=n) for n in (5, 7, 8))
    values = values[:, :, :7]
    weights = (functional.elu(queries) + 1) @ (functional.elu(keys) + 1).transpose(2, 3)
    expected = (weights / weights.sum(dim=3, keepdim=True)) @ values
    torch.testing.assert_close(linear_attention(queries, keys, values), expected)


def test_softmax_attention_is_its_plain_form():
    queries, keys, values = (heads(2, 3, 5, 4, seed=n) for n in range(3))
    weights = (queries @ keys.transpose(2, 3) / 2).softmax(dim=3)
    expected = (weights @ values).transpose(1, 2).reshape(2, 5, 12)
    torch.testing.assert_close(attend(queries, keys, values, "attention"), expected)


@pytest.mark.parametrize("backbone", BACKBONES)
def test_blocks_do_not_mind_the_order_of_tokens(backbone):
    torch.manual_seed(0)
    tokens, order = heads(2, 6, 8), torch.tensor([3, 1, 5, 0, 2, 4])
    block = SelfBlock(small(backbone))
    torch.testing.assert_close(block(tokens[:, order]), block(tokens)[:, order])
    cross = CrossBlock(small(backbone))
    queries = heads(2, 3, 8, seed=1)
    torch.testing.assert_close(cross(queries, tokens[:, order]), cross(queries, tokens))


@pytest.mark.parametrize("backbone", BACKBONES)
def test_a_guess_does_not_depend_on_what_else_is_asked(backbone):
    torch.manual_seed(0)
    patches = Patches(8, 2)
    decoder = CrossDecoder(small(backbone), 4, 2)
    memory = heads(1, 5, 8)
    together = decoder(patches, memory, torch.tensor([[1, 4, 7]]))
    alone = decoder(patches, memory, torch.tensor([[4]]))
    torch.testing.assert_close(together[:, 1:2], alone)
    assert not torch.allclose(together[:, 0], together[:, 1])
    assert not torch.allclose(decoder(patches, memory + 0.5, torch.tensor([[4]])), alone)


def test_every_query_reads_the_class_token():
    torch.manual_seed(0)
    decoder = CrossDecoder(small(), 4, 1)
    with torch.no_grad():
        for block in decoder.blocks:
            block.merge.weight.zero_()  # nothing is found by attention
        memory, asked = heads(1, 5, 8), torch.tensor([[1, 4]])
        before = decoder(Patches(8, 2), memory, asked)
        memory[:, 1:] += heads(1, 4, 8, seed=1)
        assert torch.equal(decoder(Patches(8, 2), memory, asked), before)
        memory[:, 0] += heads(1, 8, seed=2)
        moved = (decoder(Patches(8, 2), memory, asked) - before).abs().amax(dim=2)
        assert moved.min() > 1e-3


def test_picked_tokens():
    tokens = torch.arange(12.0).view(2, 3, 2)
    picked = pick(tokens, torch.tensor([[2, 0], [1, 1]]))
    assert picked.tolist() == [[[4.0, 5.0], [0.0, 1.0]], [[8.0, 9.0], [8.0, 9.0]]]
