import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from smkc.decide import WindowScores, step_scores
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


@pytest.fixture
def table():
    return WindowScores(
        first_row=np.array([0, 2]),
        last_row=np.array([3, 5]),
        start=np.array(["2026-01-01T00:00", "2026-01-01T00:02"], "datetime64[ns]"),
        end=np.array(["2026-01-01T00:03", "2026-01-01T00:05"], "datetime64[ns]"),
        score=np.array([0.25, np.nan]),
        p_value=np.array([0.5, np.nan]),
    )


def test_length_and_unscored(table):
    assert len(table) == 2
    assert table.n_unscored == 1


@pytest.mark.parametrize("library", ["arrow", "pandas", "polars"])
def test_as_a_table_of_any_library(table, library):
    frame = getattr(table, f"to_{library}")()
    as_pandas = frame if library == "pandas" else frame.to_pandas()
    assert list(as_pandas) == ["start", "end", "score", "p_value"]
    np.testing.assert_array_equal(as_pandas["start"].to_numpy("datetime64[ns]"), table.start)
    np.testing.assert_array_equal(as_pandas["score"], table.score)
    np.testing.assert_array_equal(as_pandas["p_value"], table.p_value)
