"""The GPU's kernels against the jitted loops; skipped where there is no GPU."""

import numpy as np
import pytest
from tests.smkc.paper.kernel.test_torch_features import OFFSET_TOLERANCE, TOLERANCE, recording_of

from smkc.paper.kernel import CHANNELS, Representation, features, images
from smkc.paper.sketch import Sketch
from smkc.recording import Recording

torch = pytest.importorskip("torch")
pytest.importorskip("triton")

pytestmark = [
    pytest.mark.deep,
    pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a GPU"),
]

KINDS = [
    *("gaps", "empty rows", "nothing at all", "one observation", "single variable", "constant"),
    *("all zero", "mostly constant", "few levels", "churn", "one huge", "small", "offset"),
]
STARTS = np.array([0, 1])


def windows_of(recording, window, sketch):
    from smkc.paper.kernel import torch_windows

    made = torch_windows.TorchWindows(recording, window, sketch, "cuda")
    assert made._kernels is not None
    return made


def walk(n_rows, n_variables, seed=0):
    rng = np.random.default_rng(seed)
    values = rng.normal(size=(n_rows, n_variables)).cumsum(axis=0)
    rows = [
        {f"v{j}": v for j, v in enumerate(row) if rng.random() > 0.1} for row in values.tolist()
    ]
    return Recording.from_rows(list(range(n_rows)), rows)


@pytest.mark.parametrize("length", [2, 3, 16, 23, 29])
@pytest.mark.parametrize("kind", KINDS)
def test_images_are_those_of_the_processor(kind, length):
    recording, sketch = recording_of(kind), Sketch(buckets=16)
    expected, token = images(recording, STARTS, length, sketch, CHANNELS)
    actual, tau = windows_of(recording, length, sketch).images(STARTS)
    atol = OFFSET_TOLERANCE if kind == "offset" else TOLERANCE
    np.testing.assert_allclose(actual.cpu(), expected, rtol=TOLERANCE, atol=atol)
    np.testing.assert_allclose(tau.cpu(), token, atol=atol)


@pytest.mark.parametrize("text", ["full band(3)", "log3 band(8)", "base2 band(1)", "cos3 image"])
@pytest.mark.parametrize("kind", ["gaps", "constant", "few levels", "churn"])
def test_features_are_those_of_the_processor(kind, text):
    recording, sketch, representation = recording_of(kind), Sketch(), Representation.parse(text)
    expected = features(recording, STARTS, 18, representation, sketch)
    actual = windows_of(recording, 18, sketch).features(STARTS, representation)
    np.testing.assert_allclose(actual.cpu(), expected, rtol=TOLERANCE, atol=TOLERANCE)


@pytest.mark.parametrize(
    "sketch",
    [
        Sketch(buckets=2),
        Sketch(buckets=256),
        Sketch(buckets=70, presence=False),
        Sketch(buckets=33, saturate=False, normalise=False),
    ],
)
def test_sketches_of_every_kind(sketch):
    recording, representation = walk(20, 40), Representation.parse("log3 band(2)")
    expected = features(recording, STARTS, 9, representation, sketch)
    actual = windows_of(recording, 9, sketch).features(STARTS, representation)
    np.testing.assert_allclose(actual.cpu(), expected, rtol=TOLERANCE, atol=TOLERANCE)


@pytest.mark.parametrize("length", [32, 64, 100, 128, 200, 256])
@pytest.mark.parametrize("n_variables", [1, 16, 300])
def test_long_and_wide_windows(length, n_variables):
    recording, sketch = walk(length + 40, n_variables), Sketch()
    starts = np.arange(41)
    expected, token = images(recording, starts, length, sketch, CHANNELS)
    actual, tau = windows_of(recording, length, sketch).images(starts)
    np.testing.assert_allclose(actual.cpu(), expected, rtol=2e-5, atol=2e-5)
    np.testing.assert_allclose(tau.cpu(), token, atol=TOLERANCE)


def test_no_windows_have_no_features():
    found = windows_of(walk(30, 3), 16, Sketch(buckets=4)).images(np.empty(0, np.int64))[0]
    assert found.shape == (0, 6, 16, 16)


@pytest.mark.parametrize("length", [300, 700])
def test_bands_of_windows_longer_than_a_block_of_threads(length):
    recording, representation = walk(length + 1, 30), Representation.parse("log3 band(2)")
    expected = features(recording, STARTS, length, representation, Sketch())
    actual = windows_of(recording, length, Sketch()).features(STARTS, representation)
    np.testing.assert_allclose(actual.cpu(), expected, rtol=TOLERANCE, atol=TOLERANCE)


@pytest.mark.parametrize("channels", [("log_abs",), ("cos_delta", "log_g"), CHANNELS[::-1]])
def test_any_channels_in_any_order(channels):
    recording = walk(60, 10)
    expected, token = images(recording, STARTS, 40, Sketch(), channels)
    actual, tau = windows_of(recording, 40, Sketch()).images(STARTS, channels)
    np.testing.assert_allclose(actual.cpu(), expected, rtol=TOLERANCE, atol=TOLERANCE)
    np.testing.assert_allclose(tau.cpu(), token, atol=TOLERANCE)


@pytest.mark.parametrize("offset", [1e2, 1e4, 1e6])
@pytest.mark.parametrize("is_spiked", [False, True])
def test_small_changes_of_large_values(offset, is_spiked):
    """Products leave few digits of such distances: they are made by differences."""
    rng = np.random.default_rng(3)
    values = offset + rng.normal(size=(70, 4)).astype(np.float32)
    if is_spiked:
        values[[16, 32, 48]] *= 50  # just where a state amid the others is looked for
    names = [f"v{j}" for j in range(4)]
    rows = [dict(zip(names, row, strict=True)) for row in values.tolist()]
    recording = Recording.from_rows(list(range(70)), rows)
    expected, token = images(recording, STARTS, 64, Sketch(), CHANNELS)
    actual, tau = windows_of(recording, 64, Sketch()).images(STARTS)
    np.testing.assert_allclose(actual.cpu(), expected, rtol=2e-5, atol=2e-5)
    np.testing.assert_allclose(tau.cpu(), token, atol=TOLERANCE)


def test_images_are_symmetric_with_a_fixed_diagonal():
    made = windows_of(walk(80, 20), 64, Sketch()).images(np.arange(16))[0].cpu().numpy()
    np.testing.assert_array_equal(made, made.transpose(0, 1, 3, 2))
    diagonal = np.einsum("bkii->bki", made)
    np.testing.assert_array_equal(diagonal[:, :3], 1.0)
    np.testing.assert_array_equal(diagonal[:, 3:], 0.0)
    assert made.min() >= 0


def test_the_same_windows_have_the_same_bits():
    windows, starts = windows_of(walk(90, 40), 64, Sketch(buckets=16)), np.arange(20)
    first, again = windows.images(starts)[0], windows.images(starts[::-1].copy())[0].flip(0)
    assert torch.equal(first, again)
