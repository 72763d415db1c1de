import pytest
import torch
from tests.smkc.paper.learn.made_images import masked_pixels, seeded

from smkc.errors import SettingError
from smkc.paper.learn.masks import IMAGES_PER_PASS, PATTERNS, Masking, under_each
from smkc.paper.learn.patches import TOKEN_LAYOUTS, Patches


def grids(patches, masked):
    """(B, N, N) bool: masked patches."""
    step = patches.patch
    return masked_pixels(patches, masked)[:, ::step, ::step]


@pytest.mark.parametrize("tokens", TOKEN_LAYOUTS)
@pytest.mark.parametrize("length", [4, 6, 8, 32])
@pytest.mark.parametrize("ratio", [0.05, 0.6, 0.97])
def test_every_window_has_the_same_number_of_masked_tokens(tokens, length, ratio):
    patches, masking = Patches(length, 2, tokens), Masking(ratio=ratio)
    visible, masked = masking.draw(patches, 40, seeded())
    n_masked = masking.n_masked(patches)
    assert masked.shape == (40, n_masked)
    assert 0 < n_masked < patches.n_tokens
    assert abs(n_masked - ratio * patches.n_tokens) <= 2
    together = torch.cat([visible, masked], dim=1).sort(dim=1).values
    assert torch.equal(together, torch.arange(patches.n_tokens).expand(40, -1))


@pytest.mark.parametrize("pattern", PATTERNS)
@pytest.mark.parametrize("side", [3, 4])
def test_masks_of_all_tokens_are_symmetric(pattern, side):
    patches = Patches(2 * side, 2, "full")
    _, masked = Masking(patterns=(pattern,)).draw(patches, 60, seeded())
    is_masked = torch.zeros(60, side * side, dtype=torch.bool).scatter(1, masked, True)
    is_masked = is_masked.view(60, side, side)
    assert torch.equal(is_masked, is_masked.transpose(1, 2))


def whole_rows(grid):
    return int(grid.all(dim=1).sum())


def whole_lags(grid):
    return sum(bool(grid.diagonal(lag).all()) for lag in range(len(grid) // 2))


def whole_squares(grid, size=4):
    """How many size x size squares of patches off the diagonal are masked."""
    squares = grid.unfold(0, size, 1).unfold(1, size, 1).flatten(2).all(dim=2)
    return int(squares.triu(size).sum())


def shares(pattern, trait, n=100):
    """How often masks of a pattern have a trait."""
    patches = Patches(32, 2, "triangle")
    _, masked = Masking(patterns=(pattern,)).draw(patches, n, seeded(1))
    return sum(trait(grid) for grid in grids(patches, masked)) / n


def test_each_pattern_looks_as_it_is_called():
    def rows(grid):
        return whole_rows(grid) >= 2

    def bands(grid):
        return whole_lags(grid) >= 2

    def blocks(grid):
        return whole_squares(grid) >= 3 and not rows(grid)

    assert shares("rows", rows) == 1.0
    assert shares("bands", bands) > 0.6  # others lie farther from the diagonal
    assert shares("blocks", blocks) > 0.6
    for trait in (rows, bands, blocks):
        assert shares("random", trait) < 0.05
    assert shares("bands", rows) < 0.05
    assert shares("rows", bands) < 0.3


def test_bands_and_rows_lie_everywhere():
    patches = Patches(32, 2, "triangle")
    _, masked = Masking(patterns=("bands",)).draw(patches, 300, seeded())
    often = torch.bincount(patches.lags[masked].flatten(), minlength=16)
    often = often / (16 - torch.arange(16)) / 300
    assert often.min() > 0.3
    assert often.max() < 0.9
    _, masked = Masking(patterns=("rows",)).draw(patches, 300, seeded())
    often = grids(patches, masked).float().mean(dim=(0, 1))
    assert often.min() > 0.45
    assert often.max() < 0.8


def test_patterns_are_equally_frequent():
    kinds = Masking()._kinds(torch.rand(4000, generator=seeded()))
    often = torch.bincount(kinds, minlength=4) / 4000
    torch.testing.assert_close(often, torch.full((4,), 0.25), atol=0.03, rtol=0)
    alike = torch.bincount(Masking()._kinds((torch.arange(8) + 0.5) / 8))
    assert alike.tolist() == [2, 2, 2, 2]
    only = Masking(patterns=("blocks", "bands"))._kinds(torch.tensor([0.1, 0.9]))
    assert only.tolist() == [PATTERNS.index("blocks"), PATTERNS.index("bands")]


def test_a_mixture_draws_structured_and_random_masks():
    patches = Patches(32, 2, "triangle")
    _, masked = Masking().draw(patches, 200, seeded())
    drawn = grids(patches, masked)
    with_rows = sum(whole_rows(grid) >= 3 for grid in drawn)
    with_bands = sum(whole_lags(grid) >= 3 for grid in drawn)
    plain = sum(whole_rows(grid) + whole_lags(grid) + whole_squares(grid) == 0 for grid in drawn)
    assert 30 < with_rows < 70
    assert 20 < with_bands < 70
    assert 30 < plain < 120


@pytest.mark.parametrize("tokens", TOKEN_LAYOUTS)
def test_masks_follow_the_seed(tokens):
    patches = Patches(16, 2, tokens)
    once, again, other = (Masking().draw(patches, 9, seeded(seed))[1] for seed in (5, 5, 6))
    assert torch.equal(once, again)
    assert not torch.equal(once, other)
    assert len(torch.unique(once, dim=0)) > 1
    fixed, same = (Masking().fixed(patches, 4)[1] for _ in range(2))
    assert torch.equal(fixed, same)


@pytest.mark.parametrize("tokens", TOKEN_LAYOUTS)
@pytest.mark.parametrize("patterns", [PATTERNS, ("random",), ("rows",), ("blocks", "bands")])
@pytest.mark.parametrize("n_masks", [1, 5, 8])
def test_fixed_masks_cover_patches_evenly(tokens, patterns, n_masks):
    patches, masking = Patches(32, 2, tokens), Masking(patterns=patterns)
    visible, masked = masking.fixed(patches, n_masks)
    assert visible.shape == (n_masks, patches.n_tokens - masking.n_masked(patches))
    assert masked.shape == (n_masks, masking.n_masked(patches))
    covered = torch.bincount(masked.flatten(), minlength=patches.n_tokens)
    assert covered.max() - covered.min() <= (1 if "random" in patterns else 2)
    assert torch.equal(covered, covered[patches.mirror])


def test_fixed_masks_keep_their_shapes():
    patches = Patches(32, 2, "triangle")
    drawn = grids(patches, Masking(patterns=("rows",)).fixed(patches, 6)[1])
    assert min(whole_rows(grid) for grid in drawn) >= 2


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"ratio": 0.0}, "ratio=0.0"),
        ({"ratio": float("nan")}, "ratio=nan"),
        ({"patterns": ()}, "name one or more"),
        ({"patterns": ("stripes",)}, "stripes"),
    ],
)
def test_settings_that_make_no_sense(settings, message):
    with pytest.raises(SettingError, match=message):
        Masking(**settings)


@pytest.mark.parametrize("n_windows", [1, 3, IMAGES_PER_PASS])
def test_windows_under_each_mask(n_windows):
    values = torch.rand(n_windows, 5, generator=seeded())
    visible, masked = torch.tensor([[0, 1], [2, 4], [1, 3]]), torch.tensor([[2], [0], [4]])

    def function(values, visible, masked):
        return values.gather(1, visible).sum(1) - 10 * values.gather(1, masked)[:, 0]

    actual = under_each(function, (values,), visible, masked)
    for mask in range(3):
        expected = values[:, visible[mask]].sum(1) - 10 * values[:, masked[mask, 0]]
        assert torch.equal(actual[:, mask], expected)
