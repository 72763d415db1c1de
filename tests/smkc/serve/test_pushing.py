"""A feed that was held up: what came on time is neither lost nor refused."""

import numpy as np
import pytest
from tests.following import START, STEP, FastClock, made_rows, push_config

from smkc.serve.inbox import pack_samples
from smkc.serve.intake import bins
from smkc.serve.intake.samples import Samples
from smkc.serve.lane import Lanes
from smkc.serve.live import LiveUpdates
from smkc.serve.pushing import PushFeed
from smkc.serve.store import Store

ROWS = made_rows(5, 200, churn=False)


@pytest.fixture
def clock():
    return FastClock(START, START + 10**9)


@pytest.fixture
def feed(tmp_path, clock):
    config = push_config(tmp_path)
    watch = config.watches[0]
    with Store.open(tmp_path) as store:
        lanes = Lanes(store, watch, config, LiveUpdates(), 256)
        lanes.open()
        yield PushFeed(watch, lanes, store, clock)
        lanes.close()


def send(feed, rows):
    """Put rows into the inbox, a body each."""
    for row in rows:
        samples = Samples(
            names=row.names,
            codes=np.arange(len(row.names)),
            times=np.full(len(row.names), row.time),
            values=row.values.astype(np.float64),
        )
        feed._store.put_inbox("shop", pack_samples(samples))


def n_rows(feed):
    return sum(lane.journal.n_rows for lane in feed._lanes)


def test_rows_that_came_while_it_was_busy_are_all_there(feed, clock):
    send(feed, ROWS[:2])
    feed.advance()
    send(feed, ROWS[2:])  # an hour and more, each on time, while a long fit kept the thread
    clock.step(200 * STEP)
    feed.advance()
    clock.step(2 * STEP)
    feed.advance()
    assert (n_rows(feed), feed.refused, feed.late) == (200, 0, 0)


def test_bodies_wait_in_the_inbox_while_there_is_no_room(feed, clock, monkeypatch):
    monkeypatch.setattr(bins, "MOST_ROWS", 16)
    send(feed, ROWS)
    clock.step(200 * STEP)
    for _ in range(60):
        feed.advance()
        clock.step(2 * STEP)
    assert (n_rows(feed), feed.refused, feed.late) == (200, 0, 0)
