import pytest
import torch
from tests.smkc.paper.learn.made_images import seeded
from torch.nn import functional

from smkc.errors import SettingError
from smkc.paper.learn.attention import (
    BACKBONES,
    CrossBlock,
    CrossDecoder,
    SelfBlock,
    attend,
    linear_attention,
    pick,
)
from smkc.paper.learn.patches import Patches


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
    block = SelfBlock(8, 2, 2, backbone)
    torch.testing.assert_close(block(tokens[:, order]), block(tokens)[:, order])
    cross = CrossBlock(8, 2, 2, backbone)
    queries = heads(2, 3, 8, seed=1)
    torch.testing.assert_close(cross(queries, tokens[:, order]), cross(queries, tokens))


@pytest.mark.parametrize("backbone", BACKBONES)
def test_a_guess_does_not_depend_on_what_else_is_asked(backbone):
    torch.manual_seed(0)
    patches = Patches(8, 2)
    decoder = CrossDecoder(4, 2, 8, 2, 2, backbone, True)
    memory = heads(1, 5, 8)
    together = decoder(patches, memory, torch.tensor([[1, 4, 7]]))
    alone = decoder(patches, memory, torch.tensor([[4]]))
    torch.testing.assert_close(together[:, 1:2], alone)
    assert not torch.allclose(together[:, 0], together[:, 1])
    assert not torch.allclose(decoder(patches, memory + 0.5, torch.tensor([[4]])), alone)


def test_the_class_token_speaks_to_every_query():
    torch.manual_seed(0)
    decoder = CrossDecoder(4, 1, 8, 2, 2, "attention", True)
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


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ((10, 3, 2, "linear"), "width=10 is not a multiple of heads=3"),
        ((8, 2, 0, "linear"), "expansion=0"),
        ((8, 2, 2, "quadratic"), "backbone='quadratic'"),
    ],
)
@pytest.mark.parametrize("block", [SelfBlock, CrossBlock])
def test_blocks_that_cannot_be(block, settings, message):
    with pytest.raises(SettingError, match=message):
        block(*settings)


def test_a_decoder_has_layers():
    with pytest.raises(SettingError, match="0 layers"):
        CrossDecoder(4, 0, 8, 2, 2, "attention", True)
