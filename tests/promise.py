"""The promise about scores that are made in different ways on one machine, as assertions.

Batch, stream, pieces and Ray give the same scores: ``evidence`` to the bit, the kernel detectors
to a relative 1e-6, with the same alerts (docs/decisions.md, "What agrees with what").
"""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np

# Of the kernel detectors. Small scores agree to an absolute number: those of ``knn`` are cosine
# distances; those of the trained ones are sums of standard deviations, which pass through 0.
RELATIVE, ABSOLUTE, ABSOLUTE_TRAINED = 1e-6, 1e-7, 1e-5
TRAINED = ("recon", "prediction", "ensemble")

# What goes into a score: features of order 1, and numbers of unit vectors.
FEATURES = 1e-6

# A p-value follows its score; calibration interpolates between ranks.
P_VALUES = 1e-3


def name_of(detector: Any) -> str:
    """Return what a detector is called, if it is not a name already."""
    return str(getattr(detector, "kind", detector))


def is_exact(detector: Any) -> bool:
    """Whether a detector, or one called so, promises the same bits."""
    return name_of(detector) == "evidence"


def assert_scores_agree(actual: Any, expected: Any, detector: Any = "knn") -> None:
    """Check scores against the promise; those that are missing (None or NaN) must be the same."""
    actual, expected = np.asarray(actual, float), np.asarray(expected, float)
    if is_exact(detector):
        np.testing.assert_array_equal(actual, expected)
    else:
        small = ABSOLUTE_TRAINED if name_of(detector) in TRAINED else ABSOLUTE
        np.testing.assert_allclose(actual, expected, rtol=RELATIVE, atol=small)


def assert_features_agree(actual: Any, expected: Any) -> None:
    """Check what the kernel detectors make of windows on the way to a score."""
    np.testing.assert_allclose(actual, expected, rtol=FEATURES, atol=FEATURES)


def assert_alerts_agree(actual: Sequence[Any], expected: Sequence[Any], detector: Any) -> None:
    """Check that the alerts are the same, their figures as the scores."""
    if is_exact(detector):
        assert list(actual) == list(expected)
        return
    rounded = [
        [replace(alert, score=0.0, p_value=0.0) for alert in alerts]
        for alerts in (actual, expected)
    ]
    assert rounded[0] == rounded[1]
    for one, other in zip(actual, expected, strict=True):
        assert_scores_agree(one.score, other.score)
        np.testing.assert_allclose(one.p_value, other.p_value, rtol=P_VALUES)
