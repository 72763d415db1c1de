"""Properties of the sketch that hold for any names and values."""

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st
from tests import naive, strategies

from smkc.paper.sketch import Sketch, hash_identifier
from smkc.recording import Recording

patient = settings(deadline=None)  # the first example compiles the loops
widths = st.sampled_from([1, 2, 7, 128])


@patient
@given(strategies.identifiers, st.integers(1, 4096))
def test_hashes_equal_the_oracle(identifier, m):
    expected = naive.bucket_and_sign(identifier, "val", m) + naive.bucket_and_sign(
        identifier, "pres", m
    )
    assert hash_identifier(identifier, m) == expected


@patient
@given(strategies.rows(), widths, st.randoms(use_true_random=False))
def test_shuffling_the_variables_changes_no_bit(rows, m, random):
    shuffled = []
    for row in rows:
        items = list(row.items())
        random.shuffle(items)
        shuffled.append(dict(items))
    sketch = Sketch(buckets=m)
    expected = sketch.states(Recording.from_rows(range(len(rows)), rows))
    actual = sketch.states(Recording.from_rows(range(len(rows)), shuffled))
    np.testing.assert_array_equal(actual, expected)


@patient
@given(strategies.rows(), widths)
def test_a_state_depends_on_its_own_row_alone(rows, m):
    sketch = Sketch(buckets=m)
    together = sketch.states(Recording.from_rows(range(len(rows)), rows))
    for row, actual in zip(rows, together, strict=True):
        alone = sketch.states(Recording.from_rows([0], [row]))[0]
        np.testing.assert_array_equal(actual, alone)


@patient
@given(strategies.rows(), strategies.identifiers, widths)
def test_a_variable_that_is_never_observed_changes_no_bit(rows, name, m):
    recording = Recording.from_rows(range(len(rows)), rows)
    with_name = Recording.from_rows(range(len(rows) + 1), [*rows, {name: 1.0}])
    never_seen = with_name.rows(0, len(rows))
    assert name in never_seen.names
    sketch = Sketch(buckets=m)
    np.testing.assert_array_equal(sketch.states(never_seen), sketch.states(recording))


@patient
@given(strategies.rows(), widths, st.booleans(), st.booleans())
def test_states_are_finite_and_bounded(rows, m, saturate, normalise):
    sketch = Sketch(buckets=m, saturate=saturate, normalise=normalise)
    states = sketch.states(Recording.from_rows(range(len(rows)), rows))
    assert (np.abs(states) <= np.float32(naive.STATE_LIMIT)).all()
