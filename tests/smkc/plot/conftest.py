"""A small watched recording with one planted fault, and what a real detector says of it."""

from dataclasses import dataclass

import numpy as np
import pytest

from smkc.decide import Alert, Scored
from smkc.paper import KnnDetector
from smkc.recording import Recording

HOSTILE = '<img src=x onerror="alert(1)">&</script><script>alert(2)</script>%{x} $a$'


@dataclass(frozen=True)
class Watched:
    recording: Recording
    detector: KnnDetector
    alerts: list[Alert]
    scored: Scored


def make_recording(rng: np.random.Generator, rows: int, names: list[str]) -> Recording:
    start = np.datetime64("2026-01-05T00:00:00", "ns")
    times = start + np.arange(rows) * np.timedelta64(15, "s")
    values = rng.normal(size=(rows, len(names))) + 5
    return Recording.from_observations(
        times,
        np.repeat(np.arange(rows), len(names)),
        np.tile(np.arange(len(names)), rows),
        values.ravel(),
        names,
    )


@pytest.fixture(scope="session")
def watched() -> Watched:
    rng = np.random.default_rng(5)
    names = ["cpu", "mem", "disk", HOSTILE]
    detector = KnnDetector(window=16, false_alarm_rate=0.01).fit(make_recording(rng, 1500, names))
    live = make_recording(rng, 400, names)
    trace = live.values.copy()
    hostile = live.names.index(HOSTILE)
    is_fault = (live.codes == hostile) & (live.row_numbers >= 200) & (live.row_numbers < 210)
    trace[is_fault] += 40 * rng.normal(size=int(is_fault.sum())).astype(np.float32)
    live = live.with_values(trace)
    scored = detector.score(live)
    alerts = scored.alerts()
    assert any(alert.first_row <= 205 <= alert.last_row for alert in alerts)
    return Watched(live, detector, alerts, scored)
