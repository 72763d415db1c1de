import numpy as np
import pytest
from tests import naive
from tests.benchmarks.baselines.made_windows import made_windows, shuffled

from benchmarks.baselines import largest_jump
from benchmarks.baselines.largest_jump import LargestJump, LargestState
from benchmarks.windows import Windows
from smkc.errors import NotFittedError
from smkc.paper.sketch import Sketch

TOLERANCE = 1e-6  # float32 states


def test_the_score_is_the_largest_step_between_states_or_state(rng):
    windows = made_windows(rng, 6)
    recording = windows.recording()
    expected, largest = [], []
    for start in windows.starts():
        rows = [recording.row(t) for t in range(start, start + windows.length)]
        states = np.array([naive.state(row, 16) for row in rows])
        expected.append(np.linalg.norm(np.diff(states, axis=0), axis=1).max())
        largest.append(np.linalg.norm(states, axis=1).max())
    sketch = Sketch(buckets=16)
    actual = LargestJump(sketch=sketch).fit(windows).score(windows)
    np.testing.assert_allclose(actual, expected, rtol=TOLERANCE)
    actual = LargestState(sketch=sketch).fit(windows).score(windows)
    np.testing.assert_allclose(actual, largest, rtol=TOLERANCE)


def test_neither_blocks_nor_the_order_of_variables_change_a_bit(rng, monkeypatch):
    windows = made_windows(rng, 9)
    competitor = LargestJump().fit(windows)
    expected = competitor.score(windows)
    monkeypatch.setattr(largest_jump, "BLOCK_WINDOWS", 4)
    np.testing.assert_array_equal(competitor.score(windows), expected)
    np.testing.assert_array_equal(competitor.score(shuffled(rng, windows)), expected)


def test_a_single_step_has_no_jump(rng):
    whole = made_windows(rng, 3)
    single = Windows(
        whole.values[:, :1],
        whole.observed[:, :1],
        whole.variables,
        whole.names,
        whole.kinds,
        whole.segments,
    )
    np.testing.assert_array_equal(LargestJump().fit(whole).score(single), np.zeros(3))


def test_fit_comes_first(rng):
    with pytest.raises(NotFittedError, match="call fit first"):
        LargestJump().score(made_windows(rng, 2))
