"""Kernel features in torch against the jitted loops: every representation, every kind of row."""

from functools import cache

import numpy as np
import pytest

from smkc.errors import SettingError, WindowError
from smkc.paper.kernel import CHANNELS, Representation, features, images
from smkc.paper.sketch import Sketch
from smkc.recording import Recording

torch = pytest.importorskip("torch")
on_torch = pytest.importorskip("smkc.paper.kernel.torch_features")

pytestmark = pytest.mark.deep

WINDOW, ROWS = 12, 30
STARTS = np.arange(ROWS - WINDOW + 1)

# Of numbers of order one, or relative to larger ones: sums in another order, another logarithm.
TOLERANCE = 5e-6
# Where values are a thousand times their changes, the rounding of averages weighs as much more.
OFFSET_TOLERANCE = 5e-4

REPRESENTATIONS = [
    "full image",
    "log3 image",
    "cos3 image",
    "base2 image",
    "log_delta image",
    "cos_abs+log_abs image",
    "full band(1)",
    "log3 band(4)",
    "base2 band(11)",
    "full anchor(1)",
    "log3 anchor(4)",
    "cos3 anchor(12)",
    "full proj(6) image",
    "log3 proj(5) band(3)",
    "full down(4) image",
    "log3 down(6) band(2)",
    "log3 down(6) anchor(3)",
    "full proj(5) down(4) image",
    "seq",
    "proj(5) down(4) seq",
]

SKETCHES = [
    Sketch(buckets=16),
    Sketch(buckets=2),
    Sketch(buckets=128, presence=False),
    Sketch(buckets=8, saturate=False, normalise=False),
]


def made_rows(kind: str) -> list[dict[str, float]]:
    rng = np.random.default_rng(31)
    names = [f"v{j}" for j in range(6)]
    walk = rng.normal(size=(ROWS, 6)).cumsum(axis=0)
    rows = [dict(zip(names, step.tolist(), strict=True)) for step in walk]
    made = {
        "gaps": [{k: v for k, v in row.items() if rng.random() > 0.3} for row in rows],
        "empty rows": [{} if t % 7 in (0, 4) else row for t, row in enumerate(rows)],
        "nothing at all": [{} for _ in rows],
        "one observation": [{"a": 1.0} if t == 14 else {} for t in range(ROWS)],
        "single variable": [{"v0": row["v0"]} for row in rows],
        "constant": [dict.fromkeys(names, 2.5) for _ in rows],
        "all zero": [dict.fromkeys(names, 0.0) for _ in rows],
        "mostly constant": [{"a": 1.0, "b": 4.0 if t % 10 == 9 else 2.0} for t in range(ROWS)],
        "few levels": [{"a": float(t % 2), "b": float(t // 6)} for t in range(ROWS)],
        "churn": [{f"pod-{t // 4}-{j}": rng.normal() for j in range(5)} for t in range(ROWS)],
        "huge": [{k: float(np.clip(v * 1e37, -3e38, 3e38)) for k, v in r.items()} for r in rows],
        "one huge": [{**row, "v0": 1e38} if t == 9 else row for t, row in enumerate(rows)],
        "small": [{k: v * 1e-12 for k, v in row.items()} for row in rows],
        "offset": [{k: v + 1000.0 for k, v in row.items()} for row in rows],
    }
    return made.get(kind, rows)


KINDS = [
    "ordinary",
    "gaps",
    "empty rows",
    "nothing at all",
    "one observation",
    "single variable",
    "constant",
    "all zero",
    "mostly constant",
    "few levels",
    "churn",
    "huge",
    "one huge",
    "small",
    "offset",
]

# A projection adds up all entries of a state. Where those differ by more than float32's digits, or
# where equal differences turn into rounding noise, rounding decides either result.
DECIDED_BY_ROUNDING = ("few levels", "huge", "one huge", "small")


@cache
def recording_of(kind: str) -> Recording:
    return Recording.from_rows(range(ROWS), made_rows(kind))


def states_of(kind: str, sketch: Sketch):
    return on_torch.torch_states(recording_of(kind), STARTS, WINDOW, sketch, "cpu")


def assert_close(actual, expected, kind):
    tolerance = OFFSET_TOLERANCE if kind == "offset" else TOLERANCE
    assert actual.dtype == torch.float32
    np.testing.assert_allclose(actual.numpy(), expected, rtol=tolerance, atol=tolerance)


@pytest.mark.parametrize("sketch", SKETCHES, ids=str)
@pytest.mark.parametrize("kind", KINDS)
def test_states_are_the_sketchs(kind, sketch):
    expected = sketch.states(recording_of(kind))[STARTS[:, None] + np.arange(WINDOW)]
    np.testing.assert_array_equal(states_of(kind, sketch).numpy(), expected)


@pytest.mark.parametrize("text", REPRESENTATIONS)
@pytest.mark.parametrize("kind", KINDS)
def test_features_are_those_of_the_loops(kind, text):
    if "proj" in text and kind in DECIDED_BY_ROUNDING:
        text = text.replace("proj(5) ", "").replace("proj(6) ", "")
    representation = Representation.parse(text)
    for sketch in SKETCHES[:3]:
        expected = features(recording_of(kind), STARTS, WINDOW, representation, sketch)
        actual = on_torch.torch_features(states_of(kind, sketch), representation)
        assert_close(actual, expected, kind)


@pytest.mark.parametrize("channels", [CHANNELS, ("log_g",), ("cos_delta", "log_abs")])
@pytest.mark.parametrize("kind", ["gaps", "empty rows", "nothing at all", "constant"])
def test_images_and_scale_tokens_are_those_of_the_loops(kind, channels):
    sketch = Sketch(buckets=16)
    expected, expected_token = images(recording_of(kind), STARTS, WINDOW, sketch, channels)
    actual, token = on_torch.torch_images(states_of(kind, sketch), channels)
    assert_close(actual, expected, kind)
    assert_close(token, expected_token, kind)


def test_blocks_change_nothing(monkeypatch):
    states = states_of("gaps", Sketch(buckets=16))
    for text in ("full image", "full band(3)", "log3 anchor(4)", "proj(5) seq"):
        representation = Representation.parse(text)
        expected = on_torch.torch_features(states, representation)
        with monkeypatch.context() as patch:
            patch.setattr(on_torch, "BLOCK_BYTES", 50_000)
            torch.testing.assert_close(
                on_torch.torch_features(states, representation), expected, rtol=0, atol=1e-6
            )


def test_a_window_of_one_step():
    states = states_of("ordinary", Sketch(buckets=4))[:, :1]
    actual = on_torch.torch_features(states, Representation.parse("full image"))
    np.testing.assert_array_equal(actual.numpy(), np.tile([1, 1, 1, 0, 0, 0], (len(states), 1)))


def test_no_windows_give_no_features():
    none = np.empty(0, np.int64)
    states = on_torch.torch_states(recording_of("gaps"), none, WINDOW, Sketch(buckets=4), "cpu")
    assert states.shape == (0, WINDOW, 8)
    assert on_torch.torch_features(states, Representation.parse("band(3)")).shape == (0, 216)


def test_products_are_in_full_precision_and_only_here():
    torch.set_float32_matmul_precision("medium")
    try:
        with on_torch.full_precision():
            assert torch.backends.cuda.matmul.fp32_precision == "ieee"
            assert torch.backends.mkldnn.matmul.fp32_precision == "ieee"
        assert torch.get_float32_matmul_precision() == "medium"
        states = states_of("ordinary", Sketch())
        expected = features(
            recording_of("ordinary"), STARTS, WINDOW, Representation.parse("cos3"), Sketch()
        )
        actual = on_torch.torch_features(states, Representation.parse("cos3"))
        assert_close(actual, expected, "ordinary")
    finally:
        torch.set_float32_matmul_precision("highest")


def test_what_does_not_fit_is_refused():
    with pytest.raises(WindowError, match="does not fit"):
        on_torch.torch_states(recording_of("gaps"), np.array([25]), WINDOW, Sketch(), "cpu")
    with pytest.raises(SettingError, match="smaller band"):
        on_torch.torch_features(torch.zeros((1, 4, 8)), Representation.parse("band(4)"))
