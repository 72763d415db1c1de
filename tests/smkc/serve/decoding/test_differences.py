"""Differences: each histogram against the one before it, in bounded memory."""

import math

import pytest

from smkc.serve.config import Limits
from smkc.serve.decoding.collecting import Collector
from smkc.serve.decoding.differences import FORGET_AFTER_SECONDS, Differences, Previous
from smkc.serve.intake.histograms import from_buckets
from smkc.serve.rows import LATEST_TIME

LABELS = {"__name__": "latency", "pod": "a"}
P50 = 'latency{pod="a",quantile="0.5"}'
NOW = 1_790_000_000_000
YEAR = 365 * 86_400_000


def counted(n):
    """A histogram of n observations between 1 and 2."""
    return from_buckets(n, 1.5 * n, [(1, 2, n)] if n else [])


def told(previous, *histograms, is_delta=False, keep=True, labels=LABELS, latest_time=LATEST_TIME):
    """Readings by name of one request with histograms at given times."""
    collector, differences = Collector(Limits()), Differences(previous, latest_time)
    for time, histogram in histograms:
        differences.add(collector, labels, time, histogram, is_delta=is_delta)
    samples = collector.samples()
    assert (differences.n_histograms, differences.n_readings) == (len(histograms), len(samples))
    if keep:
        differences.keep()
    found = {}
    for code, time, value in zip(samples.codes, samples.times, samples.values, strict=True):
        found.setdefault(samples.names[code], []).append((int(time), float(value)))
    return found


def test_the_first_one_has_a_count_and_a_sum_and_the_next_one_quantiles():
    previous = Previous()
    assert told(previous, (15, counted(4))) == {
        'latency_count{pod="a"}': [(15, 4.0)],
        'latency_sum{pod="a"}': [(15, 6.0)],
    }
    found = told(previous, (30, counted(8)))
    assert found == {
        'latency_count{pod="a"}': [(30, 8.0)],
        'latency_sum{pod="a"}': [(30, 12.0)],
        P50: [(30, 1.5)],
        'latency{pod="a",quantile="0.9"}': [(30, pytest.approx(1.9))],
        'latency{pod="a",quantile="0.99"}': [(30, pytest.approx(1.99))],
    }


def test_several_of_a_series_in_one_request():
    found = told(Previous(), *((n, counted(n)) for n in (1, 2, 4)))
    assert [time for time, _ in found[P50]] == [2, 4]


def test_a_request_that_was_not_stored_may_come_again():
    previous = Previous()
    told(previous, (15, counted(4)))
    first = told(previous, (30, counted(8)), (45, counted(9)), keep=False)
    assert told(previous, (30, counted(8)), (45, counted(9))) == first
    assert len(first[P50]) == 2


def test_without_new_observations_there_is_no_quantile():
    previous = Previous()
    told(previous, (15, counted(4)))
    assert P50 not in told(previous, (30, counted(4)))
    assert P50 in told(previous, (45, counted(5)))


def test_one_that_is_late_gives_no_quantiles_and_replaces_nothing():
    previous = Previous()
    told(previous, (30, counted(8)))
    for time in (15, 30):
        assert set(told(previous, (time, counted(4)))) == {
            'latency_count{pod="a"}',
            'latency_sum{pod="a"}',
        }
    assert previous.of('latency{pod="a"}').time == 30


@pytest.mark.parametrize("time", [-5, 2**62, NOW + YEAR])
@pytest.mark.parametrize("histogram", [counted(6), None], ids=["one", "gone"])
def test_one_at_an_impossible_time_does_not_change_what_follows(time, histogram):
    previous = Previous()
    told(previous, (NOW - 15_000, counted(4)), latest_time=NOW)
    assert P50 not in told(previous, (time, counted(6)), latest_time=NOW)
    found = told(previous, (time, histogram), (NOW, counted(8)), latest_time=NOW)
    assert (NOW, 1.5) in found[P50]
    assert previous.of('latency{pod="a"}').time == NOW


def test_one_that_counts_a_span_needs_no_other():
    previous = Previous()
    found = told(previous, (15, counted(4)), is_delta=True)
    assert found['latency_count_delta{pod="a"}'] == [(15, 4.0)]
    assert found[P50] == [(15, 1.5)]
    assert len(previous) == 0


def test_one_that_is_gone_is_forgotten():
    previous = Previous()
    told(previous, (15, counted(4)))
    found = told(previous, (30, None))
    assert len(found) == 5
    assert all(math.isnan(value) for ((_, value),) in found.values())
    assert len(previous) == 0
    assert P50 not in told(previous, (45, counted(9)))


def test_memory_has_an_end():
    previous = Previous(most_numbers=10_000)
    for n in range(5_000):
        told(previous, (n, counted(1)), labels={"__name__": "latency", "pod": f"p{n}"})
    assert 100 < len(previous) < 400
    assert previous.of('latency{pod="p4999"}') is not None  # the latest stay
    assert previous.of('latency{pod="p0"}') is None


def test_a_series_that_is_silent_is_forgotten():
    now = 0.0
    previous = Previous(clock=lambda: now)
    told(previous, (15, counted(1)))
    now = FORGET_AFTER_SECONDS / 2
    told(previous, (15, counted(1)), labels={"__name__": "other"})
    now = FORGET_AFTER_SECONDS + 1
    told(previous, (30, counted(1)), labels={"__name__": "other"})
    assert previous.of('latency{pod="a"}') is None
    assert previous.of("other").time == 30
