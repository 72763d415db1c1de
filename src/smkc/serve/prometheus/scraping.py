"""Scraping: how often Prometheus reads the series of a query, from the times of its own ``up``.

In: a client and a query. Out: the scrape interval. Every scrape writes a sample of ``up``, so that
the interval is seen wherever queries are answered; the configuration and the list of targets are
kept from most readers, and Thanos, Mimir and VictoriaMetrics have none.
"""

from collections import Counter

import numpy as np

from smkc.recording import parse
from smkc.serve.prometheus.client import Prometheus, SourceError

__all__ = ["scrape_interval"]

# Milliseconds that are looked back. Prometheus shows no series that is read less often than every
# 5 minutes, so that there are at least 3 scrapes in it.
SPAN = 900_000

SECOND, TENTH = 1_000, 100  # milliseconds that intervals are rounded to; below a second, the latter

Source = tuple[str, str]


def scrape_interval(prometheus: Prometheus, query: str, now: int) -> int | None:
    """Return how many milliseconds lie between two scrapes of a query's series.

    Where its series are read at different intervals, that of most of them; where they do not say
    what they were read from, that of most targets. None where nothing shows it, or where the
    server does not let it be asked; a failure that may pass is raised.

    Parameters
    ----------
    query
        PromQL.
    now
        milliseconds since 1970, UTC.
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


def _source(name: str) -> Source:
    """Return what a series was read from: its job and its instance."""
    _, labels = parse(name) or ("", {})
    return labels.get("job", ""), labels.get("instance", "")


def _rounded(gap: float) -> int:
    """Return a gap without the moment by which a scrape is early or late."""
    unit = SECOND if gap >= 0.95 * SECOND else TENTH
    return max(round(gap / unit) * unit, TENTH)
