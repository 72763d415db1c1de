import random
import time
from contextlib import contextmanager

import pytest
from tests.prometheus_server import real_prometheus
from tests.smkc.serve.delivery.parts import START, STEP, config_with, put, server

from smkc.serve.config import Limits
from smkc.serve.decoding.remote_write import decode_remote_write
from smkc.serve.delivery.scores import FILE, WRITE_EVERY_MILLISECONDS, ScoreWriter
from smkc.serve.store import Store


@contextmanager
def writer_to(url, folder):
    config = config_with(remote_write={"url": url, "labels": {"cluster": "eu"}})
    with Store.open(folder) as store:
        writer = ScoreWriter(store, config, config.remote_write, random.Random(7))
        yield store, config, writer
        writer.receiver.close()


def sent(request):
    """Return the samples of a request as (name, time) -> value."""
    headers = request.headers
    samples = decode_remote_write(
        request.body, headers["content-type"], headers["content-encoding"], Limits()
    )
    return {
        (samples.names[code], at): value
        for code, at, value in zip(
            samples.codes.tolist(), samples.times.tolist(), samples.values.tolist(), strict=True
        )
    }


NAME = 'anomaly_score{cluster="eu",entity="checkout",watch="shop"}'


def score_times(hook):
    return [at for request in hook.requests for name, at in sent(request) if name == NAME]


@pytest.mark.prometheus
def test_scores_can_be_queried_where_they_were_written(tmp_path):
    end = time.time_ns() // 1_000_000 // STEP * STEP
    with (
        real_prometheus() as prometheus,
        writer_to(f"{prometheus.url}/api/v1/write", tmp_path) as (store, config, writer),
    ):
        put(store, config, [], end - 4 * STEP)
        writer.step(end - 4 * STEP)
        for back in (3, 2, 1, 0):
            put(store, config, [], end - back * STEP, anomaly=1.0 + back)
        writer.step(end + 1)
        assert writer.receiver.status().failed == 0
        query = f"/api/v1/query?time={end / 1000}&query="
        (found,) = prometheus.get(query + "anomaly_score[5m]")["data"]["result"]
        assert found["metric"] == {
            "__name__": "anomaly_score",
            "watch": "shop",
            "entity": "checkout",
            "cluster": "eu",
        }
        expected = [[(end - back * STEP) / 1000, f"{1 + back}"] for back in (3, 2, 1, 0)]
        assert found["values"] == expected
        (found,) = prometheus.get(query + "smkc_cardinality")["data"]["result"]
        assert found["value"][1] == "17"
        (found,) = prometheus.get(query + "smkc_evidence_nats")["data"]["result"]
        assert (found["metric"]["evidence"], found["value"][1]) == ("level", "3.5")


@pytest.mark.prometheus
def test_a_prometheus_takes_the_same_scores_twice(tmp_path):
    end = time.time_ns() // 1_000_000 // STEP * STEP
    with real_prometheus() as prometheus:
        for _ in range(2):
            with writer_to(f"{prometheus.url}/api/v1/write", tmp_path) as (store, config, writer):
                if not store.lanes():
                    put(store, config, [], end - STEP)
                    writer.step(end - STEP)
                    before = (tmp_path / FILE).read_bytes()
                    put(store, config, [], end)
                writer.step(end + WRITE_EVERY_MILLISECONDS)
                status = writer.receiver.status()
                assert (status.sent, status.failed) == (1, 0)
            (tmp_path / FILE).write_bytes(before)  # as if it had died before it wrote that down


def test_an_hour_without_a_listener_is_made_up_for(tmp_path):
    with server() as hook, writer_to(hook.url, tmp_path) as (store, config, writer):
        put(store, config, [], START)
        writer.step(START)
        hook.answers = [500] * 3 + ["close"] * 3 + [429] * 10_000
        for number in range(1, 241):
            put(store, config, [], START + number * STEP)
            writer.step(START + number * STEP)
        assert 10 <= len(hook.requests) <= 40
        assert writer.n_waiting() == 240
        hook.answers = []
        hook.requests.clear()
        writer.step(START + 260 * STEP)
        assert writer.n_waiting() == 0
        assert score_times(hook) == [START + number * STEP for number in range(1, 241)]
        writer.step(START + 261 * STEP)
        assert len(score_times(hook)) == 240


def test_it_goes_on_after_a_restart_where_it_was(tmp_path):
    with server() as hook:
        with writer_to(hook.url, tmp_path) as (store, config, writer):
            put(store, config, [], START)
            writer.step(START)
            put(store, config, [], START + STEP)
            writer.step(START + STEP)
        with writer_to(hook.url, tmp_path) as (store, config, writer):
            put(store, config, [], START + 2 * STEP)
            writer.step(START + 2 * STEP)
        assert score_times(hook) == [START + STEP, START + 2 * STEP]


@pytest.mark.parametrize("content", [b"", b"{}", b'{"to": 1}', b"\xff", b'[["a"]]'])
def test_a_damaged_note_means_from_now_on(tmp_path, content):
    with server() as hook, writer_to(hook.url, tmp_path) as (store, config, writer):
        (tmp_path / FILE).write_bytes(content)
        put(store, config, [], START)
        writer.step(START + 1)
        put(store, config, [], START + STEP)
        writer.step(START + STEP)
        assert score_times(hook) == [START + STEP]


def test_long_gaps_and_many_rows_are_sent_without_thinning(tmp_path):
    with server() as hook, writer_to(hook.url, tmp_path) as (store, config, writer):
        put(store, config, [], START)
        writer.step(START)
        late = START + 5000 * STEP
        expected = [late + number * STEP for number in range(700)]
        for at in expected:
            put(store, config, [], at)
        writer.step(expected[-1] + 1)
        assert score_times(hook) == expected
        assert len(hook.requests) >= 2


def test_one_lane_that_is_refused_does_not_take_the_others_with_it(tmp_path):
    with server() as hook, writer_to(hook.url, tmp_path) as (store, config, writer):
        lanes = [f"ns-{number}" for number in range(5)]
        for entity in lanes:
            put(store, config, [], START, entity=entity)
        writer.step(START)
        for entity in lanes:
            put(store, config, [], START + STEP, entity=entity)
        taken = []

        def judge(request):
            entities = {name.split('entity="')[1].split('"')[0] for name, _ in sent(request)}
            hook.answers = [400 if "ns-3" in entities else 204]
            if "ns-3" not in entities:
                taken.extend(entities)

        hook.on_request = judge
        writer.step(START + STEP)
        assert sorted(taken) == ["ns-0", "ns-1", "ns-2", "ns-4"]
        assert writer.receiver.status().given_up == 1
        hook.requests.clear()
        writer.step(START + 2 * STEP)
        assert hook.requests == []


def test_a_lane_called_what_no_utf8_can_say_is_written_all_the_same(tmp_path):
    with server() as hook, writer_to(hook.url, tmp_path) as (store, config, writer):
        put(store, config, [], START, entity="a\ud800b")
        writer.step(START)
        put(store, config, [], START + STEP, entity="a\ud800b")
        writer.step(START + STEP)
        (request,) = hook.requests
        assert 'anomaly_score{cluster="eu",entity="a?b",watch="shop"}' in {
            name for name, _ in sent(request)
        }
