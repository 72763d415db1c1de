"""Movement: each variable's own reach, what is too small to count, and counters as rates."""

import numpy as np
import pytest

from smkc.detector import Detector
from smkc.evidence.causes.movement import movements
from smkc.evidence.model import ReferenceEvidence
from smkc.recording import Recording

N = 600


def recording(columns, first=0):
    """A recording of equally long columns, a row a second."""
    n = len(next(iter(columns.values())))
    times = np.datetime64("2024-01-01", "ns") + (first + np.arange(n)) * np.timedelta64(1, "s")
    rows = [
        {name: float(x[at]) for name, x in columns.items() if x[at] == x[at]} for at in range(n)
    ]
    return Recording.from_rows(times, rows)


@pytest.fixture(scope="module")
def known():
    rng = np.random.default_rng(0)
    bursts = rng.normal(size=N)
    bursts[::10] += 30.0
    return ReferenceEvidence.fit(
        recording(
            {
                "plain": rng.normal(5.0, 1.0, size=N),
                "bursts": bursts,
                "memory": 1e8 + rng.normal(0.0, 10.0, size=N),
                "requests_total": np.cumsum(rng.poisson(100.0, size=N)),
            }
        )
    )


def moved(known, n=5, **columns):
    calm = {"plain": 5.0, "bursts": 0.0, "memory": 1e8}
    every = {name: np.full(n, value) for name, value in calm.items()} | columns
    return movements(recording(every, first=N), known)


def test_what_stays_in_its_range_did_not_move(known):
    assert moved(known) == {}


def test_a_variable_is_measured_by_its_own_reach(known):
    far = moved(known, plain=np.full(5, 35.0), bursts=np.full(5, 28.0))
    assert far["plain"] > 10
    assert "bursts" not in far, "it goes there in 10% of the reference"
    assert moved(known, bursts=np.full(5, -30.0))["bursts"] > 5, "it never goes down"


def test_memory_that_hardly_moved_must_move_by_a_share_of_its_level(known):
    assert "memory" not in moved(known, memory=np.full(5, 1.005e8)), (
        "half a percent, 50,000 spreads"
    )
    assert moved(known, memory=np.full(5, 1.5e8))["memory"] == pytest.approx(50.0, rel=0.01)


def test_counters_count_by_their_rate(known):
    usual = np.cumsum(np.full(5, 100.0)) + 1e6
    assert "requests_total" not in moved(known, requests_total=usual)
    assert moved(known, requests_total=np.cumsum(np.full(5, 1000.0)) + 1e6)["requests_total"] > 10


def test_strangers_and_the_absent_have_no_movement(known):
    far = moved(known, plain=np.full(5, np.nan), stranger=np.full(5, 1e9))
    assert far == {}


def test_the_mover_is_blamed_before_memory_that_drifted_a_little():
    rng = np.random.default_rng(3)
    values = {f"v{at}": rng.normal(5.0, 1.0, size=N + 100) for at in range(4)}
    values["memory"] = 1e8 + rng.normal(0.0, 10.0, size=N + 100)
    values["memory"][N:] += 2e5
    values["v2"][N + 60 :] += 80.0
    detector = Detector().fit(recording({name: x[:N] for name, x in values.items()}))
    live = recording({name: x[N:] for name, x in values.items()}, first=N)
    causes = detector.explain(live, live.times[60], live.times[-1])
    assert causes[0].variable == "v2"
    assert sum(cause.share for cause in causes) == pytest.approx(1.0, abs=0.1)


@pytest.mark.parametrize(("stepped", "first"), [(20, "v2"), (60, "peak")])
def test_a_value_that_has_not_changed_since_before_the_trouble_is_no_cause(stepped, first):
    rng = np.random.default_rng(3)
    values = {f"v{at}": rng.normal(5.0, 1.0, size=N + 100) for at in range(4)}
    values["peak"] = np.full(N + 100, 2e6)
    values["peak"][N // 2 :] += 3e3  # it grew once in the reference
    values["peak"][N + stepped :] = 9e7
    values["v2"][N + 60 :] += 10.0
    detector = Detector().fit(recording({name: x[:N] for name, x in values.items()}))
    live = recording({name: x[N:] for name, x in values.items()}, first=N)
    causes = detector.explain(live, live.times[60], live.times[-1])
    assert causes[0].variable == first
