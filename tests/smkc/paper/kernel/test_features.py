"""Kernel features against the oracle: every representation, every kind of row and stride."""

from functools import cache

import numpy as np
import pytest
from tests import naive

from smkc.errors import SettingError, WindowError
from smkc.paper.kernel import CHANNELS, Representation, features, images, map_features
from smkc.paper.sketch import Sketch
from smkc.recording import Recording

WINDOW = 12
ROWS = 30

# States and distances are float32: a few units in the last place of numbers of order one.
TOLERANCE = 5e-6
# Where values are a thousand times their changes, the states' rounding weighs as much more.
OFFSET_TOLERANCE = 2e-4

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
    "cos_delta+log_abs band(3)",
    "full anchor(1)",
    "log3 anchor(4)",
    "cos3 anchor(12)",
    "full proj(6) image",
    "log3 proj(5) band(3)",
    "full down(4) image",
    "log3 down(6) band(2)",
    "log3 down(6) anchor(3)",
    "cos3 proj(5) down(4) image",
    "seq",
    "proj(5) down(4) seq",
]


def made_rows(kind: str) -> list[dict[str, float]]:
    rng = np.random.default_rng(31)
    names = [f"v{j}" for j in range(6)]
    walk = rng.normal(size=(ROWS, 6)).cumsum(axis=0)
    rows = [dict(zip(names, step, strict=True)) for step in walk]
    if kind == "gaps":
        return [{k: v for k, v in row.items() if rng.random() > 0.3} for row in rows]
    if kind == "empty rows":
        return [{} if t in (0, 5, 6, 7, 11, 12, ROWS - 1) else row for t, row in enumerate(rows)]
    if kind == "nothing at all":
        return [{} for _ in rows]
    if kind == "one observation":
        return [{"a": 1.0} if t == 7 else {} for t in range(ROWS)]
    if kind == "single variable":
        return [{"v0": row["v0"]} for row in rows]
    if kind == "constant":
        return [dict.fromkeys(names, 2.5) for _ in rows]
    if kind == "all zero":
        return [dict.fromkeys(names, 0.0) for _ in rows]
    if kind == "mostly constant":
        return [{"a": 1.0, "b": 4.0 if t % 10 == 9 else 2.0} for t in range(ROWS)]
    if kind == "few levels":
        return [{"a": float(t % 2), "b": float(t // 6)} for t in range(ROWS)]
    if kind == "ragged":
        return [{f"w{j}": rng.normal() for j in range(1 + 7 * t % 40)} for t in range(ROWS)]
    if kind == "churn":
        return [{f"pod-{t // 4}-{j}": rng.normal() for j in range(5)} for t in range(ROWS)]
    if kind == "huge":
        return [{k: float(np.clip(v * 1e37, -3e38, 3e38)) for k, v in row.items()} for row in rows]
    if kind == "one huge":
        return [{**row, "v0": 1e38} if t == 9 else row for t, row in enumerate(rows)]
    if kind == "small":
        return [{k: v * 1e-12 for k, v in row.items()} for row in rows]
    if kind == "offset":
        return [{k: v + 1000.0 for k, v in row.items()} for row in rows]
    return rows


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
    "ragged",
    "churn",
    "huge",
    "one huge",
    "small",
    "offset",
]

# A projection adds up all entries of a state. Where they differ by more than float32's seven
# digits, or where exactly equal differences turn into rounding noise, the oracle's own result is
# decided by rounding.
MIXED_SCALES = ("few levels", "one huge", "small")


@cache
def recording_of(kind: str) -> Recording:
    return Recording.from_rows(range(ROWS), made_rows(kind))


@cache
def expected_states(kind: str, m: int, presence: bool) -> list[list[float]]:
    recording = recording_of(kind)
    return [naive.state(recording.row(t), m=m, presence=presence) for t in range(ROWS)]


def state_projection(width: int, size: int) -> np.ndarray:
    """The matrix of the option proj: part of the representation's definition."""
    rng = np.random.Generator(np.random.PCG64(7))
    return (rng.standard_normal((width, size)) / np.sqrt(size)).astype(np.float32)


def expected_features(g: list[list[float]], text: str) -> np.ndarray:
    representation = Representation.parse(text)
    if representation.proj:
        g = naive.project(g, state_projection(len(g[0]), representation.proj))
    if representation.down:
        g = naive.pool(g, representation.down)
    if representation.layout == "seq":
        return np.array(naive.sequence(g))
    if representation.layout == "band":
        return naive.band(g, representation.size, representation.channels).ravel()
    if representation.layout == "anchor":
        return naive.anchor(g, representation.size, representation.channels).ravel()
    return naive.image(g, representation.channels).ravel()


def assert_equals_oracle(kind, text, starts, m=16, presence=True):
    starts = np.asarray(starts)
    g = expected_states(kind, m, presence)
    expected = np.array([expected_features(g[start : start + WINDOW], text) for start in starts])
    sketch = Sketch(buckets=m, presence=presence)
    parsed = Representation.parse(text)
    actual = features(recording_of(kind), starts, WINDOW, parsed, sketch)
    assert actual.dtype == np.float32
    assert np.isfinite(actual).all()
    tolerance = OFFSET_TOLERANCE if kind == "offset" else TOLERANCE
    if parsed.layout == "seq":  # states are not of order one
        tolerance *= max(1.0, np.abs(expected).max())
    np.testing.assert_allclose(actual, expected, rtol=0, atol=tolerance)


COMPARABLE = [
    (kind, text)
    for kind in KINDS
    for text in REPRESENTATIONS
    if not ("proj" in text and kind in MIXED_SCALES)
]


@pytest.mark.parametrize(("kind", "text"), COMPARABLE)
def test_independent_windows_equal_the_oracle(kind, text):
    assert_equals_oracle(kind, text, [0, 12])


@pytest.mark.parametrize("stride", [1, 3, WINDOW])
@pytest.mark.parametrize("text", REPRESENTATIONS)
@pytest.mark.parametrize("kind", ["gaps", "empty rows"])
def test_sliding_windows_equal_the_oracle(kind, text, stride):
    assert_equals_oracle(kind, text, range(0, ROWS - WINDOW + 1, stride))


@pytest.mark.parametrize("presence", [True, False])
@pytest.mark.parametrize("m", [1, 2, 128])
@pytest.mark.parametrize("text", ["full image", "log3 band(4)", "full anchor(3)", "seq"])
def test_any_number_of_buckets_collisions_included(text, m, presence):
    assert_equals_oracle("ragged", text, [0, 5], m, presence)


@pytest.mark.parametrize("text", REPRESENTATIONS)
def test_starts_in_any_order_give_the_same_bits_as_one_window_at_a_time(text):
    representation, sketch = Representation.parse(text), Sketch(buckets=16)
    recording = recording_of("gaps")
    starts = np.array([3, 4, 5, 17, 2, 2, 18, 0, 6, 9])
    together = features(recording, starts, WINDOW, representation, sketch)
    for start, actual in zip(starts, together, strict=True):
        alone = features(recording, np.array([start]), WINDOW, representation, sketch)[0]
        np.testing.assert_array_equal(actual, alone)


def test_blocks_are_the_features_in_order():
    recording, sketch = recording_of("ordinary"), Sketch(buckets=16)
    starts = np.arange(ROWS - WINDOW + 1)
    representation = Representation.parse("log3 band(4)")
    blocks = map_features(
        lambda part, block: block.copy(), recording, starts, WINDOW, representation, sketch
    )
    joined = np.concatenate(list(blocks))
    expected = features(recording, starts, WINDOW, representation, sketch)
    np.testing.assert_array_equal(joined, expected)


@pytest.mark.parametrize("kind", KINDS)
def test_images_and_scale_tokens_equal_the_oracle(kind):
    starts = np.array([0, 1, 2, 18])
    g = expected_states(kind, 16, True)
    actual, tokens = images(recording_of(kind), starts, WINDOW, Sketch(buckets=16))
    assert actual.shape == (4, len(CHANNELS), WINDOW, WINDOW)
    tolerance = OFFSET_TOLERANCE if kind == "offset" else TOLERANCE
    for b, start in enumerate(starts):
        window = g[start : start + WINDOW]
        np.testing.assert_allclose(actual[b], naive.image(window), rtol=0, atol=tolerance)
        assert tokens[b] == pytest.approx(naive.scale_token(window), abs=tolerance)


@pytest.mark.parametrize("scale", [1e-20, 1e-30, 1e-45])
def test_changes_too_small_for_float32_to_square_stay_finite_and_in_range(scale):
    rows = [{"a": scale * t, "b": -scale * (t % 3)} for t in range(WINDOW)]
    recording = Recording.from_rows(range(WINDOW), rows)
    actual, tokens = images(recording, np.array([0]), WINDOW, Sketch(buckets=16))
    assert np.isfinite(actual).all()
    assert (actual[:, :3] <= 1).all()
    assert (actual >= 0).all()
    assert -1 <= tokens[0] < 0


def test_a_window_of_one_step_compares_nothing():
    actual, tokens = images(recording_of("ordinary"), np.array([4]), 1, Sketch(buckets=16))
    assert actual.ravel().tolist() == [1, 1, 1, 0, 0, 0]
    assert tokens.tolist() == [-1]


def test_no_windows_give_no_features():
    representation = Representation.parse("log3 band(4)")
    none = np.array([], np.int64)
    actual = features(recording_of("ordinary"), none, WINDOW, representation, Sketch())
    assert actual.shape == (0, 3 * 4 * WINDOW)


@pytest.mark.parametrize("start", [-1, ROWS - WINDOW + 1])
def test_a_window_outside_the_recording_is_refused(start):
    representation = Representation.parse("log3 band(4)")
    with pytest.raises(WindowError, match="does not fit"):
        features(recording_of("ordinary"), np.array([start]), WINDOW, representation, Sketch())


@pytest.mark.parametrize("text", ["log3 band(12)", "log3 anchor(13)", "log3 down(5) image"])
def test_a_representation_that_does_not_fit_the_window_is_refused(text):
    with pytest.raises(SettingError, match="window"):
        features(
            recording_of("ordinary"), np.array([0]), WINDOW, Representation.parse(text), Sketch()
        )
