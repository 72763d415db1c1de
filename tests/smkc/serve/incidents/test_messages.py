"""What receivers are told of an incident: once, updated, in the words of its alerts."""

import json
from dataclasses import replace

import pytest
from tests.smkc.serve.incidents.parts import alert, cause, commit, config_of_shop

from smkc.serve.config import config_of
from smkc.serve.messages import messages_for
from smkc.serve.store import Store

RECEIVERS = {
    "alertmanager": [{"url": "http://alerts.example:9093"}],
    "webhook": [{"name": "hook", "url": "http://hook.example"}],
}
SHOP = config_of_shop(dependencies={"shop": ["postgres"]}, **RECEIVERS)

CART = alert("shop/cart", 0, None, 'errors{service="cart"}')
DATABASE = alert("postgres", 30, None, "locks")


@pytest.fixture
def store(tmp_path):
    with Store.open(tmp_path) as opened:
        yield opened


def told(store, kind="webhook"):
    """Return the messages that wait for receivers of a kind, and settle them."""
    found = []
    while messages := store.due(10**15, 100):
        for message in messages:
            store.settle(message.id)
            found.append(message)
    return [one for one in found if one.kind == kind]


def events(messages):
    return [(one.content["event"], one.content["incident"]["id"]) for one in messages]


def test_an_incident_opens_is_updated_and_closes_once(store):
    commit(store, SHOP, ("open", CART))
    commit(store, SHOP, ("go on", CART))
    commit(store, SHOP, ("open", DATABASE))
    commit(store, SHOP, ("update", replace(DATABASE, anomaly=4.0, peak=DATABASE.peak + 15_000)))
    commit(store, SHOP, ("close", alert("shop/cart", 0, 60, 'errors{service="cart"}')))
    commit(store, SHOP, ("close", alert("postgres", 30, 90, "locks")))
    assert events(told(store)) == [
        (event, CART.id) for event in ("open", "update", "update", "close")
    ]


def test_messages_about_one_incident_keep_their_order(store):
    commit(store, SHOP, ("open", CART))
    commit(store, SHOP, ("open", DATABASE))
    waiting = store.due(10**15, 100)  # the second to each receiver waits for the first
    assert {one.about for one in waiting} == {f"incident/{CART.id}"}
    assert len(waiting) == 2
    assert len(told(store)) == 2


def test_labels_stay_and_annotations_grow(store):
    commit(store, SHOP, ("open", CART))
    commit(store, SHOP, ("open", DATABASE))
    first, second = (one.content for one in told(store, "alertmanager"))
    assert (
        first["labels"]
        == second["labels"]
        == {
            "alertname": "SmkcAnomaly",
            "incident": CART.id,
            "watch": "shop",
            "entity": "cart",
            "service": "cart",
            "severity": "warning",
        }
    )
    assert "timeline" not in first["annotations"]
    said = second["annotations"]
    assert said["summary"] == (
        "shop / cart and 1 more: anomalous since 2026-09-21T14:13:30.000Z; likely to blame: "
        "postgres: locks rose from 1 to 9 (60% of its deviation)"
    )
    assert said["timeline"].splitlines() == [
        '2026-09-21T14:13:30.000Z: shop / cart: errors{service="cart"} rose from 1 to 9 (60% of '
        "its deviation)",
        "2026-09-21T14:14:00.000Z, 30s later: postgres: locks rose from 1 to 9 (60% of its "
        "deviation); in common: postgres",
    ]
    assert said["blame"] == (
        "postgres: shop / cart depends on it, and it alerted 30s after the first"
    )
    assert "locks" in said["causes"]
    assert said["link"] == second["generatorURL"] == f"https://smkc.example/incidents/{CART.id}"
    assert "endsAt" not in second


def test_a_single_alert_says_what_it_would_say_by_itself(store):
    commit(store, SHOP, ("open", CART))
    ((manager,), (hook,)) = (
        [one.content for one in store.due(10**15, 9, to)]
        for to in (("alertmanager", "http://alerts.example:9093"), ("webhook", "hook"))
    )
    messages = messages_for(CART, "open", replace(SHOP, notify="alert"))
    by_kind = {one.kind: json.loads(json.dumps(one.content)) for one in messages}
    alone, alone_hook = by_kind["alertmanager"], by_kind["webhook"]
    for key in ("summary", "causes", "evidence"):
        assert manager["annotations"][key] == alone["annotations"][key]
    assert manager["labels"] == alone["labels"] | {"incident": CART.id}
    assert manager["startsAt"] == alone["startsAt"]
    assert {key: hook[key] for key in ("event", "summary", "query", "alert")} == {
        key: alone_hook[key] for key in ("event", "summary", "query", "alert")
    }


def test_a_webhook_gets_the_incident_with_its_alerts(store):
    commit(store, SHOP, ("open", CART))
    commit(store, SHOP, ("open", DATABASE))
    content = json.loads(json.dumps(told(store)[-1].content, allow_nan=False))
    assert content["alert"]["id"] == DATABASE.id
    incident = content["incident"]
    assert (incident["n_alerts"], incident["is_open"]) == (2, True)
    assert [step["alert"] for step in incident["timeline"]] == [CART.id, DATABASE.id]
    assert incident["timeline"][0]["place"] == "cart"
    assert incident["timeline"][1]["in_common"] == ["postgres"]
    assert incident["likely_to_blame"]["alert"] == DATABASE.id
    assert incident["start"] == "2026-09-21T14:13:30.000Z"


def test_an_incident_that_is_merged_is_closed(store):
    config = config_of_shop(**RECEIVERS)
    first, second = alert("shop/a", 0, None, "x"), alert("shop/b", 15, None, "y")
    for one in (first, second, alert("shop/c", 30, None, "x", "y")):
        commit(store, config, ("open", one))
    found = told(store)
    assert events(found) == [
        ("open", first.id),
        ("open", second.id),
        ("close", second.id),
        ("update", first.id),
    ]
    assert found[2].content["incident"]["merged_into"] == first.id


def test_alertmanager_is_told_that_a_merged_incident_is_over(store):
    config = config_of_shop(**RECEIVERS)
    second = alert("shop/b", 15, None, "y")
    for one in (alert("shop/a", 0, None, "x"), second, alert("shop/c", 30, None, "x", "y")):
        commit(store, config, ("open", one))
    contents = [one.content for one in told(store, "alertmanager")]
    opened, closed = (one for one in contents if one["labels"]["incident"] == second.id)
    assert opened["labels"] == closed["labels"]
    assert closed["endsAt"] == "2026-09-21T14:13:45.000Z"


def test_a_worse_severity_replaces_the_milder_one(store):
    commit(store, SHOP, ("open", CART))
    commit(store, SHOP, ("open", replace(DATABASE, severity="critical")))
    found = [one.content for one in told(store, "alertmanager")]
    assert [(one["labels"]["severity"], "endsAt" in one) for one in found] == [
        ("warning", False),
        ("warning", True),
        ("critical", False),
    ]
    own = config_of_shop(
        dependencies={"shop": ["postgres"]},
        alertmanager=[{"url": "http://a.example", "labels": {"severity": "page"}}],
    )
    commit(store, own, ("open", alert("shop/x", 9_000)))
    commit(store, own, ("open", replace(alert("postgres", 9_000), severity="critical")))
    assert ["endsAt" in one.content for one in told(store, "alertmanager")] == [False, False]


def test_a_severity_stays_when_the_critical_alert_is_over(store):
    critical = replace(DATABASE, severity="critical")
    commit(store, SHOP, ("open", CART))
    commit(store, SHOP, ("open", critical))
    commit(store, SHOP, ("close", replace(critical, is_open=False)))
    commit(store, SHOP, ("update", replace(CART, peak=CART.peak + 15_000)))
    labels = [one.content["labels"]["severity"] for one in told(store, "alertmanager")]
    assert labels == ["warning", "warning", "critical", "critical"]


def test_alerts_are_told_singly_where_that_is_configured(store):
    config = config_of_shop(notify="alert", **RECEIVERS)
    commit(store, config, ("open", CART))
    assert told(store) == []  # the lane writes the messages then
    assert store.alert(CART.id).incident == CART.id


@pytest.mark.parametrize(
    ("tables", "is_incident"),
    [
        ({"watch": [{"name": "a", "source": "push"}]}, False),
        ({"watch": [{"name": "a", "source": "push"}], "notify": "incident"}, True),
        ({"watch": [{"name": "a", "source": "push", "entity": "e"}]}, True),
        ({"watch": [{"name": name, "source": "push"} for name in "ab"]}, True),
        ({"watch": [{"name": name, "source": "push"} for name in "ab"], "notify": "alert"}, False),
    ],
)
def test_several_lanes_are_told_as_incidents(tables, is_incident):
    assert config_of(tables).notifies_incidents is is_incident


def test_a_storm_stays_readable(store):
    for number in range(120):
        one = replace(alert(f"shop/{number}", 0), causes=(cause("x" * 1_000),))
        commit(store, SHOP, ("open", one))
    last = told(store)[-1].content
    assert last["incident"]["n_alerts"] == 120
    assert len(last["incident"]["timeline"]) == 100
    assert len(last["summary"]) < 1000
    manager = config_of_shop(**RECEIVERS)
    commit(store, manager, ("open", alert("hosts/new", 0, None, "x" * 1_000)))
    said = told(store, "alertmanager")[-1].content["annotations"]
    assert said["timeline"].splitlines()[-1] == "and 113 more"
    assert all(len(text) < 4_000 for text in said.values())


def test_signs_that_hide_or_turn_others_are_shown_escaped(store):
    commit(store, SHOP, ("open", alert("shop/a\u202eb", 0, None, "disk\u202egpj")))
    commit(store, SHOP, ("open", DATABASE))
    said = told(store, "alertmanager")[-1].content["annotations"]
    assert all("\u202e" not in text for text in said.values())
    assert "a\\u202eb" in said["timeline"]
