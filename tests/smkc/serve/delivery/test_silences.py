"""The maintenance that silences of Alertmanager become."""

import json
import random
import time
from contextlib import contextmanager

import httpx
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.following import STEP, FastClock, Playback, wait_until
from tests.misbehaving_server import Answer, misbehaving_server
from tests.prometheus_server import free_port, real_alertmanager
from tests.smkc.serve.delivery.parts import config_with, eventually
from tests.smkc.serve.delivery.silencing import (
    ENTITIES,
    MANAGER,
    SPLIT,
    after,
    now,
    silence,
)
from tests.smkc.serve.service_parts import FAULT, N_ROWS, NOW, time_of, values_at

from smkc.serve.config import config_of
from smkc.serve.delivery import Delivery
from smkc.serve.delivery.silences import (
    ALERTMANAGER,
    NO_SILENCES,
    POLL_MILLISECONDS,
    Matcher,
    SilencedSpans,
    SilenceReader,
    covered_entities,
    read_silences,
)
from smkc.serve.rows import LATEST_TIME, MarkedSpan
from smkc.serve.service import Service
from smkc.serve.store import Store

FOR_EVER = 10**14


def expire(manager, id):
    answer = httpx.delete(f"{manager.url}/api/v2/silence/{id}")
    assert answer.status_code == 200, answer.text


@pytest.fixture
def manager():
    with real_alertmanager() as made:
        yield made


@pytest.fixture
def store(tmp_path):
    with Store.open(tmp_path / "data") as made:
        for entity in ENTITIES:
            made.lane("shop", entity)
        yield made


@contextmanager
def reading(store, *urls, **settings):
    """Return a function that lets all readers read, and the readers."""
    config = config_with(
        alertmanager=[{"url": url, "timeout": "5s", **settings} for url in urls],
        watch=[
            {"name": "shop", "source": "push", "entity": "ns", "step": "15s"},
            {"name": "disks", "source": "push", "step": "15s"},
        ],
    )
    spans, clock = SilencedSpans(store, config), [now()]
    readers = [SilenceReader(spans, one, random.Random(7)) for one in spans.managers]

    def read():
        clock[0] = max(clock[0] + POLL_MILLISECONDS, now())
        for reader in readers:
            reader.step(clock[0])

    yield read, readers
    for reader in readers:
        reader.receiver.close()


def marked(store, watch="shop"):
    return store.spans.find(watch, 0, FOR_EVER)


@pytest.mark.prometheus
def test_a_silence_is_maintenance_until_it_expires(manager, store):
    with reading(store, manager.url) as (read, _):
        read()
        assert marked(store) == []
        before = now()
        begun = after(seconds=1)
        id = silence(manager, "watch=shop entity=~checkout|payment", start=begun)
        time.sleep(1.05)
        read()
        spans = marked(store)
        assert [one.entity for one in spans] == ["payment", "checkout"]
        for span in spans:
            assert (span.kind, span.who) == ("maintenance", ALERTMANAGER)
            assert span.note == f"silence {id} by alice: backups"
            assert before <= span.start <= now()
            assert span.end - span.start == 3_600_000
        assert marked(store, "disks") == []
        read()
        assert marked(store) == spans
        # It takes longer, and is said to: the same silence with another end.
        text = "watch=shop entity=~checkout|payment"
        assert silence(manager, text, id=id, minutes=120, start=begun) == id
        read()
        longer = marked(store)
        assert [one.id for one in longer] == [one.id for one in spans]
        assert all(one.end - one.start == 7_200_000 for one in longer)
        expire(manager, id)
        read()
        over = marked(store)
        assert [one.id for one in over] == [one.id for one in spans]
        assert all(one.end <= now() + 1000 for one in over)
        read()
        assert marked(store) == over


@pytest.mark.prometheus
def test_a_silence_that_is_planned_begins_with_its_time_or_not_at_all(manager, store):
    soon = after(seconds=2)
    with reading(store, manager.url) as (read, _):
        later = silence(manager, "watch=disks", start=after(hours=1))
        silence(manager, "watch=shop", start=soon)
        read()
        assert marked(store) == marked(store, "disks") == []
        expire(manager, later)
        eventually(lambda: [read(), marked(store)][1])
        (span,) = marked(store)
        assert (span.entity, span.start) == (None, round(1000 * soon.timestamp()))
        assert marked(store, "disks") == []


@pytest.mark.prometheus
def test_one_that_was_over_before_it_was_read_is_marked_too(manager, store):
    id = silence(manager, "alertname=SmkcAnomaly")
    time.sleep(0.05)
    expire(manager, id)
    with reading(store, manager.url) as (read, _):
        read()
        for watch in ("shop", "disks"):
            (span,) = marked(store, watch)
            assert span.start < span.end <= now()


@pytest.mark.prometheus
def test_an_alertmanager_that_died_ends_nothing_and_says_so(manager, store):
    own = store.spans.add(MarkedSpan(watch="shop", kind="maintenance", start=now(), who="bob"))
    silence(manager, "watch=shop")
    with reading(store, manager.url) as (read, (reader,)):
        read()
        spans = marked(store)
        assert len(spans) == 2
        manager.stop(kill=True)
        for _ in range(3):
            read()
        assert marked(store) == spans
        assert "cannot be reached" in reader.receiver.status().last_error
    with reading(store, manager.url) as (read, _):  # smkc starts again, and has read nothing yet
        read()
        assert marked(store) == spans
        manager.start()
        assert manager.get("/api/v2/silences") == []  # it lost them as it was killed
        eventually(lambda: [read(), marked(store) != spans][1])
    assert own in marked(store)


@pytest.mark.prometheus
def test_what_an_alertmanager_has_lost_ends_unless_another_may_have_it(manager, store):
    since = now()
    lost = MarkedSpan(
        watch="shop",
        kind="maintenance",
        start=since - 60_000,
        end=since + 3_600_000,
        who=ALERTMANAGER,
        note="silence 17 by alice: gone",
    )
    named = store.spans.add(MarkedSpan(**{**vars(lost), "note": "a token of that name"}))
    lost = store.spans.add(lost)
    with reading(store, manager.url, f"http://127.0.0.1:{free_port()}") as (read, _):
        read()
        assert lost in marked(store)
    with reading(store, manager.url) as (read, _):
        read()
        assert named in marked(store)
        (ended,) = (one for one in marked(store) if one.id == lost.id)
        assert since <= ended.end <= now() + 2 * POLL_MILLISECONDS


@pytest.mark.prometheus
def test_the_same_silence_of_two_alertmanagers_is_one_span(manager, store):
    with real_alertmanager() as other:
        start = after(seconds=1)
        short = silence(manager, "watch=shop", start=start, minutes=10)
        silence(other, "watch=shop", start=start, minutes=20)
        time.sleep(1.1)
        with reading(store, manager.url, other.url) as (read, _):
            read()
            (span,) = marked(store)
            assert span.end - span.start == 20 * 60_000
            expire(manager, short)
            read()
            assert marked(store) == [span]


def test_nothing_is_read_if_that_is_not_wanted(store):
    with misbehaving_server(lambda _: Answer(body=b"[]")) as server:
        with reading(store, server.url, silences=False) as (read, readers):
            read()
            assert readers == []
        with reading(store, f"{server.url}/am/") as (read, (reader,)):
            read()
            reader.step(now() + POLL_MILLISECONDS)  # too soon
        assert [(one.method, one.path) for one in server.asked] == [("GET", "/am/api/v2/silences")]


GOOD = {
    "id": "7",
    "status": {"state": "active"},
    "startsAt": "2026-01-31T12:00:00.123456789Z",
    "endsAt": "2026-01-31T14:00:00+01:00",
    "createdBy": "bob",
    "comment": "disks",
    "matchers": [{"name": "watch", "value": "shop", "isRegex": False}],
    "updatedAt": "2026-01-31T12:00:00Z",
}
START = 1_769_860_800_123


def test_a_silence_is_read():
    (found,) = read_silences(json.dumps([GOOD]))
    assert (found.start, found.end) == (START, START - 123 + 3_600_000)
    assert found.matchers == (Matcher(name="watch", value="shop"),)
    assert found.note == "silence 7 by bob: disks"
    ever = {**GOOD, "startsAt": "0001-01-01T00:00:00Z", "endsAt": "9999-12-31T23:59:59Z"}
    (found,) = read_silences(json.dumps([ever]))
    assert (found.start, found.end) == (0, LATEST_TIME)
    pending = {**GOOD, "status": {"state": "pending"}}
    never_begun = {**GOOD, "endsAt": GOOD["startsAt"]}
    assert read_silences(json.dumps([pending, never_begun])) == []


@pytest.mark.parametrize(
    ("answer", "words"),
    [
        (Answer(status=404, body=b"404 page not found"), "answered 404: 404 page not found"),
        (Answer(status=400, body=b"no"), "answered 400: no"),
        (Answer(status=302, headers={"Location": "/x"}), "answered 302"),
        (Answer(body=b"[", headers={"Content-Type": "text/html"}), "answered 200 with a page"),
        (Answer(body=b""), "something other than"),
        (Answer(body=b"[{"), "something other than"),
        (Answer(body=b"[" * 100_000), "something other than"),
        (Answer(body=b'{"status": "success"}'), "something other than"),
        (Answer(body=b'[{"startsAt": "soon"}]'), "something other than"),
        (Answer(body=json.dumps([{**GOOD, "matchers": [3]}]).encode()), "something other than"),
        (Answer(body=b"[]" * 9, claimed=100), "something other than"),
    ],
)
def test_any_other_answer_changes_nothing_and_is_told(store, answer, words):
    config = config_with(alertmanager=[{"url": "http://alerts.example"}])
    with misbehaving_server(lambda _: answer) as server:
        config = config_with(alertmanager=[{"url": server.url, "timeout": "2s"}])
        delivery = Delivery(store, config, now)
        delivery.start()
        try:
            (problem,) = eventually(delivery.problems)
        finally:
            delivery.stop()
    assert problem.startswith(f"alertmanager {server.url}/api/v2/silences since 2")
    assert words in problem
    assert problem.endswith("its silences are not known (silences = false does without them)")
    assert marked(store) == []


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5),
    lambda inner: (
        st.lists(inner, max_size=2)
        | st.dictionaries(st.sampled_from([*GOOD, *GOOD["matchers"][0]]), inner, max_size=3)
    ),
    max_leaves=5,
)


@given(key=st.sampled_from(list(GOOD)), value=JSON, inner=JSON, alone=st.booleans())
def test_any_json_is_a_list_of_silences_or_none(key, value, inner, alone):
    content = value if alone else [GOOD, {**GOOD, key: value, "matchers": [inner]}]
    try:
        found = read_silences(json.dumps(content))
    except NO_SILENCES:
        return
    for one in found:
        assert 0 <= one.start < one.end <= LATEST_TIME
        covered_entities(one, SPLIT, ENTITIES, MANAGER)


# ---------------------------------------------------------------------- in the service


@pytest.mark.prometheus
def test_an_alert_of_a_silenced_watch_is_muted_for_webhooks_too(tmp_path, manager):
    shift = now() // STEP * STEP - time_of(FAULT[0] - 30)  # the fault comes after the silence
    dead = f"http://127.0.0.1:{free_port()}"
    with Playback(lambda at: values_at(at - shift)).running() as played:
        config = config_of(
            {
                "data": str(tmp_path),
                "prometheus": {"url": played.url},
                "watch": [
                    {
                        "name": name,
                        "query": "{}",
                        "step": "15s",
                        "self_test": False,
                        "history": "1h",
                        "min_rows": 200,
                    }
                    for name in ("shop", "other")
                ],
                "notify": "alert",
                "alertmanager": [{"url": manager.url}, {"url": dead}],
                "webhook": [{"name": "hook", "url": "http://127.0.0.1:9/"}],
            }
        )
        silence(manager, "watch=shop", minutes=600)
        clock = FastClock(NOW + shift, NOW + shift)
        with Service(config, clock) as service:
            eventually(lambda: marked(service.store))
            wait_until(lambda: all(one.phase == "following" for one in service.watches()))
            clock.limit = time_of(N_ROWS - 1) + shift + STEP
            last = time_of(N_ROWS - 1) + shift
            for watch in ("shop", "other"):
                journal = service.store.lane(watch, "")
                wait_until(lambda journal=journal: (journal.last_time or 0) >= last)
            found = {
                watch: [one.record.is_muted for one in service.store.alerts(watch=watch)]
                for watch in ("shop", "other")
            }
            with service.store._database.read("look into the outbox") as connection:
                about = connection.execute("SELECT DISTINCT about FROM outbox").fetchall()
    assert found["shop"]
    assert all(found["shop"])
    assert found["other"]
    assert not any(found["other"])
    assert {bytes(one) for (one,) in about} == {b"other/"}
