import numpy as np
import pytest

from benchmarks.baselines.signatures import (
    N_SCALES,
    N_STEPS,
    segment_ends,
    segment_lengths,
    signatures,
)
from smkc.errors import SettingError

ROUNDING = 1e-5


@pytest.mark.parametrize("window", [8, 11, 32, 64])
def test_matrices_are_inner_products_over_segments(rng, window):
    values = rng.normal(size=(3, window, 4)).astype(np.float32)
    actual = signatures(values)
    assert actual.shape == (3, N_STEPS, N_SCALES, 4, 4)
    assert actual.dtype == np.float32
    for t, end in enumerate(segment_ends(window)):
        for s, length in enumerate(segment_lengths(window)):
            for i in range(4):
                for j in range(4):
                    products = [
                        float(values[1, step, i]) * float(values[1, step, j])
                        for step in range(end - length, end)
                    ]
                    expected = sum(products) / length
                    assert actual[1, t, s, i, j] == pytest.approx(expected, abs=ROUNDING)


@pytest.mark.parametrize("window", [8, 11, 32, 64])
def test_every_step_is_in_some_segment_and_none_begins_before_the_window(window):
    longest, ends = max(segment_lengths(window)), segment_ends(window)
    assert min(ends) - longest == 0
    assert max(ends) == window
    covered = {step for end in ends for step in range(end - longest, end)}
    assert covered == set(range(window))


def test_matrices_are_symmetric_and_empty_places_zero(rng):
    values = rng.normal(size=(2, 16, 5)).astype(np.float32)
    values[:, :, 3] = 0
    actual = signatures(values)
    np.testing.assert_allclose(actual, actual.swapaxes(-1, -2), atol=ROUNDING)
    assert not actual[..., 3, :].any()
    assert signatures(values[:0]).shape == (0, N_STEPS, N_SCALES, 5, 5)


def test_short_windows_are_refused(rng):
    with pytest.raises(SettingError, match=r"window=7 is too short.*at least 8"):
        signatures(np.zeros((1, 7, 2), np.float32))
