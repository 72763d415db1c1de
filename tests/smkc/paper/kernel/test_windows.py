"""Windows: starts, shares of filled rows, and the cuts between segments."""

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from smkc.errors import WindowError
from smkc.paper.kernel import filled_share, segments, window_starts
from smkc.recording import Recording


def test_starts_are_those_of_full_windows():
    assert window_starts(10, window=4, stride=3).tolist() == [0, 3, 6]
    assert window_starts(4, window=4).tolist() == [0]


def test_a_recording_shorter_than_the_window_is_refused():
    with pytest.raises(WindowError, match="has 3 rows, the window needs 4"):
        window_starts(3, window=4)


def test_filled_share_counts_rows_with_anything_observed():
    recording = Recording.from_rows(range(4), [{"a": 1.0}, {}, {"b": 0.0}, {}])
    shares = filled_share(recording, np.array([0, 1, 2]), 2)
    assert shares.tolist() == [0.5, 0.5, 0.5]
    assert filled_share(recording, np.array([0]), 4).tolist() == [0.5]


@given(
    st.lists(st.integers(0, 2_000), min_size=1, max_size=700),
    st.integers(1, 64),
    st.integers(0, 64),
)
def test_segments_cover_all_windows_once_and_never_span_a_gap(starts, window, sharing):
    starts = np.array(starts)
    cuts = segments(starts, window, sharing)
    assert cuts[0] == 0
    assert cuts[-1] == len(starts)
    assert (np.diff(cuts) > 0).all()
    for first, last in pairwise(cuts):
        steps = np.diff(starts[first:last])
        assert ((steps >= 0) & (steps <= min(sharing, window))).all()
