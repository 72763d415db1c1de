import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from smkc.decide import Placing, step_scores
from smkc.errors import SettingError
from smkc.paper.kernel import window_starts

number = st.one_of(st.just(np.nan), st.floats(-5, 5, width=16))


@st.composite
def scored_windows(draw):
    window, stride = draw(st.integers(1, 9)), draw(st.integers(1, 12))
    n_rows = draw(st.integers(window, 40))
    starts = window_starts(n_rows, window, stride)
    scores = draw(st.lists(number, min_size=len(starts), max_size=len(starts)))
    return np.array(scores), starts, window, n_rows


def largest_covering(scores, starts, window, n_rows):
    steps = []
    for t in range(n_rows):
        covering = [s for s, a in zip(scores, starts, strict=True) if a <= t < a + window]
        if t >= starts[-1] + window:  # after the last window its score is carried on
            covering = [scores[-1]]
        known = [score for score in covering if not np.isnan(score)]
        steps.append(max(known) if known else np.nan)
    return steps


def latest_ended(scores, starts, window, n_rows):
    steps = []
    for t in range(n_rows):
        ended = [s for s, a in zip(scores, starts, strict=True) if a + window - 1 <= t]
        steps.append(ended[-1] if ended else np.nan)
    return steps


@given(scored_windows())
def test_sharp_is_the_largest_of_the_covering_windows(case):
    np.testing.assert_array_equal(step_scores(*case, "sharp"), largest_covering(*case))


@given(scored_windows())
def test_prompt_is_the_window_that_ended_last(case):
    np.testing.assert_array_equal(step_scores(*case, "prompt"), latest_ended(*case))


def test_other_alignments_are_named_in_the_error():
    with pytest.raises(SettingError, match=r"'late'.*sharp, prompt"):
        step_scores(np.ones(1), np.zeros(1, int), 2, 2, "late")


@given(scored_windows(), st.integers(1, 12), st.sampled_from(["sharp", "prompt"]), st.data())
def test_pieces_give_what_all_at_once_gives(case, stride, align, data):
    _, _, window, n_rows = case
    starts = window_starts(n_rows, window, stride)
    scores = np.arange(len(starts)) % 3.0
    by_end = np.full(n_rows, -np.inf)
    by_end[starts + window - 1] = scores
    placing = Placing(window, stride, align, by_row=False)
    cuts = sorted(data.draw(st.lists(st.integers(0, n_rows), max_size=5)))
    found = [placing.add(piece) for piece in np.split(by_end, cuts)]
    found.append(placing.finish())
    expected = step_scores(scores, starts, window, n_rows, align)
    np.testing.assert_array_equal(np.concatenate(found), expected)
