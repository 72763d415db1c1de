"""Properties of kernel features that hold for any recording."""

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from tests import promise, strategies

from smkc.paper.kernel import Representation, features, images
from smkc.paper.sketch import Sketch, hash_names
from smkc.recording import Recording

patient = settings(deadline=None)  # the first example compiles the loops

WINDOW = 6

# The order of buckets is the order of summing: float32 rounds differently, no more.
RENAME_TOLERANCE = 5e-6

representations = st.sampled_from(
    [
        "full image",
        "log3 band(3)",
        "full band(5)",
        "cos_delta+log_abs band(2)",
        "full anchor(3)",
        "log3 proj(4) image",
        "full down(3) image",
        "seq",
    ]
).map(Representation.parse)
sketches = st.builds(
    Sketch, buckets=st.sampled_from([1, 2, 16, 128]), presence=st.booleans(), saturate=st.booleans()
)
window_rows = strategies.rows(min_size=WINDOW, max_size=2 * WINDOW)


def recording_of(rows) -> Recording:
    return Recording.from_rows(range(len(rows)), rows)


def every_start(recording, stride=1):
    return np.arange(0, len(recording) - WINDOW + 1, stride)


@patient
@given(window_rows, representations, sketches, st.randoms(use_true_random=False))
def test_shuffling_the_variables_changes_no_bit(rows, representation, sketch, random):
    shuffled = []
    for row in rows:
        items = list(row.items())
        random.shuffle(items)
        shuffled.append(dict(items))
    before, after = recording_of(rows), recording_of(shuffled)
    expected = features(before, every_start(before), WINDOW, representation, sketch)
    actual = features(after, every_start(after), WINDOW, representation, sketch)
    np.testing.assert_array_equal(actual, expected)


@patient
@given(window_rows, strategies.identifiers, representations, sketches)
def test_a_variable_that_is_never_observed_changes_no_bit(rows, name, representation, sketch):
    recording = recording_of(rows)
    never_seen = recording_of([*rows, {name: 1.0}]).rows(0, len(rows))
    starts = every_start(recording)
    expected = features(recording, starts, WINDOW, representation, sketch)
    actual = features(never_seen, starts, WINDOW, representation, sketch)
    np.testing.assert_array_equal(actual, expected)


@patient
@given(window_rows, window_rows, representations, sketches, st.sampled_from([1, 3, WINDOW]))
def test_later_rows_never_alter_a_window(rows, later, representation, sketch, stride):
    recording, longer = recording_of(rows), recording_of([*rows, *later])
    starts = every_start(recording, stride)
    expected = features(recording, starts, WINDOW, representation, sketch)
    all_starts = every_start(longer, stride)
    actual = features(longer, all_starts, WINDOW, representation, sketch)
    promise.assert_features_agree(actual[: len(starts)], expected)


@patient
@given(window_rows, window_rows, representations, sketches)
def test_earlier_rows_never_alter_a_window(rows, earlier, representation, sketch):
    recording, longer = recording_of(rows), recording_of([*earlier, *rows])
    starts = every_start(recording)
    expected = features(recording, starts, WINDOW, representation, sketch)
    actual = features(longer, every_start(longer), WINDOW, representation, sketch)
    promise.assert_features_agree(actual[-len(starts) :], expected)


@patient
@given(window_rows, sketches)
def test_images_are_symmetric_and_in_range(rows, sketch):
    recording = recording_of(rows)
    actual, tokens = images(recording, every_start(recording), WINDOW, sketch)
    np.testing.assert_array_equal(actual, actual.swapaxes(2, 3))
    assert np.isfinite(actual).all()
    assert (actual >= 0).all()
    assert (actual[:, :3] <= 1).all()
    diagonal = np.einsum("bkii->bki", actual)
    assert (diagonal[:, :3] == 1).all()
    assert (diagonal[:, 3:] == 0).all()
    assert ((tokens >= -1) & (tokens <= 1)).all()


def without_collisions(names, m) -> bool:
    hashes = hash_names(names, m)
    return all(
        len(set(buckets.tolist())) == len(names)
        for buckets in (hashes.value_bucket, hashes.presence_bucket)
    )


# Whole numbers: their sums are exact, so that the order of buckets plays no part.
whole_rows = st.lists(
    st.dictionaries(st.sampled_from(["a", "b", "c", "d"]), st.integers(-8, 8).map(float)),
    min_size=WINDOW,
    max_size=WINDOW,
)


@patient
@given(whole_rows, st.lists(strategies.identifiers, min_size=4, max_size=4, unique=True))
def test_without_collisions_a_rename_changes_no_image(rows, new_names):
    sketch = Sketch(buckets=128)
    rename = dict(zip("abcd", new_names, strict=True))
    assume(without_collisions(list(rename), 128))
    assume(without_collisions(new_names, 128))
    renamed = [{rename[name]: value for name, value in row.items()} for row in rows]
    expected, _ = images(recording_of(rows), np.array([0]), WINDOW, sketch)
    actual, _ = images(recording_of(renamed), np.array([0]), WINDOW, sketch)
    np.testing.assert_allclose(actual, expected, rtol=0, atol=RENAME_TOLERANCE)


@patient
@given(st.integers(1, 2000), st.integers(0, 2**32 - 1))
def test_features_are_finite_for_any_cardinality(cardinality, seed):
    rng = np.random.default_rng(seed)
    values = rng.normal(size=(WINDOW, cardinality)) * 10.0 ** rng.integers(-3, 6)
    rows = [{f"v{j}": value for j, value in enumerate(step)} for step in values]
    representation = Representation.parse("log3 band(5)")
    actual = features(recording_of(rows), np.array([0]), WINDOW, representation, Sketch())
    assert np.isfinite(actual).all()
    assert actual.any()


@pytest.mark.parametrize("stride", [1, 3, 40])
@pytest.mark.parametrize("text", ["log3 band(8)", "full image", "log3 anchor(4)", "seq"])
def test_long_scans_equal_one_window_at_a_time(text, stride):
    """Long enough for several segments, so that their borders are crossed."""
    rng = np.random.default_rng(41)
    n_rows = 640 if stride == 1 else 1600
    rows = [
        {f"v{j}": value for j, value in enumerate(step) if rng.random() > 0.2}
        for step in rng.normal(size=(n_rows, 12))
    ]
    recording = recording_of(rows)
    representation, sketch = Representation.parse(text), Sketch(buckets=32)
    starts = np.arange(0, n_rows - 16 + 1, stride)
    together = features(recording, starts, 16, representation, sketch)
    for start, actual in zip(starts, together, strict=True):
        own = recording.rows(int(start), int(start) + 16)
        alone = features(own, np.array([0]), 16, representation, sketch)[0]
        promise.assert_features_agree(actual, alone)
