"""Silences of Alertmanager: which lanes they cover, and the maintenance that they become."""

import json
import random
import time
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta

import httpx
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.following import STEP, FastClock, Playback, wait_until
from tests.misbehaving_server import Answer, misbehaving_server
from tests.prometheus_server import free_port, real_alertmanager
from tests.smkc.serve.delivery.parts import alert_at, config_with, eventually
from tests.smkc.serve.service_parts import FAULT, N_ROWS, NOW, time_of, values_at

from smkc.serve.config import AlertmanagerConfig, WatchConfig, config_of
from smkc.serve.delivery import Delivery
from smkc.serve.delivery.silences import (
    ALERTMANAGER,
    NO_SILENCES,
    POLL_MILLISECONDS,
    Matcher,
    Silence,
    SilencedSpans,
    SilenceReader,
    covered_entities,
    read_silences,
)
from smkc.serve.messages import alertmanager_alert
from smkc.serve.rows import LATEST_TIME, MarkedSpan
from smkc.serve.service import Service
from smkc.serve.store import Store

FOR_EVER = 10**14
ENTITIES = ("checkout", "payment", "a.b")
SPLIT = WatchConfig(name="shop", source="push", entity="ns")
WHOLE = WatchConfig(name="shop", source="push")
MANAGER = AlertmanagerConfig(url="http://localhost:9093", labels={"team": "shop"})


def now() -> int:
    return time.time_ns() // 1_000_000


def after(**given) -> datetime:
    """Return a time from now on, in whole milliseconds as Alertmanager answers."""
    moment = datetime.now(UTC) + timedelta(**given)
    return moment.replace(microsecond=moment.microsecond // 1000 * 1000)


def matchers_of(text):
    """Return the matchers of a text such as ``watch=shop entity!~a|b``."""
    found = []
    for part in text.split():
        sign = next(one for one in ("=~", "!~", "!=", "=") if one in part)
        name, value = part.split(sign, 1)
        found.append(
            Matcher(name=name, value=value, is_regex="~" in sign, is_equal="!" not in sign)
        )
    return tuple(found)


def covered(text, watch=SPLIT, manager=MANAGER):
    silence = Silence(start=0, end=1, matchers=matchers_of(text))
    return covered_entities(silence, watch, ENTITIES, manager)


# ---------------------------------------------------------------------- which lanes

WHOLE_WATCH = [None]

CASES = {
    "watch=shop": WHOLE_WATCH,
    "watch=other": [],
    "alertname=SmkcAnomaly": WHOLE_WATCH,
    "alertname=~Smkc.*": WHOLE_WATCH,
    "alertname=~Smkc": [],
    "alertname=~.*Anomaly watch=shop": WHOLE_WATCH,
    "watch=~shop|other": WHOLE_WATCH,
    "watch=~sho": [],
    "watch=~hop": [],
    "watch=~(?i)SHOP": WHOLE_WATCH,
    "watch!=shop": [],
    "watch!=other": WHOLE_WATCH,
    "watch!~sho alertname=SmkcAnomaly": WHOLE_WATCH,
    "watch!~sh.p alertname=SmkcAnomaly": [],
    "team=shop": WHOLE_WATCH,
    "team=other": [],
    "entity=checkout": ["checkout"],
    "watch=shop entity=~checkout|payment": ["checkout", "payment"],
    "watch=shop entity!=checkout": ["payment", "a.b"],
    "watch=shop entity!~check.*|a.b": ["payment"],
    "watch=shop entity=~a.b entity!=axb": ["a.b"],
    "watch=shop entity=unknown": [],
    "watch=other entity=checkout": [],
    # A label that the alerts lack counts as empty.
    "watch=shop region=": WHOLE_WATCH,
    "watch=shop region!=eu": WHOLE_WATCH,
    "watch=shop region!~eu|us": WHOLE_WATCH,
    "watch=shop region=~.*": WHOLE_WATCH,
    "watch=shop region=eu": [],
    "watch=shop region=~.+": [],
}

# On labels that differ between the alerts of a lane.
PARTIAL = {
    "watch=shop severity=critical": [],
    "watch=shop severity=~warning|critical": WHOLE_WATCH,
    "watch=shop severity!=info": WHOLE_WATCH,
    "watch=shop service=cart": [],
    "watch=shop instance!=a": [],
    "watch=shop incident=1234": [],
}


@pytest.mark.parametrize("text", CASES | PARTIAL)
def test_a_silence_covers_lanes_all_of_whose_alerts_it_matches(text):
    assert covered(text) == (CASES | PARTIAL)[text]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("watch=shop", WHOLE_WATCH),
        ("watch=shop entity=", WHOLE_WATCH),
        ("watch=shop entity!=checkout", WHOLE_WATCH),
        ("watch=shop entity=checkout", []),
    ],
)
def test_alerts_of_a_watch_that_is_not_split_have_no_entity(text, expected):
    assert covered(text, WHOLE) == expected


def test_labels_of_the_configuration_replace_others():
    labels = {"severity": "page", "watch": "w", "service": "s", "entity": "e"}
    manager = AlertmanagerConfig(url="http://localhost:9093", labels=labels)
    for name, value in labels.items():
        assert covered(f"{name}={value}", manager=manager) == WHOLE_WATCH
        assert covered(f"{name}={value}x", manager=manager) == []
    assert covered("watch=shop", manager=manager) == []


@pytest.mark.parametrize("sign", ["=~", "!~"])
@pytest.mark.parametrize("pattern", ["(", "(?=a)", "[z-a]", "\ud800"])
def test_a_regular_expression_that_is_none_covers_nothing(sign, pattern):
    assert covered(f"watch{sign}{pattern}") == []


def test_a_regular_expression_takes_no_exponential_time():
    assert covered(f"alertname=SmkcAnomaly watch!~({'(a+)+' * 3})+b") == WHOLE_WATCH
    long = WatchConfig(name="a" * 64, source="push")
    assert covered("watch=~((a+)+)+b", long) == []


@pytest.mark.prometheus
def test_alertmanager_agrees_which_alerts_a_silence_matches():
    """Silences and alerts in the real Alertmanager, which says what it suppresses."""
    config = config_with(alertmanager=[{"url": MANAGER.url, "labels": dict(MANAGER.labels)}])
    began = now()
    alerts = [
        alertmanager_alert(
            alert_at(began, entity=entity, severity=severity), config.alertmanagers[0], config
        )
        for entity in ENTITIES
        for severity in ("warning", "critical")
    ]
    asked = [text for text in CASES | PARTIAL if "instance" not in text]
    with real_alertmanager() as server:
        assert httpx.post(f"{server.url}/api/v2/alerts", json=alerts).status_code == 200
        # A silence of negative conditions alone is refused.
        made = {silence(server, f"{text} alertname=SmkcAnomaly"): text for text in asked}

        def suppressed():
            found: dict[str, set] = {text: set() for text in asked}
            for alert in server.get("/api/v2/alerts"):
                for id in alert["status"]["silencedBy"]:
                    labels = alert["labels"]
                    found[made[id]].add((labels["entity"], labels["severity"]))
            return found

        def expected(text):
            lanes = (CASES | PARTIAL)[text]
            chosen = ENTITIES if lanes == WHOLE_WATCH else lanes
            return {(entity, severity) for entity in chosen for severity in ("warning", "critical")}

        wanted = {text: expected(text) for text in asked}
        wanted["watch=shop severity=critical"] = {(entity, "critical") for entity in ENTITIES}
        assert suppressed() == wanted


# ---------------------------------------------------------------------- what they become


def silence(manager, text, *, id=None, minutes=60, comment="backups", start=None):
    """Silence alerts in the real Alertmanager, or change a silence; return its id."""
    matchers = [
        {"name": one.name, "value": one.value, "isRegex": one.is_regex, "isEqual": one.is_equal}
        for one in matchers_of(text)
    ]
    begin = after() if start is None else start
    content = {
        "matchers": matchers,
        "startsAt": begin.isoformat(),
        "endsAt": (begin + timedelta(minutes=minutes)).isoformat(),
        "createdBy": "alice",
        "comment": comment,
    }
    answer = httpx.post(f"{manager.url}/api/v2/silences", json=content | ({"id": id} if id else {}))
    assert answer.status_code == 200, answer.text
    return answer.json()["silenceID"]


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
