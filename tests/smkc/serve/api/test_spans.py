"""Marked spans over the API: listed, marked, ended, deleted; whatever is sent is no harm."""

import json

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from tests.following import wait_until
from tests.smkc.serve.api.test_mutated import mutated

from smkc.serve.config import MaintenanceConfig
from smkc.serve.rows import LEFT_OUT
from smkc.serve.spans import spans_between

PATH = "/api/v1/watches/shop/spans"
DAY = 86_400_000
KINDS = ("maintenance", "missed", "deploy")


@pytest.fixture(autouse=True)
def unmarked(service):
    """Each test finds a watch whose lanes are open, and leaves it without spans."""
    wait_until(lambda: service.is_ready)
    yield
    for span in service.store.spans.find("shop", 0, 10**18):
        service.store.spans.delete(span.id)


def mark(client, **content):
    return client.post(PATH, json=content)


def listed(client, **asked):
    answer = client.get(PATH, params=asked)
    assert answer.status_code == 200, answer.text
    return answer.json()


def test_what_is_marked_is_listed_with_who_did(locked, secrets):
    headers = {"Authorization": f"Bearer {secrets['admin']}"}
    content = {"kind": "missed", "start": 1_000, "end": 2_000, "note": "disk <b>\n\x00"}
    answer = locked.post(PATH, json=content, headers=headers)
    assert answer.status_code == 201, answer.text
    span = answer.json()
    assert span == {
        **content,
        "id": span["id"],
        "watch": "shop",
        "entity": None,
        "who": "the-admin",
    }
    reader = {"Authorization": f"Bearer {secrets['read']}"}
    found = locked.get(PATH, params={"since": 0, "until": 5_000}, headers=reader).json()
    assert found == {"spans": [span], "counts": {"maintenance": 0, "missed": 1, "deploy": 0}}


def test_times_have_defaults_that_suit_the_kind(client, service):
    before = service.now()
    maintenance = mark(client, kind="maintenance").json()
    deploy = mark(client, kind="deploy").json()
    missed = mark(client, kind="missed", start=1_000).json()
    after = service.now()
    assert before <= maintenance["start"] <= after
    assert maintenance["end"] is None
    assert before <= deploy["start"] == deploy["end"] <= after
    assert before <= missed["end"] <= after
    assert maintenance["who"] == "local"
    assert [one["kind"] for one in listed(client)["spans"]] == ["deploy", "maintenance", "missed"]


def test_a_plan_lies_in_the_future_until_it_is_deleted(client, service):
    start = service.now() + DAY
    span = mark(client, kind="maintenance", start=start, end=start + DAY, entity="").json()
    assert listed(client)["spans"] == [span]
    assert listed(client, entity="")["spans"] == [span]
    assert listed(client, entity="x")["spans"] == []
    assert listed(client, until=start - 1)["spans"] == []
    assert client.post(f"{PATH}/{span['id']}/end").status_code == 400  # it has not begun
    assert client.delete(f"{PATH}/{span['id']}").status_code == 204
    assert client.delete(f"{PATH}/{span['id']}").status_code == 404
    assert listed(client)["spans"] == []


def test_what_goes_on_is_ended_once(client, service):
    span = mark(client, kind="maintenance").json()
    ended = client.post(f"{PATH}/{span['id']}/end").json()
    assert span["start"] <= ended["end"] <= service.now()
    assert ended == span | {"end": ended["end"]}
    assert client.post(f"{PATH}/{span['id']}/end").json() == ended
    long = mark(client, kind="missed", start=0, end=service.now() + DAY).json()
    assert client.post(f"{PATH}/{long['id']}/end").json()["end"] <= service.now()


def test_planned_maintenance_is_listed(service, monkeypatch):
    watch = service._runners["shop"].watch
    plan = MaintenanceConfig(weekly="Sun 02:00-04:00", note="backups")
    monkeypatch.setitem(watch.__dict__, "maintenance", (plan,))
    found = service.spans("shop", service.now() - 8 * DAY, service.now())
    assert {(one.id, one.who, one.note) for one in found} == {(0, "configuration", "backups")}
    assert 1 <= len(found) <= 2


def test_deploys_of_the_configuration_are_listed_and_mute_nothing(service, monkeypatch):
    watch = service._runner("shop").watch
    at = service.now()
    monkeypatch.setitem(
        watch.__dict__, "maintenance", (MaintenanceConfig(kind="deploy", start=at, note="2.4"),)
    )
    (found,) = service.spans("shop", at, at)
    assert (found.kind, found.start, found.end, found.note) == ("deploy", at, at, "2.4")
    for kinds in (("maintenance",), LEFT_OUT):
        assert spans_between(service.store, watch, at, at, kinds=kinds) == []


@pytest.mark.parametrize(
    "content",
    [
        {},
        {"kind": "holiday"},
        {"kind": "missed"},
        {"kind": "missed", "start": 5, "end": 4},
        {"kind": "maintenance", "start": -1},
        {"kind": "maintenance", "start": 10**15},
        {"kind": "maintenance", "start": "1"},
        {"kind": "maintenance", "start": 1.5},
        {"kind": "maintenance", "start": True},
        {"kind": "maintenance", "ends": 5},
        {"kind": "deploy", "note": "x" * 2_001},
        {"kind": "deploy", "note": 5},
        {"kind": "deploy", "entity": ["a"]},
    ],
    ids=str,
)
def test_what_makes_no_sense_is_refused(client, content):
    answer = mark(client, **content)
    assert answer.status_code in (400, 422), answer.text
    assert list(answer.json()) == ["error"]
    assert listed(client, since=0)["spans"] == []


def test_what_is_not_there_is_404(client):
    assert mark(client, kind="deploy", entity="nobody").status_code == 404
    for path in ("/api/v1/watches/none/spans", "/api/v1/watches/none/spans/1/end"):
        assert client.post(path, json={"kind": "missed"}).status_code == 404
    assert client.get("/api/v1/watches/none/spans").status_code == 404
    span = mark(client, kind="deploy").json()
    other = PATH.replace("shop", "fleet")
    assert client.delete(f"{other}/{span['id']}").status_code == 404
    assert client.post(f"{other}/{span['id']}/end").status_code == 404
    for wrong in ("0", "-1", "x", str(2**63), "1e3"):
        assert client.delete(f"{PATH}/{wrong}").status_code == 422


anything = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=5,
)
times = st.one_of(st.none(), st.integers(-5, 3 * 10**14), st.integers(0, 2**70), anything)
bodies = st.fixed_dictionaries(
    {"kind": st.sampled_from(KINDS) | anything},
    optional={
        "start": times,
        "end": times,
        "entity": st.sampled_from([None, "", "x"]) | anything,
        "note": st.text() | anything,
        "other": anything,
    },
)


@settings(max_examples=150, suppress_health_check=list(HealthCheck))
@given(content=bodies)
def test_whatever_is_marked_is_taken_as_it_is_or_refused(client, content):
    answer = client.post(
        PATH, content=json.dumps(content).encode(), headers={"Content-Type": "application/json"}
    )
    assert answer.status_code in (201, 400, 404, 422), answer.text
    if answer.status_code != 201:
        assert list(answer.json()) == ["error"]
        return
    span = answer.json()
    assert {key: span[key] for key in content if content[key] is not None} == {
        key: value for key, value in content.items() if value is not None
    }
    assert span["end"] is None or span["start"] <= span["end"]
    assert span in listed(client, since=span["start"], until=span["start"])["spans"]


def test_mutated_spans_do_no_harm(client, rng):
    whole = json.dumps(
        {"kind": "maintenance", "start": 5, "end": 9, "entity": "", "note": "n\u00e9"}
    ).encode()
    counts = {}
    for _ in range(400):
        body = mutated(rng, whole)
        answer = client.post(PATH, content=body, headers={"Content-Type": "application/json"})
        counts[answer.status_code] = counts.get(answer.status_code, 0) + 1
        assert answer.status_code in (201, 400, 404, 422), (body, answer.text)
    assert counts[422] > 100
    assert listed(client, since=0)["counts"]["maintenance"] == counts.get(201, 0)
