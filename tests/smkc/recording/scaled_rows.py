"""Rows of a small fleet, and ways to scale and compare them."""

import math
from typing import Any

import numpy as np
from tests.naive_scaling import Rows

from smkc.recording import Recording, ScalingState

SCALED_TOLERANCE = 1e-5  # float32 results of at most 10, against plain Python's float64


def fleet(rng: np.random.Generator, n_rows: int, *, pods: list[str], share: float = 0.9) -> Rows:
    """Gauges, a counter with resets, an idle counter, a constant and a zero, for some pods."""
    rows: Rows = []
    counts = dict.fromkeys(pods, 0.0)
    for t in range(n_rows):
        row = {}
        for number, pod in enumerate(pods):
            counts[pod] = 0.0 if t % 150 == 120 else counts[pod] + rng.poisson(20)
            label = f'{{pod="{pod}"}}'
            row["cpu" + label] = 0.5 + 0.1 * number + 0.1 * rng.standard_normal()
            row["requests_total" + label] = counts[pod]
            row["errors_total" + label] = float(t > 280)
            row["limit" + label] = 4.0
            row["queue" + label] = rng.exponential() if number == 0 else 0.0
        rows.append({name: value for name, value in row.items() if rng.random() < share})
    return rows


def record(rows: Rows, first: int = 0, step: int = 15) -> Recording:
    return Recording.from_rows(np.arange(len(rows)) * step + first, rows)


def scaled_rows(recording: Recording) -> Rows:
    return [recording.row(t) for t in range(len(recording))]


def assert_same_rows(expected: Rows, actual: Rows) -> None:
    assert len(expected) == len(actual)
    for t, (one, other) in enumerate(zip(expected, actual, strict=True)):
        assert one.keys() == other.keys(), t
        for name in one:
            assert math.isclose(one[name], other[name], abs_tol=SCALED_TOLERANCE), (t, name)


def stream(state: ScalingState, times: Any, rows: Rows) -> Rows:
    """Scale row by row, as a stream does."""
    pairs = zip(times, rows, strict=True)
    return [state.scale(Recording.from_rows([time], [row])).row(0) for time, row in pairs]
