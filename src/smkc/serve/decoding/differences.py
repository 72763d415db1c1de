"""Differences: pushed histograms, each compared with the previous one of its series -> readings.

In: histograms of requests. Out: the variables of each, in the request's collector. The latest
histogram of each series is kept in memory, within a limit, and is forgotten with the series. One
at an impossible time is not kept, since all that follow it would seem late.
"""

import math
import threading
import time
from collections import OrderedDict
from collections.abc import Callable, Mapping
from typing import NamedTuple

from smkc.serve.decoding.collecting import METRIC_LABEL, Collector, series_name
from smkc.serve.intake.histograms import (
    CUMULATIVE_PARTS,
    DELTA_PARTS,
    QUANTILE_LABEL,
    Histogram,
    with_ending,
)
from smkc.serve.rows import LATEST_TIME

# Numbers of 8 bytes that the kept histograms may have together, with their names: 128 MiB, or some
# 200,000 series of 30 buckets each.
MOST_NUMBERS = 1 << 24
NUMBERS_BESIDE = 32  # of an entry, besides its edges, its counts and its name

FORGET_AFTER_SECONDS = 3_600.0


class Stamped(NamedTuple):
    """A histogram and its time in milliseconds."""

    time: int
    histogram: Histogram


class Previous:
    """The latest histogram of each series, for all requests; thread-safe.

    A series that sent nothing for an hour is forgotten, as are those that were silent longest if
    there are too many.
    """

    def __init__(
        self, most_numbers: int = MOST_NUMBERS, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._most, self._clock = most_numbers, clock
        self._kept: OrderedDict[str, tuple[float, Stamped]] = OrderedDict()
        self._n_numbers = 0
        self._lock = threading.Lock()

    def __len__(self) -> int:
        return len(self._kept)

    def of(self, name: str) -> Stamped | None:
        """Return the latest histogram of a series."""
        with self._lock:
            found = self._kept.get(name)
        return None if found is None else found[1]

    def keep(self, latest: Mapping[str, Stamped | None]) -> None:
        """Replace histograms, or remove those of series that are gone."""
        now = self._clock()
        with self._lock:
            for name, stamped in latest.items():
                self._remove(name)
                if stamped is not None:
                    self._kept[name] = now, stamped
                    self._n_numbers += _size(name, stamped)
            while self._kept:
                name, (arrived, _) = next(iter(self._kept.items()))
                if now - arrived <= FORGET_AFTER_SECONDS and self._n_numbers <= self._most:
                    break
                self._remove(name)

    def _remove(self, name: str) -> None:
        found = self._kept.pop(name, None)
        if found is not None:
            self._n_numbers -= _size(name, found[1])


class Differences:
    """The histograms of one request.

    Those before 1970 or after ``latest_time`` (in milliseconds) are compared with no others.
    ``n_histograms`` and ``n_readings`` count what was added. Call :meth:`keep` once the request is
    stored: a request that was refused and is sent again gives the same readings.
    """

    def __init__(self, previous: Previous | None = None, latest_time: int = LATEST_TIME) -> None:
        self._previous = Previous() if previous is None else previous
        self._latest_time = latest_time
        self._latest: dict[str, Stamped | None] = {}
        self.n_histograms = self.n_readings = 0

    def add(
        self,
        collector: Collector,
        labels: Mapping[str, str],
        time: int,
        histogram: Histogram | None,
        *,
        is_delta: bool,
    ) -> None:
        """Add the variables of a histogram, with its time in milliseconds; None if it is gone.

        A histogram with ``is_delta`` counts the observations of a span, others all since a start.
        Unknown quantiles are left out, such as those of the first histogram of a series.
        """
        parts = DELTA_PARTS if is_delta else CUMULATIVE_PARTS
        if histogram is None:
            values: tuple[float, ...] = (math.nan,) * len(parts)
            if self._is_plausible(time):
                self._latest[series_name(labels.items())] = None
        else:
            new = histogram if is_delta else self._since(labels, Stamped(time, histogram))
            values = histogram.values(new)
        self.n_histograms += 1
        for part, value in zip(parts, values, strict=True):
            if histogram is not None and math.isnan(value):
                continue
            own = dict(labels)
            own[METRIC_LABEL] = with_ending(own.get(METRIC_LABEL, ""), part.ending)
            if part.quantile:
                own[QUANTILE_LABEL] = part.quantile
            collector.add(collector.code(series_name(own.items())), time, value)
            self.n_readings += 1

    def keep(self) -> None:
        """Make the histograms of this request the previous ones of the next."""
        self._previous.keep(self._latest)

    def _is_plausible(self, time: int) -> bool:
        return 0 <= time <= self._latest_time

    def _since(self, labels: Mapping[str, str], now: Stamped) -> Histogram | None:
        if not self._is_plausible(now.time):
            return None
        name = series_name(labels.items())
        before = self._latest[name] if name in self._latest else self._previous.of(name)
        if before is not None and now.time <= before.time:
            return None
        self._latest[name] = now
        return None if before is None else now.histogram.since(before.histogram)


def _size(name: str, stamped: Stamped) -> int:
    return 2 * len(stamped.histogram.edges) + len(name) // 8 + NUMBERS_BESIDE
