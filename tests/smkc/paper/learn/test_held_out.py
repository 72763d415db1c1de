import numpy as np
import pytest

from smkc.paper.learn.held_out import MOST_BLOCKS, HeldOut

SIZES = [(90, 16), (200, 16), (600, 16), (1000, 7), (5000, 16), (100_000, 32)]


@pytest.mark.parametrize(("n_rows", "window"), SIZES)
def test_no_held_out_window_shares_rows_with_a_trained_one(n_rows, window):
    held_out = HeldOut.of(n_rows, window)
    starts = np.arange(n_rows - window + 1)
    trained, kept = starts[held_out.is_trained(starts)], starts[held_out.is_held_out(starts)]
    if len(kept) and len(trained):
        nearest = np.searchsorted(trained, kept)
        before = kept - trained[np.maximum(nearest - 1, 0)]
        after = trained[np.minimum(nearest, len(trained) - 1)] - kept
        # a window of rows lies between them
        assert before[nearest > 0].min() >= 2 * window
        assert after[nearest < len(trained)].min() >= 2 * window


@pytest.mark.parametrize(("n_rows", "window"), SIZES)
def test_a_fifth_of_the_rows_is_held_out(n_rows, window):
    held_out = HeldOut.of(n_rows, window)
    lengths = held_out.ends - held_out.firsts
    assert abs(lengths.sum() / n_rows - 0.2) < 0.02
    assert 1 <= len(lengths) <= MOST_BLOCKS
    assert held_out.firsts[0] > 0
    assert held_out.ends[-1] < n_rows


def test_blocks_are_long_where_there_are_rows_enough():
    lengths = HeldOut.of(5000, 16).ends - HeldOut.of(5000, 16).firsts
    assert len(lengths) > 1
    assert lengths.min() >= 6 * 16


def test_runs_are_the_held_out_windows_block_by_block():
    held_out = HeldOut.of(2000, 16)
    starts = np.arange(0, 1985, 3)
    runs = held_out.runs(starts)
    assert len(runs) == len(held_out.firsts)
    np.testing.assert_array_equal(np.concatenate(runs), starts[held_out.is_held_out(starts)])
    for run, first, end in zip(runs, held_out.firsts, held_out.ends, strict=True):
        assert first <= run[0]
        assert run[-1] + 16 <= end


def test_a_block_without_windows_is_no_run():
    assert HeldOut.of(60, 16).runs(np.arange(45)) == []
