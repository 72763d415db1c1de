"""Rate: never more than the limit allows, never less, and memory stays bounded."""

import numpy as np
import pytest

from smkc.serve.api import limits as module
from smkc.serve.api.limits import Rate


@pytest.mark.parametrize("a_minute", [1, 30, 600])
def test_no_minute_lets_more_through_than_twice_the_bucket(a_minute, rng: np.random.Generator):
    rate = Rate(a_minute)
    times = np.sort(rng.uniform(0, 300, 5000))
    passed = np.array([time for time in times if rate.wait("a", float(time)) == 0])
    for start in range(0, 240, 7):
        n = int(((passed >= start) & (passed < start + 60)).sum())
        assert n <= 2 * a_minute
    assert len(passed) <= a_minute + 300 * a_minute / 60 + 1
    assert len(passed) >= min(5000, a_minute)


def test_waiting_as_told_is_enough():
    rate = Rate(30)
    now = 0.0
    while not (wait := rate.wait("a", now)):
        now += 0.01
    assert rate.wait("a", now + wait / 2) > 0
    assert rate.wait("a", now + wait) == 0


def test_time_that_goes_back_gives_nothing_away():
    rate = Rate(60)
    assert sum(rate.wait("a", 100.0 - 10.0 * i) == 0 for i in range(100)) == 60


def test_clients_do_not_share(monkeypatch):
    monkeypatch.setattr(module, "MOST_CLIENTS", 10)
    rate = Rate(1)
    assert all(rate.wait(str(i), 0.0) == 0 for i in range(1000))
    assert len(rate._clients) == 10
    assert rate.wait("999", 0.0) > 0
