"""Native histograms in Prometheus' responses -> readings of their variables.

In: the histograms of one series, as the JSON parser read them. Out: their times, and the values of
each part of :mod:`smkc.serve.intake.histograms`.
"""

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from smkc.serve.intake.histograms import CUMULATIVE_PARTS, Histogram, from_buckets


def readings_of_histograms(
    pairs: list[Any], *, is_cumulative: bool, longest_gap_s: float = math.inf
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return (n,) times in seconds and (n, parts) values; unknown quantiles are NaN.

    The quantiles of cumulative histograms are those of the observations since the histogram before,
    unless that is more than ``longest_gap_s`` older. May raise ValueError.

    Examples
    --------
    >>> one = {"count": "2", "sum": "3", "buckets": [[0, "1", "2", "2"]]}
    >>> two = {"count": "4", "sum": "5", "buckets": [[0, "1", "2", "4"]]}
    >>> times, values = readings_of_histograms([[15, one], [30, two]], is_cumulative=True)
    >>> times.tolist(), values[:, :3].tolist()
    ([15.0, 30.0], [[2.0, 3.0, nan], [4.0, 5.0, 1.5]])
    """
    times, rows = [], []
    before: tuple[float, Histogram] | None = None
    try:
        for time, content in pairs:
            seconds, histogram = float(time), _histogram(content)
            new = None if is_cumulative else histogram
            if before is not None and seconds - before[0] <= longest_gap_s:
                new = histogram.since(before[1])
            if is_cumulative:
                before = seconds, histogram
            times.append(seconds)
            rows.append(histogram.values(new))
    except (KeyError, AttributeError, OverflowError, TypeError) as error:
        raise ValueError(f"this is not a native histogram: {error}") from None
    return np.array(times), np.array(rows).reshape(len(rows), len(CUMULATIVE_PARTS))


def _histogram(content: Any) -> Histogram:
    """Return a histogram; its buckets are lists of a rule for the ends, the ends and the count."""
    found = [
        (float(lower), float(upper), float(n)) for _, lower, upper, n in content.get("buckets", ())
    ]
    return from_buckets(float(content["count"]), float(content.get("sum", "nan")), found)
