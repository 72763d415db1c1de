import pytest
import torch
from tests.smkc.paper.learn.made_images import made_images, masked_pixels, seeded, tiny
from torch.nn import functional

from benchmarks.baselines.tensor_source import TensorSource
from smkc.paper.kernel import CHANNELS
from smkc.paper.learn import reconstruction
from smkc.paper.learn.patches import TOKEN_LAYOUTS
from smkc.paper.learn.reconstruction import Reconstruction
from smkc.paper.learn.settings import BACKBONES


def made_network(window=8, **settings):
    torch.manual_seed(0)
    return Reconstruction(tiny(**({"expects_errors": False} | settings)), window)


def drawn(network, n_windows, generator=None):
    generator = generator or seeded()
    return network.settings.masking.draw(network.encoder.patches, n_windows, generator)


def loss(network, images, tau, generator):
    return network(images, tau, *drawn(network, len(images), generator))


@pytest.fixture
def without_penalties(monkeypatch):
    monkeypatch.setattr(reconstruction, "ASYMMETRY_WEIGHT", 0.0)
    monkeypatch.setattr(reconstruction, "DIAGONAL_WEIGHT", 0.0)


@pytest.mark.parametrize(
    ("backbone", "tokens"),
    [
        ("attention", "triangle"),
        pytest.param("linear", "triangle", marks=pytest.mark.slow),
        pytest.param("attention", "full", marks=pytest.mark.slow),
        pytest.param("linear", "full", marks=pytest.mark.slow),
    ],
)
def test_training_lowers_the_loss(backbone, tokens):
    images, tau = made_images(8, 32)
    network = made_network(backbone=backbone, tokens=tokens)
    optimizer = torch.optim.AdamW(network.parameters(), lr=3e-3)
    with torch.no_grad():
        before = loss(network, images, tau, seeded(1))
    generator = seeded(2)
    for _ in range(30):
        optimizer.zero_grad()
        loss(network, images, tau, generator).backward()
        optimizer.step()
    with torch.no_grad():
        assert loss(network, images, tau, seeded(1)) < 0.5 * before


@pytest.mark.parametrize("backbone", BACKBONES)
@pytest.mark.parametrize("tokens", TOKEN_LAYOUTS)
def test_gradients_reach_all_parameters(backbone, tokens):
    images, tau = made_images(8, 6)
    network = made_network(backbone=backbone, tokens=tokens)
    loss(network, images, tau, seeded()).backward()
    for name, parameter in network.named_parameters():
        assert parameter.grad is not None, name
        assert bool((parameter.grad != 0).any()), name


@pytest.mark.parametrize("length", [8, 32])
@pytest.mark.parametrize("channels", [CHANNELS, CHANNELS[3:], ("cos_delta", "log_g")])
def test_guesses_are_in_the_range_of_their_channel(length, channels):
    images, tau = made_images(length, 3, channels)
    network = made_network(length, channels=channels)
    with torch.no_grad():
        network.write.weight.mul_(100)
        visible, masked = drawn(network, 3)
        guessed = network._guess(images, tau, visible, masked)[0]
    assert guessed.shape == (3, masked.shape[1], len(channels) * 4)
    guessed = guessed.unflatten(2, (len(channels), -1))
    assert guessed.min() >= 0
    for place, channel in enumerate(channels):
        assert (guessed[:, :, place].max() <= 1) == channel.startswith("cos")


@pytest.mark.usefixtures("without_penalties")
def test_the_error_is_over_masked_pixels_alone():
    images, tau = made_images(8, 4)
    network = made_network()
    visible, masked = drawn(network, 4)
    with torch.no_grad():
        guessed = network._guess(images, tau, visible, masked)[0]
        wanted = network.encoder.patches.cut(images)
        wanted = torch.stack([wanted[b, masked[b]] for b in range(4)])
        expected = functional.smooth_l1_loss(guessed, wanted)
        torch.testing.assert_close(network(images, tau, visible, masked), expected)


@pytest.mark.parametrize("tokens", TOKEN_LAYOUTS)
def test_guesses_do_not_know_what_they_guess(tokens):
    images, tau = made_images(8, 4)
    network = made_network(tokens=tokens)
    visible, masked = drawn(network, 4)
    is_masked = masked_pixels(network.encoder.patches, masked)[:, None]
    with torch.no_grad():
        expected = network._guess(images, tau, visible, masked)[0]
        changed = torch.where(is_masked, images + 3.0, images)
        assert torch.equal(network._guess(changed, tau, visible, masked)[0], expected)
        assert network(changed, tau, visible, masked) > network(images, tau, visible, masked)


@pytest.mark.parametrize("tokens", TOKEN_LAYOUTS)
def test_true_images_carry_no_penalty_and_broken_ones_do(tokens):
    images, _ = made_images(8, 4)
    network = made_network(tokens=tokens)
    patches = network.encoder.patches
    _, masked = drawn(network, 4)
    on_diagonal = patches.lags[masked] == 0
    assert bool(on_diagonal.any())

    def penalties(images):
        guessed = torch.stack([patches.cut(images)[b, masked[b]] for b in range(4)])
        return network._asymmetry(guessed, masked), network._off_diagonal(guessed, masked)

    assert [float(penalty) for penalty in penalties(images)] == pytest.approx([0, 0], abs=1e-10)
    broken = images.clone()
    broken[:, :, range(8), range(8)] += 0.5
    asymmetry, diagonal = penalties(broken)
    assert float(asymmetry) == pytest.approx(0, abs=1e-10)
    assert float(diagonal) == pytest.approx(0.25)
    broken = images + torch.ones(8, 8).triu(1)
    asymmetry, diagonal = penalties(broken)
    assert float(diagonal) == pytest.approx(0, abs=1e-10)
    # Inside patches of two steps, two of four pixels; all pixels of patches off the diagonal.
    everywhere = torch.where(on_diagonal, 0.5, 1.0).mean()
    expected = 0.5 if tokens == "triangle" else float(everywhere)
    assert float(asymmetry) == pytest.approx(expected)


def test_penalties_are_part_of_the_loss_by_weight():
    images, tau = made_images(8, 4)
    network = made_network()
    visible, masked = drawn(network, 4)
    with torch.no_grad():
        guessed = network._guess(images, tau, visible, masked)[0]
        more = 0.1 * network._asymmetry(guessed, masked)
        more += 0.1 * network._off_diagonal(guessed, masked)
        assert more > 0
        expected = network._errors(images, guessed, masked).mean() + more
        torch.testing.assert_close(network(images, tau, visible, masked), expected)


def test_balanced_channels_count_alike():
    images, _ = made_images(8, 16)
    network = made_network()
    assert network.spread.tolist() == [1.0] * 6
    network.prepare(TensorSource((images,)))
    torch.testing.assert_close(network.spread, images.transpose(0, 1).flatten(1).std(dim=1))
    masked = torch.tensor([[3]]).expand(16, -1)
    wanted = network.encoder.patches.cut(images)[:, 3:4]
    shifted = wanted + network.spread.repeat_interleave(4)
    errors = network._errors(images, shifted, masked)
    torch.testing.assert_close(errors, torch.full_like(errors, 0.5))
    network.prepare(TensorSource((torch.zeros(2, 6, 8, 8),)))
    assert network.spread.min() > 0
    assert "spread" in network.state_dict()


def test_embeddings_have_length_one():
    images, tau = made_images(8, 5)
    embedded = made_network().embeddings((images, tau))
    assert embedded.shape == (5, 16)
    assert not embedded.requires_grad
    torch.testing.assert_close(embedded.norm(dim=1), torch.ones(5))


@pytest.mark.usefixtures("without_penalties")
def test_surprise_is_the_masked_error_under_each_mask():
    images, tau = made_images(8, 5)
    network = made_network(n_masks=3)
    visible, masked = network.visible, network.masked
    actual = network.surprise_by_patch(images, tau).mean((2, 3))
    assert actual.shape == (5, 3)
    assert not actual.requires_grad
    with torch.no_grad():
        for window in range(5):
            for mask in range(3):
                expected = network(
                    images[window : window + 1],
                    tau[window : window + 1],
                    visible[mask : mask + 1],
                    masked[mask : mask + 1],
                )
                torch.testing.assert_close(actual[window, mask], expected)


def test_the_same_seeds_give_the_same_bits():
    images, tau = made_images(8, 5)
    once, again, other = (
        loss(made_network(), images, tau, seeded(seed)).item() for seed in (4, 4, 5)
    )
    assert once == again != other


@pytest.mark.parametrize("backbone", BACKBONES)
def test_bfloat16_is_close(backbone):
    images, tau = made_images(8, 5)
    network = made_network(backbone=backbone)
    expected = loss(network, images, tau, seeded())
    with torch.autocast("cpu", torch.bfloat16):
        actual = loss(network, images, tau, seeded())
    actual.backward()
    assert actual.dtype == torch.float32
    torch.testing.assert_close(actual, expected, rtol=0.02, atol=0)


@pytest.mark.slow
@pytest.mark.parametrize("tokens", TOKEN_LAYOUTS)
def test_it_compiles_to_one_graph(tokens):
    images, tau = made_images(8, 2)
    network = made_network(tokens=tokens, layers=1, decoder_layers=1)
    visible, masked = drawn(network, 2)
    expected = network(images, tau, visible, masked)
    compiled = torch.compile(network, backend="eager", fullgraph=True)
    actual = compiled(images, tau, visible, masked)
    actual.backward()
    torch.testing.assert_close(actual, expected)


@pytest.mark.slow
@pytest.mark.usefixtures("without_penalties")
def test_expected_errors_are_learned_where_errors_are_large():
    images, tau = made_images(8, 32)
    noisy = images.clone()
    noisy[:, 0] = torch.rand(noisy[:, 0].shape, generator=seeded(4))
    network = made_network(expects_errors=True)
    network.prepare(TensorSource((noisy,)))
    optimizer = torch.optim.AdamW(network.parameters(), lr=3e-3)
    draws = seeded(1)
    for _ in range(60):
        optimizer.zero_grad()
        loss(network, noisy, tau, draws).backward()
        optimizer.step()
    with torch.no_grad():
        visible, masked = drawn(network, 32, draws)
        guessed, expected = network._guess(noisy, tau, visible, masked)
        assert expected.shape == (32, masked.shape[1], 6, 1)
        assert expected[:, :, 0].mean() > expected[:, :, 3:].mean() + 0.1
        plain = network._errors(noisy, guessed, masked)
        unit = network._errors(noisy, guessed, masked, torch.zeros_like(expected))
    torch.testing.assert_close(unit, plain)
