"""What is pushed: followed like what is asked for, and neither lost nor refused when held up."""

from collections import deque

import numpy as np
import pytest
from tests.following import START, STEP, FastClock, made_rows, push_config, wait_until
from tests.smkc.serve.service_parts import (
    ROWS,
    journal_of,
    numbers_of,
    running,
    samples_of,
    time_of,
)

from smkc.serve.feeds import PushFeed
from smkc.serve.intake import bins
from smkc.serve.intake.samples import Samples, pack_samples
from smkc.serve.lane import Lanes
from smkc.serve.rows import LATEST_TIME
from smkc.serve.store import Store

STEADY = made_rows(5, 200, churn=False)


@pytest.fixture
def clock():
    return FastClock(START, START + 10**9)


@pytest.fixture
def feed(tmp_path, clock):
    config = push_config(tmp_path)
    watch = config.watches[0]
    with Store.open(tmp_path) as store:
        lanes = Lanes(store, watch, config, deque())
        lanes.open()
        yield PushFeed(lanes, store, clock)
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
    send(feed, STEADY[:2])
    feed.advance()
    send(feed, STEADY[2:])  # an hour and more, each on time, while a long fit kept the thread
    clock.step(200 * STEP)
    feed.advance()
    clock.step(2 * STEP)
    feed.advance()
    assert (n_rows(feed), feed.counts["refused"], feed.counts["late"]) == (200, 0, 0)


def test_bodies_wait_in_the_inbox_while_there_is_no_room(feed, clock, monkeypatch):
    monkeypatch.setattr(bins, "MAX_OPEN_ROWS", 16)
    send(feed, STEADY)
    clock.step(200 * STEP)
    for _ in range(60):
        feed.advance()
        clock.step(2 * STEP)
    assert (n_rows(feed), feed.counts["refused"], feed.counts["late"]) == (200, 0, 0)


# ---------------------------------------------------------------------- in the service


def push(service, clock, rows, at_once=1):
    """Send rows, each when it is time."""
    for first in range(0, len(rows), at_once):
        part = rows[first : first + at_once]
        clock.limit = part[-1].time
        wait_until(lambda end=part[-1].time: clock.now() >= end)
        assert service.receive(None, samples_of(part)).watches == ("shop",)


def test_pushed_rows_are_followed_and_a_restart_loses_none(tmp_path):
    config = push_config(tmp_path)
    clock = FastClock(START, START)
    with running(config, clock) as service:
        push(service, clock, ROWS[:250], at_once=5)
    with running(config, clock) as service:
        push(service, clock, ROWS[250:330])
        clock.limit = time_of(332)
        wait_until(lambda: journal_of(service).n_rows == 330)
        assert numbers_of(service) == list(range(330))
        status = service.watches()[0]
        assert (status.phase, status.source, status.late) == ("following", "push", 0)
        assert len(service.store.alerts()) == 1
        wait_until(lambda: service.watches()[0].inbox == 0)


def test_late_doubled_and_foreign_samples_are_counted(tmp_path):
    config = push_config(tmp_path, match={"host": "h[0-9]+"})
    clock = FastClock(START, START)
    with running(config, clock) as service:
        push(service, clock, ROWS[:10])
        clock.limit = time_of(12)
        wait_until(lambda: journal_of(service).n_rows == 10)
        service.receive("shop", samples_of(ROWS[3:4]))
        service.receive("shop", samples_of([*ROWS[12:13], *ROWS[12:13]]))
        other = Samples(
            names=("up",), codes=np.zeros(1, int), times=np.array([START]), values=np.ones(1)
        )
        assert service.receive(None, other).watches == ()
        clock.limit = time_of(14)
        wait_until(lambda: journal_of(service).n_rows == 11)
        status = service.watches()[0]
        assert (status.late, status.duplicates) == (12, 12)


def test_a_sample_of_the_far_future_neither_stays_nor_blocks(tmp_path):
    config = push_config(tmp_path)
    clock = FastClock(START, START)
    with running(config, clock) as service:
        push(service, clock, ROWS[:3])
        far = samples_of(ROWS[4:5])
        service.receive("shop", Samples(**vars(far) | {"times": far.times + 10**11}))
        push(service, clock, ROWS[3:8])
        clock.limit = time_of(10)
        wait_until(lambda: journal_of(service).n_rows == 8)
        wait_until(lambda: service.watches()[0].inbox == 0)
        assert service.watches()[0].refused == 12


def test_a_damaged_body_is_left_out_and_said(tmp_path):
    config = push_config(tmp_path)
    clock = FastClock(START, START)
    with running(config, clock) as service:
        service.store.put_inbox("shop", b"damaged")
        push(service, clock, ROWS[:5])
        clock.limit = time_of(7)
        wait_until(lambda: journal_of(service).n_rows == 5)
        wait_until(lambda: service.watches()[0].inbox == 0)
        assert service.watches()[0].errors == {"decode": 1}


# ---------------------------------------------------------------------- what nobody can have meant


def sample_at(time, name='load{host="h1"}', value=1.0):
    """Return one sample at a time in milliseconds."""
    return Samples(
        names=(name,), codes=np.zeros(1, int), times=np.array([time]), values=np.array([value])
    )


@pytest.mark.parametrize("time", [-60_000, -1, LATEST_TIME, LATEST_TIME + 1, -(2**63), 2**63 - 1])
def test_an_impossible_time_in_the_inbox_does_not_stop_the_watch(feed, clock, time):
    send(feed, STEADY[:2])
    feed._store.put_inbox("shop", pack_samples(sample_at(time)))
    send(feed, STEADY[2:10])
    clock.step(12 * STEP)
    feed.advance()
    clock.step(2 * STEP)
    feed.advance()
    assert (n_rows(feed), feed.counts["refused"]) == (10, 1)
    if time < 0 or time > LATEST_TIME:
        assert feed.errors == {"decode": 1}
    assert feed._store.n_inbox("shop") == 0


def test_an_impossible_time_of_one_entity_does_not_stop_the_others(tmp_path):
    config = push_config(tmp_path, entity="host")
    clock = FastClock(START, START)
    with running(config, clock) as service:
        service.store.put_inbox("shop", pack_samples(sample_at(-60_000)))
        push(service, clock, STEADY[:5])
        clock.limit = time_of(7)
        for entity in ("h0", "h1", "h2"):
            wait_until(lambda entity=entity: journal_of(service, entity).n_rows == 5)
        wait_until(lambda: service.watches()[0].inbox == 0)
        assert service.watches()[0].errors == {"decode": 1}


def test_impossible_times_are_refused_at_the_door_and_the_others_taken(tmp_path):
    config = push_config(tmp_path)
    with running(config, FastClock(START, START)) as service:
        good = samples_of(STEADY[:1])
        times = good.times.copy()
        times[3] = -5
        received = service.receive(None, Samples(**vars(good) | {"times": times}))
        assert (received.samples, received.refused) == (len(good) - 1, 1)
        for word in ("1 of 12", "-5", "h11", "milliseconds since 1970"):
            assert word in received.refusal
        nothing = service.receive(None, sample_at(2**62))
        assert (nothing.samples, nothing.refused, nothing.watches) == (0, 1, ())


@pytest.mark.parametrize("value", [np.inf, -np.inf, 1e39])
def test_an_infinite_value_is_said_to_be_one(feed, clock, value):
    send(feed, STEADY[:3])
    feed._store.put_inbox("shop", pack_samples(sample_at(START + STEP, "broken", value)))
    clock.step(5 * STEP)
    feed.advance()
    clock.step(2 * STEP)
    feed.advance()
    assert (n_rows(feed), feed.counts["infinite"], feed.counts["refused"]) == (3, 1, 0)
    (lane,) = feed._lanes
    assert lane.status(0).problems == ()  # it is not too many variables
    (problem,) = feed.problems.values()
    assert "1 infinite value" in problem
    assert "'broken'" in problem
    send(feed, STEADY[10:11])
    clock.step(10 * STEP)
    feed.advance()
    clock.step(2 * STEP)
    feed.advance()
    assert feed.problems == {}
