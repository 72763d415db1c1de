"""Histograms in plain loops, as Prometheus 2 defines them; imports nothing of the project.

Sources: histogramQuantile and bucketQuantile in promql/quantile.go.
"""

import math


def index_of(value, scale):
    """Return the index of the exponential bucket that holds a positive value."""
    return math.ceil(math.log2(value) * 2.0**scale)


def exponential_counts(values, scale, zero_threshold):
    """Return the count of the zero bucket, and index -> count of negative and positive buckets."""
    n_zero, negative, positive = 0, {}, {}
    for value in values:
        if abs(value) <= zero_threshold:
            n_zero += 1
            continue
        side = positive if value > 0 else negative
        index = index_of(abs(value), scale)
        side[index] = side.get(index, 0) + 1
    return n_zero, negative, positive


def exponential_quantile(q, values, scale, zero_threshold, *, has_negative, has_positive):
    """Return a quantile of observations that were counted in exponential buckets."""
    if not values:
        return math.nan
    n_zero, negative, positive = exponential_counts(values, scale, zero_threshold)
    base = 2.0 ** (2.0**-scale)
    buckets = [(-(base**i), -(base ** (i - 1)), negative[i]) for i in sorted(negative)[::-1]]
    if n_zero:
        lower = 0.0 if has_positive and not has_negative else -zero_threshold
        upper = 0.0 if has_negative and not has_positive else zero_threshold
        buckets.append((lower, upper, n_zero))
    buckets += [(base ** (i - 1), base**i, positive[i]) for i in sorted(positive)]
    rank, seen = q * len(values), 0
    for lower, upper, count in buckets:
        lower = zero_threshold if 0 < lower < zero_threshold else lower
        upper = -zero_threshold if -zero_threshold < upper < 0 else upper
        if seen + count >= rank:
            return lower + (upper - lower) * (rank - seen) / count
        seen += count
    return buckets[-1][1]


def classic_quantile(q, bounds, counts):
    """Return a quantile of counts between bounds; the first and the last bucket are open."""
    total = sum(counts)
    if not total:
        return math.nan
    rank, seen, at = q * total, 0, 0
    while seen + counts[at] < rank:
        seen += counts[at]
        at += 1
    if at == len(bounds):
        return bounds[-1]
    if at == 0 and bounds[0] <= 0:
        return bounds[0]
    lower = bounds[at - 1] if at else 0.0
    return lower + (bounds[at] - lower) * (rank - seen) / counts[at]
