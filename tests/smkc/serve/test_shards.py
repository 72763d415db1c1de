"""Shards and replicas: processes that share the entities, and processes that do the same twice."""

import json
import sqlite3
import time
from contextlib import closing

import numpy as np
import pytest
from tests.following import START, STEP, FastClock, Playback, pull_config, push_config, wait_until
from tests.prometheus_server import real_alertmanager
from tests.smkc.serve.delivery.parts import eventually, server
from tests.smkc.serve.service_parts import (
    FAULT,
    N_ROWS,
    NOW,
    ROWS,
    follow_until,
    journal_of,
    keys_of,
    numbers_of,
    running,
    samples_of,
    settings,
    time_of,
    values_at,
)

from smkc.serve.config import config_of, read_shard
from smkc.serve.metrics import render

ENTITIES = ("cart", "pay", "search", "mail")  # of two shards, "pay" is in the first


def of_entities(at):
    """What the made-up system shows, once for each entity."""
    return {
        name.replace("{", f'{{ns="{entity}",'): value
        for entity in ENTITIES
        for name, value in values_at(at).items()
    }


@pytest.fixture
def split():
    with Playback(of_entities).running() as made:
        yield made


def followed(config, until=260):
    """Entity -> its rows and scores, and its metrics, as one service follows them."""
    clock, found = FastClock(NOW, NOW), {}
    with running(config, clock) as service:
        wait_until(lambda: service.watches()[0].phase == "following")  # all have their models
        for entity in service.entities("shop"):
            follow_until(service, clock, until, entity)
        for entity in service.entities("shop"):
            verdicts = journal_of(service, entity).verdicts(None, time_of(until), 10_000)
            metrics = metrics_of_lanes(service, entity)
            found[entity] = numbers_of(service, entity), verdicts["score"].tolist(), metrics
        assert service.health().ok, service.health().problems
    return found


def metrics_of_lanes(service, entity):
    """Return the series of /metrics that are of one lane."""
    lines = render(service).decode().splitlines()
    return [line.rpartition(" ")[0] for line in lines if f'entity="{entity}"' in line]


def test_shards_follow_together_what_one_process_follows(split, tmp_path):
    config = pull_config(split.url, tmp_path, **settings(entity="ns"))
    whole = followed(config)
    first, second = (followed(config.of_shard(read_shard(f"{n}/2"))) for n in (1, 2))
    assert set(first) == {"pay"}
    assert set(second) == {"cart", "mail", "search"}
    assert first | second == whole
    assert all(len(scores) >= 20 for _, scores, _ in whole.values())
    # One Prometheus may scrape all parts: what they tell of lanes is that of one process, once.
    told = [[series for *_, told in part.values() for series in told] for part in (first, second)]
    assert all('watch="shop"' in series for part in told for series in part)
    assert any(series.startswith("anomaly_score{") for series in told[0])
    assert set(told[0]) & set(told[1]) == set()
    assert len(set(told[0] + told[1])) == len(told[0] + told[1])
    assert sorted(one.name for one in tmp_path.glob("shard-*")) == ["shard-1-of-2", "shard-2-of-2"]


def test_a_shard_without_entities_is_healthy(split, tmp_path):
    config = pull_config(split.url, tmp_path, **settings(entity="ns"))
    assert not any(read_shard("10/11").holds(entity) for entity in ENTITIES)
    clock = FastClock(NOW, NOW)
    with running(config.of_shard(read_shard("10/11")), clock) as service:
        wait_until(lambda: service.watches()[0].phase == "following")
        clock.limit = time_of(300)
        wait_until(lambda: clock.now() >= time_of(300))
        wait_until(lambda: not service._runners["shop"].feed.is_behind)
        assert service.health().ok, service.health().problems
        assert service.entities("shop") == []


def test_pushed_samples_are_taken_by_the_shard_that_follows_them(tmp_path):
    config = push_config(tmp_path, entity="ns", min_rows=20)
    pushed = [samples_of([row]) for row in ROWS[:30]]
    for n, expected in ((1, {"pay"}), (2, {"cart", "mail", "search"})):
        clock = FastClock(START, START)
        with running(config.of_shard(read_shard(f"{n}/2")), clock) as service:
            for samples in pushed:
                service.receive(None, for_entities(samples))
            clock.limit = ROWS[30].time
            for entity in expected:
                follow_until(service, clock, 20, entity)
            assert set(service.entities("shop")) == expected


def for_entities(samples):
    """Return samples of one system as those of each entity."""
    n = len(ENTITIES)
    names = [
        name.replace("{", f'{{ns="{entity}",') for entity in ENTITIES for name in samples.names
    ]
    codes = [samples.codes + at * len(samples.names) for at in range(n)]
    return type(samples)(
        names=tuple(names),
        codes=np.concatenate(codes),
        times=np.tile(samples.times, n),
        values=np.tile(samples.values, n),
    )


# ---------------------------------------------------------------------- replicas


def replica(url, folder, name, **tables):
    """A configuration as replicas have it: their own folder and address, all else the same."""
    watch = {"name": "shop", "query": "{}", "step": "15s", "self_test": False, **settings()}
    return config_of(
        {
            "data": str(folder / name),
            "prometheus": {"url": url},
            "watch": [watch],
            "public_url": f"http://{name}.example",
            **tables,
        }
    )


def test_replicas_say_the_same_under_the_same_keys(playback, tmp_path):
    with server() as hook:
        told = []
        for name in ("one", "two"):
            config = replica(
                playback.url, tmp_path, name, webhook=[{"name": "hook", "url": hook.url}]
            )
            clock = FastClock(NOW, NOW)
            with running(config, clock) as service:
                follow_until(service, clock, N_ROWS - 1)
                told.append(keys_of(service))
                eventually(lambda: service.store.n_waiting() == 0)
    assert told[0] == told[1]
    assert len(told[0]) >= 2
    sent = [one.headers["idempotency-key"] for one in hook.requests]
    assert sorted(sent) == sorted(2 * told[0])


def test_a_replica_that_starts_from_a_backup_goes_on_alike(playback, tmp_path):
    hook = {"webhook": [{"name": "hook", "url": "http://127.0.0.1:9/"}]}
    one, two = (replica(playback.url, tmp_path, name, **hook) for name in ("one", "two"))
    two.data.mkdir()
    said = []
    clock = FastClock(NOW, NOW)
    with running(one, clock) as service:
        follow_until(service, clock, 280)
        with closing(sqlite3.connect(service.store.path)) as beside:
            beside.execute(f"VACUUM INTO '{two.data / 'history.sqlite'}'")
        said.append(said_by(service, clock))
    clock = FastClock(time_of(282), time_of(282))
    with running(two, clock) as service:
        said.append(said_by(service, clock))
    assert said[0] == said[1]


def said_by(service, clock):
    follow_until(service, clock, N_ROWS - 1)
    verdicts = journal_of(service).verdicts(None, time_of(N_ROWS - 1), 10_000)
    keys = keys_of(service)
    assert len(keys) >= 2
    return keys, verdicts["time"].tolist(), verdicts["score"].tolist()


@pytest.mark.prometheus
@pytest.mark.slow
def test_two_replicas_notify_once(tmp_path):
    # The fault has just passed, and is made up for: Alertmanager reads the clock of this machine.
    shift = int(time.time() * 1000) // STEP * STEP - time_of(FAULT[1] + 10)
    with (
        Playback(lambda at: values_at(at - shift)).running() as played,
        server() as hook,
        real_alertmanager(hook.url) as manager,
    ):
        told = {"alertmanager": [{"url": manager.url, "resend": "5m"}]}
        one, two = (replica(played.url, tmp_path, name, **told) for name in ("one", "two"))
        clocks = [FastClock(NOW + shift, NOW + shift) for _ in range(2)]
        with running(one, clocks[0]) as first, running(two, clocks[1]) as second:
            services = [first, second]
            for clock in clocks:
                clock.limit = time_of(FAULT[0] + 8) + shift
            for service in services:
                eventually(lambda service=service: service.store.alerts(open_only=True), 60)
                eventually(lambda service=service: service.receivers()[0].sent >= 1)
            time.sleep(2.5)  # two intervals of a group: what would be told twice is told by now
            alerts = manager.get("/api/v2/alerts")
            assert len(alerts) == 1, [alert["labels"] for alert in alerts]
            assert alerts[0]["status"]["state"] == "active"
            assert notified(hook) == ["firing"]
            for clock in clocks:
                clock.limit = time_of(N_ROWS - 1) + shift
            for service in services:
                eventually(lambda service=service: not service.store.alerts(open_only=True), 60)
                eventually(lambda service=service: service.store.n_waiting() == 0)
            eventually(lambda: "resolved" in notified(hook))
            time.sleep(2.5)
            assert notified(hook) == ["firing", "resolved"]
            ids = [[one.record.id for one in service.store.alerts()] for service in services]
            assert ids[0] == ids[1]


def notified(hook):
    return [json.loads(request.body)["status"] for request in hook.requests]
