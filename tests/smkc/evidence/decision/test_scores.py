"""The two parts of a score, against plain loops."""

import numpy as np
import pytest

from smkc.evidence.decision.scorer import no_rows_before, parts_of_scores
from smkc.evidence.settings import SETTINGS

HELD = SETTINGS.calm_rows


def ref_held(unusual):
    """Mean over the last HELD rows of the largest of HELD rows; the first row stands before it."""
    covered = [unusual[0]] * (2 * HELD - 2) + list(unusual)
    held = []
    for row in range(2 * HELD - 2, len(covered)):
        largest = [max(covered[end - HELD + 1 : end + 1]) for end in range(row - HELD + 1, row + 1)]
        held.append(sum(largest) / HELD)
    return held


@pytest.mark.parametrize("n", [1, HELD, 3 * HELD])
def test_half_is_of_the_row_and_half_of_the_rows_before(rng, n):
    unusual = rng.exponential(size=n)
    held, prompt, _ = parts_of_scores(unusual, no_rows_before())
    np.testing.assert_allclose(held, 0.5 * np.array(ref_held(unusual)), rtol=1e-12)
    np.testing.assert_array_equal(prompt, 0.5 * unusual)


def test_parts_do_not_depend_on_how_rows_are_divided(rng):
    unusual = rng.exponential(size=90)
    expected, _, after = parts_of_scores(unusual, no_rows_before())
    before, actual = no_rows_before(), []
    for first, last in ((0, 0), (0, 1), (1, 30), (30, 30), (30, 77), (77, 90)):
        held, _, before = parts_of_scores(unusual[first:last], before)
        actual.append(held)
    np.testing.assert_array_equal(np.concatenate(actual), expected)
    np.testing.assert_array_equal(before, after)


def test_a_surprise_is_held_for_as_long_as_it_is_near():
    unusual = np.zeros(200)
    unusual[100] = 8.0
    held, prompt, _ = parts_of_scores(unusual, no_rows_before())
    assert np.flatnonzero(held).tolist() == list(range(100, 100 + 2 * HELD - 1))
    assert held.argmax() == 100 + HELD - 1
    assert held.max() == 4.0
    assert prompt[100] == 4.0
