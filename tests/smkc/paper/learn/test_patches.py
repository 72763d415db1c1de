import pytest
import torch
from tests.smkc.paper.learn.made_images import made_images, masked_pixels, seeded

from smkc.errors import SettingError
from smkc.paper.learn.masks import Masking
from smkc.paper.learn.patches import TOKEN_LAYOUTS, Patches, Positions


@pytest.mark.parametrize("tokens", TOKEN_LAYOUTS)
@pytest.mark.parametrize(("length", "patch"), [(8, 2), (8, 4), (12, 3), (10, 1), (32, 2)])
def test_each_token_is_the_patch_at_its_row_and_column(tokens, length, patch):
    images = torch.rand(2, 3, length, length)
    patches = Patches(length, patch, tokens)
    cut = patches.cut(images).view(2, patches.n_tokens, 3, patch, patch)
    for token in range(patches.n_tokens):
        i, j = int(patches.rows[token]), int(patches.columns[token])
        rows, columns = (slice(patch * at, patch * (at + 1)) for at in (i, j))
        expected = images[:, :, rows, columns]
        assert torch.equal(cut[:, token], expected)
        assert int(patches.lags[token]) == abs(i - j)
        pair = patches.pairs[token]
        assert [int(patches.pair_rows[pair]), int(patches.pair_columns[pair])] == sorted([i, j])


def test_tokens_of_the_two_layouts():
    triangle, full = Patches(8, 2, "triangle"), Patches(8, 2, "full")
    assert (triangle.n_tokens, full.n_tokens) == (10, 16)
    assert bool((triangle.rows <= triangle.columns).all())
    assert triangle.mirror.tolist() == list(range(10))
    assert torch.equal(full.rows[full.mirror], full.columns)
    assert torch.equal(full.columns[full.mirror], full.rows)
    for patches in (triangle, full):
        assert torch.equal(patches.tokens_per_pair, torch.bincount(patches.pairs))


@pytest.mark.parametrize("tokens", TOKEN_LAYOUTS)
def test_mirrored_patches_are_those_at_the_other_side(tokens):
    images, _ = made_images(8, 2)
    cut = Patches(8, 2, "full").cut(images)
    full, patches = Patches(8, 2, "full"), Patches(8, 2, tokens)
    torch.testing.assert_close(patches.mirrored(cut), cut[:, full.mirror], rtol=0, atol=0)


@pytest.mark.parametrize("tokens", TOKEN_LAYOUTS)
def test_seen_pixels_are_those_of_no_masked_patch(tokens):
    patches = Patches(12, 2, tokens)
    visible, masked = Masking().draw(patches, 4, seeded())
    expected = ~masked_pixels(patches, masked)
    assert torch.equal(patches.is_seen(visible)[:, 0], expected)


def test_a_patch_whose_mirror_image_is_hidden_is_not_seen():
    patches = Patches(4, 2, "full")
    seen = patches.is_seen(torch.tensor([[0, 1, 3]]))[0, 0]
    assert bool(seen[0, 0])
    assert bool(seen[3, 3])
    assert not bool(seen[0, 3])
    assert not bool(seen[3, 0])


@pytest.mark.parametrize(("window", "patch"), [(9, 2), (2, 2), (8, 0), (0, 2)])
def test_windows_that_cannot_be_cut_are_refused(window, patch):
    with pytest.raises(SettingError, match=f"window={window} cannot be cut into patches"):
        Patches(window, patch)


def test_positions_add_row_column_and_lag():
    torch.manual_seed(0)
    patches, positions = Patches(8, 2, "full"), Positions(4, 6)
    where = positions(patches)
    for token in range(16):
        i, j = divmod(token, 4)
        expected = positions.row[i] + positions.column[j] + positions.lag[abs(i - j)]
        torch.testing.assert_close(where[token], expected)
    assert torch.cdist(where, where).fill_diagonal_(1.0).min() > 1e-2


def test_positions_without_lag():
    positions = Positions(4, 6, lag_positions=False)
    assert sorted(dict(positions.named_parameters())) == ["column", "row"]
