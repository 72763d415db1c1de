"""The GPU's kernels against the jitted loops; skipped where there is no GPU.

With TRITON_INTERPRET=1 and Triton, the same kernels run on the processor, slowly.
"""

import os

import numpy as np
import pytest
from tests.smkc.kernel.test_torch_features import OFFSET_TOLERANCE, TOLERANCE, recording_of

from smkc.kernel import CHANNELS, Representation, features, images
from smkc.recording import Recording
from smkc.sketch import Sketch

torch = pytest.importorskip("torch")
pytest.importorskip("triton")

IS_INTERPRETED = os.environ.get("TRITON_INTERPRET") == "1"
DEVICE = torch.device("cpu" if IS_INTERPRETED else "cuda")

pytestmark = [
    pytest.mark.deep,
    pytest.mark.skipif(
        not (IS_INTERPRETED or torch.cuda.is_available()),
        reason="needs a GPU, or TRITON_INTERPRET=1 for the interpreter",
    ),
]

KINDS = [
    *("gaps", "empty rows", "nothing at all", "one observation", "single variable", "constant"),
    *("all zero", "mostly constant", "few levels", "churn", "one huge", "small", "offset"),
]
LENGTHS = [16, 23] if IS_INTERPRETED else [16, 23, 29]
STARTS = np.array([0, 1])


def windows_of(recording, window, sketch):
    from smkc.kernel import torch_windows

    made = torch_windows.TorchWindows(recording, window, sketch, DEVICE)
    if IS_INTERPRETED:  # there, they are used without a GPU, too
        from smkc.kernel import _triton_windows

        made._kernels = _triton_windows
        made._observed = _triton_windows.Observed(*made._uploaded())
    assert made._kernels is not None
    return made


def walk(n_rows, n_variables, seed=0):
    rng = np.random.default_rng(seed)
    values = rng.normal(size=(n_rows, n_variables)).cumsum(axis=0)
    rows = [
        {f"v{j}": v for j, v in enumerate(row) if rng.random() > 0.1} for row in values.tolist()
    ]
    return Recording.from_rows(list(range(n_rows)), rows)


@pytest.mark.parametrize("length", LENGTHS)
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
        Sketch(buckets=70, presence=False),
        Sketch(buckets=33, saturate=False, normalise=False),
    ],
)
def test_sketches_of_every_kind(sketch):
    recording, representation = walk(20, 40), Representation.parse("log3 band(2)")
    expected = features(recording, STARTS, 9, representation, sketch)
    actual = windows_of(recording, 9, sketch).features(STARTS, representation)
    np.testing.assert_allclose(actual.cpu(), expected, rtol=TOLERANCE, atol=TOLERANCE)


@pytest.mark.skipif(IS_INTERPRETED, reason="too slow without a GPU")
@pytest.mark.parametrize("length", [32, 64, 100, 128])
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
