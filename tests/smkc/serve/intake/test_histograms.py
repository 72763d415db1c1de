"""Histograms: quantiles as Prometheus computes them, of what was observed between two of them."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.naive_histograms import classic_quantile, exponential_counts, exponential_quantile

from smkc.serve.intake.histograms import (
    CUMULATIVE_PARTS,
    MOST_BUCKETS,
    QUANTILES,
    Histogram,
    explicit,
    exponential,
    from_buckets,
)

# No value is close to an end of a bucket, where rounding would decide.
MAGNITUDES = st.integers(-40, 40).map(lambda n: 2.0 ** (n / 4) * 1.0123)
VALUES = st.lists(st.builds(lambda sign, x: sign * x, st.sampled_from([1, 1, -1, 0]), MAGNITUDES))
SCALES = st.integers(-2, 6)
QS = st.sampled_from(QUANTILES) | st.floats(0.01, 0.99)


def built(values, scale, zero_threshold=0.0):
    n_zero, negative, positive = exponential_counts(values, scale, zero_threshold)
    sides = sorted(negative.items()), sorted(positive.items())
    return exponential(len(values), math.fsum(values), scale, (zero_threshold, n_zero), *sides)


def expected(q, new, every, scale, zero_threshold=0.0):
    """The quantile of what is new; the zero bucket is bounded by what there is in all."""
    signs = {math.copysign(1, value) for value in every if abs(value) > zero_threshold}
    sides = {"has_negative": -1 in signs, "has_positive": 1 in signs}
    return exponential_quantile(q, new, scale, zero_threshold, **sides)


def same(actual, wanted):
    if math.isnan(wanted):
        assert math.isnan(actual)
    else:
        assert actual == pytest.approx(wanted, rel=1e-9, abs=1e-300)


@given(values=VALUES, scale=SCALES, zero=st.sampled_from([0.0, 0.01, 1.0]), q=QS)
def test_quantiles_of_one_histogram(values, scale, zero, q):
    same(built(values, scale, zero).quantile(q), expected(q, values, values, scale, zero))


@given(old=VALUES, new=VALUES, scale=SCALES, zero=st.sampled_from([0.0, 0.01, 1.0]), q=QS)
def test_quantiles_of_what_came_since(old, new, scale, zero, q):
    every = old + new
    since = built(every, scale, zero).since(built(old, scale, zero))
    assert since.count == len(new)
    same(since.quantile(q), expected(q, new, every, scale, zero))
    assert since.sum == pytest.approx(math.fsum(new), abs=1e-9 * (1 + sum(map(abs, every))))


@given(old=VALUES, new=VALUES, scale=st.integers(0, 6), coarser=st.integers(1, 3), q=QS)
def test_a_histogram_may_become_coarser(old, new, scale, coarser, q):
    every = old + new
    since = built(every, scale - coarser).since(built(old, scale))
    same(since.quantile(q), expected(q, new, every, scale - coarser))


@given(old=VALUES, new=VALUES, scale=st.integers(0, 6), q=QS)
def test_the_zero_bucket_may_become_wider(old, new, scale, q):
    every = old + new
    since = built(every, scale, 0.25).since(built(old, scale, 0.0))
    same(since.quantile(q), expected(q, new, every, scale, 0.25))


@given(old=VALUES, new=VALUES, scale=SCALES)
def test_counting_that_starts_anew(old, new, scale):
    before, now = built([*old, *new, 3.3], scale), built(new, scale)
    assert now.since(before) is now


def test_a_bucket_that_decreases_is_a_new_start_although_the_count_grows():
    before = from_buckets(5, 5.0, [(1, 2, 5)])
    for now in ([(1, 2, 4), (2, 4, 9)], [(2, 4, 9)], [(0.5, 1, 9)]):
        found = from_buckets(13, 20.0, now)
        assert found.since(before) is found


def test_buckets_that_cannot_be_compared():
    before, now = from_buckets(2, 4.0, [(1, 4, 2)]), from_buckets(4, 8.0, [(1, 2, 2), (2, 4, 2)])
    assert now.since(before) is None
    assert now.since(Histogram(2, 4.0)) is None  # its buckets were not understood
    assert now.since(Histogram(0, 0.0)).quantile(0.25) == 1.5


@given(
    bounds=st.lists(st.integers(-9, 9), min_size=1, unique=True).map(sorted),
    data=st.data(),
    q=QS,
)
def test_explicit_bounds(bounds, data, q):
    size = {"min_size": len(bounds) + 1, "max_size": len(bounds) + 1}
    old, new = (data.draw(st.lists(st.integers(0, 5), **size)) for _ in range(2))
    every = [a + b for a, b in zip(old, new, strict=True)]
    since = explicit(sum(every), 0.0, bounds, every).since(explicit(sum(old), 0.0, bounds, old))
    same(since.quantile(q), classic_quantile(q, bounds, new))


@given(counts=st.lists(st.floats(0, 1e6), min_size=3, max_size=40), data=st.data())
def test_counts_that_are_fractions_do_not_start_anew_by_rounding(counts, data):
    more = data.draw(st.lists(st.floats(0, 1e-3), min_size=len(counts), max_size=len(counts)))
    ends = [(2.0**i, 2.0 ** (i + 1)) for i in range(len(counts))]
    both = [n + extra for n, extra in zip(counts, more, strict=True)]
    before, now = (
        from_buckets(math.fsum(some), 0.0, [(*end, n) for end, n in zip(ends, some, strict=True)])
        for some in (counts, both)
    )
    since = now.since(before)
    assert since is not now or math.fsum(counts) == 0 or math.fsum(both) < math.fsum(counts)
    assert (np.diff(since.below) >= 0).all()


BAD = {
    "overlapping": [(1, 4, 1), (2, 3, 1)],
    "descending": [(4, 8, 1), (1, 2, 1)],
    "negative": [(1, 2, -1)],
    "no number": [(1, 2, math.nan)],
    "no end": [(math.nan, 2, 1)],
    "endless": [(1, 2, math.inf)],
    "too many": [(n, n + 1, 1) for n in range(MOST_BUCKETS + 1)],
}


@pytest.mark.parametrize("buckets", BAD.values(), ids=BAD)
def test_buckets_that_make_no_sense_leave_count_and_sum(buckets):
    found = from_buckets(7, 3.5, buckets)
    assert (found.count, found.sum, len(found.edges)) == (7, 3.5, 0)
    values = found.values(found)
    assert values[:2] == (7, 3.5)
    assert all(map(math.isnan, values[2:]))
    assert len(values) == len(CUMULATIVE_PARTS)


@pytest.mark.parametrize(
    ("bounds", "counts"),
    [([], []), ([], [1]), ([1.0], [1, 2, 3]), ([2.0, 1.0], [1, 1, 1]), ([math.nan], [1, 1])],
)
def test_bounds_that_make_no_sense(bounds, counts):
    assert math.isnan(explicit(3, 1.0, bounds, counts).quantile(0.5))


@pytest.mark.parametrize("scale", [-11, 21, 2**31 - 1])
def test_scales_beyond_those_that_there_are(scale):
    assert math.isnan(exponential(1, 1.0, scale, (0.0, 0), [], [(1, 1)]).quantile(0.5))


def test_ends_beyond_all_numbers():
    found = exponential(2, 1.0, -10, (0.0, 0), [], [(1, 1), (2**31, 1)])
    assert math.isnan(found.quantile(0.99)) or found.quantile(0.99) > 1e300


def test_observations_that_are_nan_count_in_no_bucket():
    assert from_buckets(10, math.nan, [(1, 2, 5)]).quantile(0.9) == 2.0
