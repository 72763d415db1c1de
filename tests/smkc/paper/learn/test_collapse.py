import math

import pytest
import torch
from tests.smkc.paper.learn.made_images import made_images, seeded, tiny

from smkc.errors import SmkcError
from smkc.paper.learn.collapse import check_collapse, effective_rank
from smkc.paper.learn.prediction import Prediction


def spread_out(n_windows=200, width=16, n_directions=16):
    drawn = torch.randn(n_windows, n_directions, generator=seeded())
    return drawn @ torch.randn(n_directions, width, generator=seeded(1))


def test_rank_of_known_singular_values():
    # Columns 3, 3, 4, 4 and their negatives: centred, with singular values in these proportions.
    half = torch.diag(torch.tensor([3.0, 3.0, 4.0, 4.0]))
    shares = [3 / 14, 3 / 14, 4 / 14, 4 / 14]
    expected = math.exp(-sum(share * math.log(share) for share in shares))
    assert effective_rank(torch.cat([half, -half])) == pytest.approx(expected)


def test_what_all_share_does_not_count():
    vectors = spread_out()
    assert effective_rank(vectors + 100.0) == pytest.approx(effective_rank(vectors), rel=1e-4)
    assert effective_rank(1e-8 * vectors) == pytest.approx(effective_rank(vectors), rel=1e-4)


def test_rank_grows_with_directions():
    ranks = [effective_rank(spread_out(n_directions=n)) for n in (1, 2, 8)]
    assert ranks[0] == pytest.approx(1.0, rel=1e-4)
    assert ranks == sorted(ranks)
    assert 1.5 < ranks[1] <= 2.0
    assert 5 < ranks[2] <= 8


@pytest.mark.parametrize(
    "embeddings",
    [
        torch.ones(50, 64),
        torch.zeros(50, 64),
        torch.ones(50, 64) + 1e-7 * torch.randn(50, 64, generator=seeded()),
        spread_out(500, 128, 1),
        spread_out(50, 8, 1),
    ],
    ids=["all alike", "all zero", "alike up to rounding", "one direction", "one of few"],
)
def test_collapse_is_noticed(embeddings):
    with pytest.raises(SmkcError, match=r"has collapsed.*lower the learning rate"):
        check_collapse(embeddings)


def test_a_sound_representation_passes():
    check_collapse(spread_out())


def test_a_network_is_sound_until_its_class_token_ignores_the_window():
    images, tau = made_images(8, 32)
    torch.manual_seed(0)
    network = Prediction(tiny(), 8)
    check_collapse(network.embeddings((images, tau)))
    with torch.no_grad():
        for block in network.teacher.blocks:
            block.merge.weight.zero_()
    with pytest.raises(SmkcError, match="has collapsed"):
        check_collapse(network.embeddings((images, tau)))
