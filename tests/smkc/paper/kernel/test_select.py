"""Order statistics against NumPy's sorting."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests import naive

from smkc.paper.kernel._select import NO_GUESS, median_root

# Square roots are taken in float64 of float32 numbers; NumPy's mean of two is the same sum.
RELATIVE = 1e-15

patient = settings(deadline=None)  # the first example compiles the loops
squares = st.lists(
    st.one_of(
        st.just(0.0),
        st.sampled_from([1.0, 4.0]),
        st.floats(0, 2.0**127, width=32),
        st.floats(0, 2.0**-123, width=32),
    ),
    min_size=1,
    max_size=40,
)


@patient
@given(squares)
def test_median_of_roots_equals_the_oracle(numbers):
    array = np.array(numbers, np.float32)
    expected = naive.robust_scale(np.sqrt(array.astype(np.float64)).tolist())
    actual, _ = median_root(array, len(array), NO_GUESS)
    assert actual == pytest.approx(expected, rel=RELATIVE, abs=0)


@patient
@given(squares, st.integers(0, 40))
def test_only_the_first_n_count(numbers, n):
    n = min(n, len(numbers))
    array = np.array(numbers, np.float32)
    assert median_root(array, n, NO_GUESS) == median_root(array[:n].copy(), n, NO_GUESS)


def test_a_large_sample_equals_numpy():
    sample = np.random.default_rng(51).exponential(size=(64 * 63) // 2).astype(np.float32)
    expected = np.median(np.sqrt(sample.astype(np.float64)))
    assert median_root(sample, len(sample), NO_GUESS)[0] == pytest.approx(expected, rel=RELATIVE)


@patient
@given(squares, st.integers(0, 39), st.integers(-5, 5))
def test_a_guess_near_or_far_changes_no_bit(numbers, which, off):
    array = np.array(numbers, np.float32)
    bits = int(array.view(np.int32)[which % len(array)])
    guess = min(max(bits + off, 0), 0x7F7FFFFF)
    assert median_root(array, len(array), guess) == median_root(array, len(array), NO_GUESS)
