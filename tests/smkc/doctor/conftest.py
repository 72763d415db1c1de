"""Small recordings whose truth is known, and simple detectors with the public methods."""

import math
from typing import Any

import numpy as np
import pytest

from smkc.decide import Alert
from smkc.doctor import HeldOut, hold_out
from smkc.recording import Recording


def table(
    values: np.ndarray, names: list[str] | None = None, first: int = 0, step: int = 30
) -> Recording:
    """Make a recording of (T, V) values, so many seconds apart; NaN is missing."""
    n_rows, n_variables = values.shape
    rows, codes = np.nonzero(np.isfinite(values))
    names = names or [f"v{at}" for at in range(n_variables)]
    times = np.datetime64("2026-01-05T00:00:00", "ns") + (
        (first + np.arange(n_rows)) * np.timedelta64(step, "s")
    )
    return Recording.from_observations(times, rows, codes, values[rows, codes], names)


def made(rng: np.random.Generator, rows: int, n_pairs: int = 3) -> Recording:
    """Make pairs of variables that move together around levels of their own."""
    common = rng.normal(size=(rows, n_pairs))
    values = np.repeat(common, 2, axis=1) + 0.3 * rng.normal(size=(rows, 2 * n_pairs))
    return table(values + 10 * np.arange(2 * n_pairs))


@pytest.fixture
def held(rng: np.random.Generator) -> HeldOut:
    whole = made(rng, 1000)
    return hold_out(whole.rows(0, 600), whole.rows(600), 16, {})


class Deviation:
    """Scores a row by its mean deviation, times ``sign``; 0 makes the scores constant."""

    def __init__(self, sign: float = 1.0, false_alarm_rate: float = 0.01) -> None:
        self.sign = sign
        self.false_alarm_rate = false_alarm_rate

    def get_params(self) -> dict[str, Any]:
        return {"sign": self.sign, "false_alarm_rate": self.false_alarm_rate}

    def set_params(self, **settings: Any) -> "Deviation":
        vars(self).update(settings)
        return self

    def fit(self, reference: Recording) -> "Deviation":
        traces = {name: reference.trace(name) for name in reference.names}
        self.known = {
            name: (np.nanmedian(trace), np.nanstd(trace)) for name, trace in traces.items()
        }
        self.normal = self.decision_function(reference)
        return self

    def decision_function(self, recording: Recording) -> np.ndarray:
        total, count = np.zeros(len(recording)), np.zeros(len(recording))
        for name in recording.names:
            if name in self.known:
                middle, spread = self.known[name]
                away = np.abs(recording.trace(name) - middle) / spread
                total += np.nan_to_num(away) ** 2
                count += np.isfinite(away)
        return self.sign * total / np.maximum(count, 1)

    def p_values(self, recording: Recording) -> np.ndarray:
        scores = self.decision_function(recording)
        n_above = (self.normal[:, None] >= scores).sum(axis=0)
        return (1 + n_above) / (1 + len(self.normal))

    @property
    def threshold_(self) -> float:
        return float(np.quantile(self.normal, 1 - self.false_alarm_rate))

    def alerts(self, recording: Recording, explain: bool = True) -> list[Alert]:
        over = np.flatnonzero(self.decision_function(recording) > self.threshold_)
        return [
            Alert(
                start=recording.times[row],
                end=recording.times[row],
                peak=recording.times[row],
                score=1.0,
                p_value=math.nan,
                first_row=int(row),
                last_row=int(row),
            )
            for row in over
        ]
