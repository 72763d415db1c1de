"""Scraping: the number of a query's series, and their scrape interval by the times of ``up``.

In: a client and a query. Out: the number, and the interval. Every scrape writes a sample of
``up``, so queries are enough to find the interval. Reading the configuration or the list of targets
is not permitted to most users, and Thanos, Mimir and VictoriaMetrics do not have them.
"""

from collections import Counter

import numpy as np

from smkc.recording import parse
from smkc.serve.prometheus.client import Prometheus, SourceError

# Milliseconds of ``up`` that are read. Prometheus shows no series that is scraped less often than
# every 5 minutes, so this contains at least 3 scrapes.
SPAN = 900_000

SECOND, TENTH = 1_000, 100  # milliseconds to which intervals from 1 s up, and below, are rounded

Source = tuple[str, str]


def scrape_interval(prometheus: Prometheus, query: str, now: int) -> int | None:
    """Return the scrape interval of a query's series in milliseconds.

    If its series have different intervals, the commonest one is returned; if their labels do not
    name a target (job and instance), the interval of most targets. The result is None if there are
    too few samples of ``up``, or if the server refuses the query. An error after which a retry may
    help is raised.
    """
    try:
        scrapes = prometheus.stored("up", now, SPAN)
        if not len(scrapes):
            return None
        series = prometheus.range(query, now, now, SECOND)
    except SourceError as error:
        if error.retry:
            raise
        return None
    n_series = Counter(map(_source, series.names))
    votes: Counter[int] = Counter()
    of_all: Counter[int] = Counter()
    order = np.lexsort((scrapes.times, scrapes.codes))
    ends = np.cumsum(np.bincount(scrapes.codes, minlength=len(scrapes.names)))
    for name, times in zip(scrapes.names, np.split(scrapes.times[order], ends[:-1]), strict=True):
        if len(times) > 1:
            interval = _rounded(float(np.median(np.diff(times))))
            votes[interval] += n_series[_source(name)]
            of_all[interval] += 1
    chosen = +votes or of_all
    return max(chosen, key=lambda interval: (chosen[interval], interval), default=None)


def number_of_series(prometheus: Prometheus, query: str, now: int) -> int:
    """Return the number of a query's series; 0 if the server refuses the query.

    An error after which a retry may help is raised.
    """
    try:
        return len(prometheus.range(query, now, now, SECOND).names)
    except SourceError as error:
        if error.retry:
            raise
        return 0


def _source(name: str) -> Source:
    """Return the target of a series: its job and its instance."""
    _, labels = parse(name) or ("", {})
    return labels.get("job", ""), labels.get("instance", "")


def _rounded(gap: float) -> int:
    """Round a gap between scrapes, which jitters by some milliseconds, to a plausible interval."""
    unit = SECOND if gap >= 0.95 * SECOND else TENTH
    return max(round(gap / unit) * unit, TENTH)
