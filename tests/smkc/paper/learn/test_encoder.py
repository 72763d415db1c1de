import pytest
import torch
from tests.smkc.paper.learn.made_images import made_images, masked_pixels, seeded, tiny

from smkc.errors import InputError
from smkc.paper.kernel import CHANNELS
from smkc.paper.learn.encoder import Encoder
from smkc.paper.learn.masks import Masking
from smkc.paper.learn.patches import TOKEN_LAYOUTS
from smkc.paper.learn.settings import BACKBONES, LearnSettings

BF16_TOLERANCE = 0.06


def made_encoder(window=8, **settings):
    torch.manual_seed(0)
    return Encoder(tiny(**settings), window).eval()


@pytest.mark.parametrize("backbone", BACKBONES)
@pytest.mark.parametrize("tokens", TOKEN_LAYOUTS)
@pytest.mark.parametrize(("length", "patch"), [(8, 2), (32, 2), (9, 3)])
def test_shapes(backbone, tokens, length, patch):
    images, tau = made_images(length, 3)
    encoder = made_encoder(length, patch=patch, backbone=backbone, tokens=tokens)
    visible, _ = Masking().draw(encoder.patches, 3, seeded())
    with torch.no_grad():
        for seen, n_seen in ((visible, visible.shape[1]), (None, encoder.patches.n_tokens)):
            class_token, encoded = encoder(images, tau, seen)
            assert class_token.shape == (3, 16)
            assert encoded.shape == (3, n_seen, 16)
            assert bool(class_token.isfinite().all() & encoded.isfinite().all())


@pytest.mark.parametrize("backbone", BACKBONES)
@pytest.mark.parametrize("tokens", TOKEN_LAYOUTS)
@pytest.mark.parametrize("patch", [1, 2, 4])
def test_nothing_masked_gets_in(backbone, tokens, patch):
    images, tau = made_images(8, 6)
    encoder = made_encoder(backbone=backbone, tokens=tokens, patch=patch, stem_layers=3)
    visible, masked = Masking().draw(encoder.patches, 6, seeded())
    is_masked = masked_pixels(encoder.patches, masked)[:, None].expand_as(images)
    with torch.no_grad():
        expected = encoder.encode(images, tau, visible)
        for other in (7.0, torch.inf, torch.nan, torch.rand(images.shape, generator=seeded())):
            changed = torch.where(is_masked, other, images)
            assert torch.equal(encoder.encode(changed, tau, visible), expected)
        # One masked pixel alone, not its mirror image.
        changed = images.clone()
        window, row, column = is_masked[:, 0].nonzero()[0]
        changed[window, :, row, column] += 5.0
        assert torch.equal(encoder.encode(changed, tau, visible), expected)


@pytest.mark.parametrize("backbone", BACKBONES)
@pytest.mark.parametrize("tokens", TOKEN_LAYOUTS)
def test_every_visible_pixel_gets_in(backbone, tokens):
    images, tau = made_images(8, 1)
    encoder = made_encoder(backbone=backbone, tokens=tokens)
    visible, masked = Masking().draw(encoder.patches, 1, seeded())
    is_masked = masked_pixels(encoder.patches, masked)[0]
    with torch.no_grad():
        before = encoder(images, tau, visible)[0]
        for row, column in (~is_masked).nonzero().tolist():
            if row > column:
                continue
            changed = images.clone()
            changed[..., row, column] += 0.5
            changed[..., column, row] = changed[..., row, column]
            assert not torch.equal(encoder(changed, tau, visible)[0], before), (row, column)


def test_hidden_pixels_are_not_taken_for_zeros():
    encoder = made_encoder()
    images, tau = torch.zeros(1, 6, 8, 8), torch.zeros(1)
    visible = torch.tensor([[0, 2, 5]])
    with torch.no_grad():
        masked = encoder.encode(images, tau, visible)[:, encoder.n_leading :]
        whole = encoder._embedded(images, None)[:, visible[0]]
        assert not torch.allclose(encoder._embedded(images, visible), whole)
        assert masked.shape == (1, 3, 16)


@pytest.mark.parametrize("tokens", TOKEN_LAYOUTS)
def test_all_tokens_visible_is_the_whole_view(tokens):
    images, tau = made_images(8, 2)
    encoder = made_encoder(tokens=tokens)
    everything = torch.arange(encoder.patches.n_tokens).expand(2, -1)
    with torch.no_grad():
        torch.testing.assert_close(
            encoder.encode(images, tau, everything), encoder.encode(images, tau)
        )


@pytest.mark.parametrize("channels", [CHANNELS[3:], CHANNELS[:3], ("log_delta",)])
def test_any_channels(channels):
    images, tau = made_images(8, 2, channels)
    assert bool(tau.isnan().all()) == ("log_g" not in channels)
    with torch.no_grad():
        class_token, _ = made_encoder(channels=channels)(images, tau)
    assert bool(class_token.isfinite().all())


def test_the_scale_token_is_read_unless_switched_off():
    images, tau = made_images(8, 2)
    with torch.no_grad():
        encoder = made_encoder()
        assert encoder.n_leading == 2
        assert not torch.allclose(encoder(images, tau)[0], encoder(images, tau + 0.5)[0])
        without = made_encoder(scale_token=False)
        assert without.n_leading == 1
        assert torch.equal(without(images, tau)[0], without(images, tau * torch.nan)[0])


def test_lag_positions_can_be_switched_off():
    names = {name for name, _ in made_encoder().named_parameters()}
    without = {name for name, _ in made_encoder(lag_positions=False).named_parameters()}
    assert names - without == {"positions.lag"}


def test_patches_begin_about_as_large_as_positions():
    torch.manual_seed(0)
    encoder = Encoder(LearnSettings(patch=2), 32)
    images, _ = made_images(32, 4)
    with torch.no_grad():
        positions = encoder.positions(encoder.patches)
        patches = encoder._embedded(images, None) - positions
    assert 0.2 < patches.std() / positions.std() < 5


def test_the_default_is_of_modest_size():
    n_parameters = sum(p.numel() for p in Encoder(LearnSettings(), 32).parameters())
    assert 0.05e6 < n_parameters < 0.5e6


@pytest.mark.parametrize("backbone", BACKBONES)
def test_bfloat16_is_close(backbone):
    images, tau = made_images(8, 4)
    encoder = made_encoder(backbone=backbone)
    visible, _ = Masking().draw(encoder.patches, 4, seeded())
    with torch.no_grad():
        expected = encoder.encode(images, tau, visible)
        with torch.autocast("cpu", torch.bfloat16):
            mixed = encoder.encode(images, tau, visible)
        low = encoder.bfloat16().encode(images, tau, visible)
    assert low.dtype == torch.bfloat16
    assert mixed.float().sub(expected).abs().max() < BF16_TOLERANCE
    assert low.float().sub(expected).abs().max() < 2 * BF16_TOLERANCE


@pytest.mark.slow
@pytest.mark.parametrize(("backbone", "tokens"), [("attention", "triangle"), ("linear", "full")])
def test_it_compiles_to_one_graph(backbone, tokens):
    images, tau = made_images(8, 2)
    encoder = made_encoder(backbone=backbone, tokens=tokens, layers=1)
    visible, _ = Masking().draw(encoder.patches, 2, seeded())
    compiled = torch.compile(encoder, backend="eager", fullgraph=True)
    with torch.no_grad():
        for seen in (visible, None):
            torch.testing.assert_close(compiled(images, tau, seen), encoder(images, tau, seen))


def test_images_of_another_shape_are_refused():
    images, tau = made_images(8, 2)
    with pytest.raises(InputError, match=r"\(2, 3, 8, 8\), not \(2, 6, 8, 8\)"):
        made_encoder()(images[:, :3], tau)
