"""What the tests of model files share: one small model, and whether another is the very same."""

from typing import Any

import numpy as np

ARRAYS = {
    "centre": np.array([0.1, -0.0, 1e-310, np.inf, np.nan]),
    "features": np.arange(12, dtype=np.float32).reshape(3, 4),
    "flags": np.array([[True], [False]]),
    "nothing": np.empty((0, 3), np.int16),
    "one": np.array(7, np.int64),
}
HEADER = {"window": 64, "names": ['cpu{pod="a"}', "mem"], "rate": 0.1, "nested": {"none": None}}


def same_arrays(expected: dict[str, Any], actual: dict[str, Any]) -> bool:
    return expected.keys() == actual.keys() and all(
        expected[name].dtype == actual[name].dtype
        and expected[name].shape == actual[name].shape
        and expected[name].tobytes() == actual[name].tobytes()
        for name in expected
    )
