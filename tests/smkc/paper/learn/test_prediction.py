import pytest
import torch
from tests.smkc.paper.learn.made_images import made_images, masked_pixels, seeded, tiny
from torch.nn import functional

from smkc.paper.learn import prediction
from smkc.paper.learn.patches import TOKEN_LAYOUTS
from smkc.paper.learn.prediction import Prediction, momentum
from smkc.paper.learn.settings import BACKBONES


def made_network(**settings):
    torch.manual_seed(0)
    return Prediction(tiny(**settings), 8)


def drawn(network, n_windows, generator=None):
    generator = generator or seeded()
    return network.settings.masking.draw(network.student.patches, n_windows, generator)


def loss(network, images, tau, generator):
    return network(images, tau, *drawn(network, len(images), generator))


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
    trained = [parameter for parameter in network.parameters() if parameter.requires_grad]
    optimizer = torch.optim.AdamW(trained, lr=3e-3)
    with torch.no_grad():
        before = loss(network, images, tau, seeded(1))
    generator = seeded(2)
    for step in range(30):
        optimizer.zero_grad()
        loss(network, images, tau, generator).backward()
        optimizer.step()
        network.stepped(step, 30)
    with torch.no_grad():
        assert loss(network, images, tau, seeded(1)) < 0.6 * before


@pytest.mark.parametrize("backbone", BACKBONES)
@pytest.mark.parametrize("tokens", TOKEN_LAYOUTS)
def test_gradients_reach_all_but_the_teacher(backbone, tokens):
    images, tau = made_images(8, 6)
    network = made_network(backbone=backbone, tokens=tokens)
    loss(network, images, tau, seeded()).backward()
    for name, parameter in network.named_parameters():
        if name.startswith("teacher."):
            assert parameter.grad is None, name
            assert not parameter.requires_grad, name
        else:
            assert bool((parameter.grad != 0).any()), name


def test_the_teacher_begins_as_the_student_and_is_its_own():
    network = made_network()
    student, teacher = network.student.state_dict(), network.teacher.state_dict()
    assert student.keys() == teacher.keys()
    for name, values in student.items():
        assert torch.equal(values, teacher[name])
        assert values.data_ptr() != teacher[name].data_ptr()
    assert len(network.predictor.blocks) == 4


def test_momentum_rises_linearly():
    actual = [momentum(step, 4) for step in range(4)]
    assert actual == pytest.approx([0.996, 0.9973, 0.9986, 0.9999])
    assert momentum(99, 4) == pytest.approx(0.9999)
    assert momentum(0, 1) == pytest.approx(0.996)


@pytest.mark.parametrize(("step", "kept"), [(0, 0.996), (5, 0.99795), (10, 0.9999)])
def test_the_teacher_follows_the_student(step, kept):
    network = made_network()
    before = {name: values.clone() for name, values in network.teacher.named_parameters()}
    with torch.no_grad():
        for parameter in network.student.parameters():
            parameter.add_(1.0)
    network.stepped(step, 11)
    for name, values in network.teacher.named_parameters():
        torch.testing.assert_close(
            values - before[name], torch.full_like(values, 1 - kept), atol=2e-7, rtol=0
        )


def test_the_loss_is_that_of_the_paper():
    images, tau = made_images(8, 4)
    network = made_network()
    visible, masked = drawn(network, 4)
    with torch.no_grad():
        wanted_class, wanted = network.teacher(images, tau)
        wanted_class = functional.layer_norm(wanted_class, (16,))
        wanted = functional.layer_norm(wanted, (16,))
        wanted = torch.stack([wanted[b, masked[b]] for b in range(4)])
        memory = network.student.encode(images, tau, visible)
        guessed = network.write(network.predictor(network.student.patches, memory, masked))
        guessed_class = network.write_class(memory[:, 0])
        expected = functional.smooth_l1_loss(guessed, wanted)
        expected += 0.25 * functional.smooth_l1_loss(guessed_class, wanted_class)
        torch.testing.assert_close(network(images, tau, visible, masked), expected)


@pytest.mark.parametrize("tokens", TOKEN_LAYOUTS)
def test_the_student_does_not_know_what_it_guesses(tokens):
    images, tau = made_images(8, 4)
    network = made_network(tokens=tokens)
    visible, masked = drawn(network, 4)
    is_masked = masked_pixels(network.student.patches, masked)[:, None]
    changed = torch.where(is_masked, images + 3.0, images)
    with torch.no_grad():
        targets = network.targets(images, tau)
        expected = network._apart(images, tau, *targets, visible, masked)
        actual = network._apart(changed, tau, *targets, visible, masked)
        assert torch.equal(actual[0], expected[0])
        assert torch.equal(actual[1], expected[1])
        other = network.targets(changed, tau)
        assert not torch.allclose(other[0], targets[0])
        assert not torch.allclose(other[1], targets[1])


def test_embeddings_are_the_teachers_and_have_length_one():
    images, tau = made_images(8, 5)
    network = made_network()
    before = network.embeddings((images, tau))
    assert before.shape == (5, 16)
    torch.testing.assert_close(before.norm(dim=1), torch.ones(5))
    with torch.no_grad():
        network.student.class_token[:5] += 1.0
    assert torch.equal(network.embeddings((images, tau)), before)
    with torch.no_grad():
        network.teacher.class_token[:5] += 1.0
    assert not torch.allclose(network.embeddings((images, tau)), before)


def test_surprise_is_the_loss_without_the_class_token_under_each_mask(monkeypatch):
    images, tau = made_images(8, 5)
    monkeypatch.setattr(prediction, "CLASS_WEIGHT", 0.0)
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


def test_it_compiles_to_one_graph():
    images, tau = made_images(8, 2)
    network = made_network(layers=1, predictor_layers=1)
    visible, masked = drawn(network, 2)
    expected = network(images, tau, visible, masked)
    compiled = torch.compile(network, backend="eager", fullgraph=True)
    actual = compiled(images, tau, visible, masked)
    actual.backward()
    torch.testing.assert_close(actual, expected)
