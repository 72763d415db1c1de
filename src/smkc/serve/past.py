"""The past: rows that a watch would have had, asked of Prometheus and kept nowhere.

In: a watch and a span of time. Out: its rows by entity, some at a time, as a running service makes
them.
"""

from collections.abc import Iterator

from smkc.serve.config import WatchConfig
from smkc.serve.intake.bins import rows_of
from smkc.serve.intake.entities import Intake
from smkc.serve.prometheus.client import Prometheus
from smkc.serve.prometheus.scraping import scrape_interval
from smkc.serve.pulling import ROWS_PER_QUERY
from smkc.serve.rows import Row

__all__ = ["past_rows", "with_step"]


def with_step(watch: WatchConfig, prometheus: Prometheus, now: int) -> WatchConfig:
    """Return a watch with the step that it would have if it began now."""
    if watch.has_own_step:
        return watch
    step = scrape_interval(prometheus, watch.query, now)
    return watch if step is None else watch.with_step(step)


def past_rows(
    watch: WatchConfig, prometheus: Prometheus, start: int, end: int
) -> Iterator[tuple[str, list[Row]]]:
    """Yield entities with their next rows, in order of time.

    Parameters
    ----------
    start, end
        milliseconds, both multiples of the step; there may be a row at either.
    """
    intake = Intake(watch)
    names: dict[str, tuple[str, ...]] = {}
    for first in range(start, end + 1, ROWS_PER_QUERY * watch.step):
        last = min(first + (ROWS_PER_QUERY - 1) * watch.step, end)
        samples = prometheus.range(watch.query, first, last, watch.step)
        for entity, part in intake.by_entity(samples).items():
            known = frozenset(names.get(entity, ()))
            if rows := rows_of(part, watch.step, watch.max_series, known):
                names[entity] = rows[-1].names
                yield entity, rows
