import math

import pytest
import torch

from benchmarks.baselines.positions import positions


@pytest.mark.parametrize("width", [1, 4, 7])
def test_positions_are_waves_of_growing_length(width):
    actual = positions(9, width)
    for step in range(9):
        for place in range(width):
            angle = step / 10_000 ** ((place - place % 2) / width)
            expected = math.cos(angle) if place % 2 else math.sin(angle)
            assert actual[step, place].item() == pytest.approx(expected, abs=1e-6)
    assert actual.dtype == torch.float32
