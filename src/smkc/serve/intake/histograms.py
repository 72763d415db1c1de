"""Histograms: counts of observations by value -> a few plain variables.

In: histograms with exponential or explicit buckets, cumulative or of a span. Out: count and sum,
and quantiles of the observations of a span, under names as Prometheus gives them to a summary.

The quantiles are those of Prometheus' function ``histogram_quantile``, up to version 2: within a
bucket, observations are assumed to be spread evenly.
"""

import math
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

QUANTILES = (0.5, 0.9, 0.99)
QUANTILE_LABEL = "quantile"

MOST_BUCKETS = 2_048  # of one histogram; exporters use up to 160
MIN_SCALE, MAX_SCALE = -10, 20  # OpenTelemetry's range; that of Prometheus is within it

LARGEST_EXPONENT = 1024  # 2 to this power is infinite in 64 bits
LARGEST_COUNT = 2.0**64

# Counts of a float histogram may differ by this share of the count through rounding.
ROUNDING = 1e-9

Floats = NDArray[np.float64]


class Part(NamedTuple):
    """One of the variables of a histogram: the ending of its metric, and its label if any."""

    ending: str
    quantile: str = ""


_OF_QUANTILES = tuple(Part("", f"{q:g}") for q in QUANTILES)
CUMULATIVE_PARTS = (Part("_count"), Part("_sum"), *_OF_QUANTILES)
DELTA_PARTS = (Part("_count_delta"), Part("_sum_delta"), *_OF_QUANTILES)


@dataclass(frozen=True, eq=False, slots=True)
class Histogram:
    """Numbers of observations by value.

    ``below`` are the (k,) numbers of observations at or below each of the (k,) ascending ``edges``.
    Every bucket with observations has both its ends among the edges, so that a number is known at
    any value that is not inside such a bucket. Without edges, only count and sum are known.
    """

    count: float
    sum: float
    edges: Floats = field(default_factory=lambda: np.empty(0))
    below: Floats = field(default_factory=lambda: np.empty(0))

    def since(self, previous: "Histogram") -> "Histogram | None":
        """Return the observations after a previous, cumulative histogram of the same series.

        If a count has decreased, counting has started anew, and all observations are returned. None
        if the buckets have changed so that the two cannot be compared.
        """
        new_count = self.count - previous.count
        if not new_count >= 0:
            return self
        before = previous._below(self.edges)
        if before is None:
            return None
        below = self.below - before
        slack = ROUNDING * self.count
        by_bucket = np.diff(below, prepend=0.0, append=new_count)
        if len(below) and (by_bucket < -slack).any():
            return self
        below = np.maximum.accumulate(np.maximum(below, 0.0)) if len(below) else below
        return Histogram(new_count, self.sum - previous.sum, self.edges, below)

    def quantile(self, q: float) -> float:
        """Return a quantile, 0 < q < 1; NaN if there are no observations or no buckets."""
        edges, below = self.edges, self.below
        if not self.count > 0 or not len(edges):
            return math.nan
        rank = q * self.count
        at = int(np.searchsorted(below, rank))
        if at == len(edges):  # observations that are NaN are in no bucket
            return float(edges[-1]) if math.isfinite(edges[-1]) else math.nan
        if at == 0:
            return math.nan
        lower, upper = float(edges[at - 1]), float(edges[at])
        if upper == math.inf:
            return lower if math.isfinite(lower) else math.nan
        if lower == -math.inf:
            if upper <= 0:
                return upper
            lower = 0.0
        elif lower < 0 <= upper:  # the zero bucket, if it is the first or the last one
            if at == 1 and len(edges) > 2:
                lower = 0.0
            elif at == len(edges) - 1 and at > 1:
                upper = 0.0
        share = (rank - float(below[at - 1])) / float(below[at] - below[at - 1])
        return lower + (upper - lower) * share

    def values(self, difference: "Histogram | None") -> tuple[float, ...]:
        """Return the values of the parts; quantiles are of ``difference``, NaN if it is None."""
        quantiles = (math.nan if difference is None else difference.quantile(q) for q in QUANTILES)
        return (self.count, self.sum, *quantiles)

    def _below(self, values: Floats) -> Floats | None:
        """Return the number at or below each value; None if one is inside a non-empty bucket."""
        if not len(self.edges):
            return np.zeros(len(values)) if self.count == 0 or not len(values) else None
        place = np.searchsorted(self.edges, values, side="right")
        here = np.concatenate([[0.0], self.below])[place]
        after = np.append(self.below, self.below[-1])[place]
        is_edge = (place > 0) & (self.edges[place - 1] == values)
        return None if ((after > here) & ~is_edge).any() else here


def with_ending(metric: str, ending: str) -> str:
    """Return a metric's name with an ending, unless it ends so already."""
    return metric if metric.endswith(ending) else metric + ending


def from_buckets(
    count: float, total: float, buckets: Sequence[tuple[float, float, float]]
) -> Histogram:
    """Return a histogram from its non-empty buckets: lower and upper end, and count, ascending.

    If the buckets overlap, have negative counts or are too many, they are left out.

    Examples
    --------
    >>> one = from_buckets(4, 10.0, [(1, 2, 2), (4, 8, 2)])
    >>> one.edges.tolist(), one.below.tolist()
    ([1.0, 2.0, 4.0, 8.0], [0.0, 2.0, 2.0, 4.0])
    >>> one.quantile(0.25), one.quantile(0.75)
    (1.5, 6.0)
    """
    if not buckets or len(buckets) > MOST_BUCKETS:
        return Histogram(count, total)
    lowers, uppers, counts = np.array(buckets, np.float64).T
    with np.errstate(all="ignore"):  # a zero bucket may be a point
        lowers = np.minimum(lowers, np.nextafter(uppers, -np.inf))
    is_sound = (lowers < uppers).all() and (uppers[:-1] <= lowers[1:]).all()
    if not is_sound or not ((counts >= 0) & (counts <= LARGEST_COUNT)).all():
        return Histogram(count, total)
    after = np.cumsum(counts)
    edges = np.column_stack([lowers, uppers]).ravel()
    below = np.column_stack([np.concatenate([[0.0], after[:-1]]), after]).ravel()
    is_new = np.append(True, edges[1:] > edges[:-1])
    return Histogram(count, total, edges[is_new], below[is_new])


def explicit(
    count: float, total: float, bounds: Collection[float], counts: Collection[float]
) -> Histogram:
    """Return a histogram from the bounds between its buckets, and the counts of all buckets.

    The first bucket has no lower end and the last one no upper end. If the numbers of bounds and
    counts do not fit or the bounds do not ascend, the buckets are left out.

    Examples
    --------
    >>> explicit(4, 10.0, [1.0, 2.0], [1, 2, 1]).quantile(0.5)
    1.5
    """
    if len(counts) != len(bounds) + 1 or not 2 <= len(counts) <= MOST_BUCKETS:
        return Histogram(count, total)
    edges = np.array([-math.inf, *bounds, math.inf])
    numbers = np.array([0.0, *counts], np.float64)
    is_sound = (edges[:-1] < edges[1:]).all()
    if not is_sound or not ((numbers >= 0) & (numbers <= LARGEST_COUNT)).all():
        return Histogram(count, total)
    return Histogram(count, total, edges, np.cumsum(numbers))


def exponential(
    count: float,
    total: float,
    scale: int,
    zero: tuple[float, float],
    negative: Iterable[tuple[int, float]],
    positive: Iterable[tuple[int, float]],
) -> Histogram:
    """Return a histogram from buckets whose ends are powers of 2 ** (2 ** -scale).

    ``zero`` is the width of the zero bucket to either side, and its count; the other buckets are
    pairs of index and count, ascending. The positive bucket of index i is from the power i - 1 to
    the power i, but not below the width of the zero bucket; the negative one is its mirror image.

    Examples
    --------
    >>> one = exponential(5, 9.0, 0, (0.0, 1), [], [(1, 2), (2, 2)])
    >>> one.quantile(0.9)
    3.5
    """
    if not MIN_SCALE <= scale <= MAX_SCALE:
        return Histogram(count, total)
    width, n_zero = zero
    below_zero, above_zero = (
        [(max(_power(at - 1, scale), width), _power(at, scale), float(n)) for at, n in side if n]
        for side in (negative, positive)
    )
    buckets = [(-upper, -lower, n) for lower, upper, n in reversed(below_zero)]
    if n_zero:
        buckets.append((-width, width, float(n_zero)))
    return from_buckets(count, total, buckets + above_zero)


def _power(index: int, scale: int) -> float:
    """Return an end of a bucket; of all scales, ends that are equal have the same bits."""
    exponent = math.ldexp(index, -scale)
    return math.exp2(exponent) if exponent < LARGEST_EXPONENT else math.inf
