import json
from dataclasses import replace

from tests.smkc.serve.delivery.parts import START, STEP, alert_at, config_with

from smkc.serve.config import config_of
from smkc.serve.lane.alerting import labels_of, severity_of
from smkc.serve.messages import address, messages_for

MANAGER = {"url": "http://alerts.example:9093/am/?token=hidden", "labels": {"team": "shop"}}
BOTH = config_with(
    alertmanager=[MANAGER], webhook=[{"name": "on call", "url": "http://hook.example/x/secretpath"}]
)


CHANGES = ("open", "update", "close")


def test_alertmanager_gets_labels_causes_in_words_and_a_link():
    (message, _) = messages_for(alert_at(), "open", BOTH)
    told = message.content
    assert message.kind == "alertmanager"
    assert told["labels"] == {
        "alertname": "SmkcAnomaly",
        "watch": "shop",
        "entity": "checkout",
        "team": "shop",
    }
    lines = told["annotations"]["causes"].splitlines()
    assert lines[0] == "At 2026-09-21T14:13:30.000Z, the worst moment so far:"
    assert lines[1] == (
        '61% level: cpu{pod="web-1"} (jointly with cpu{pod="web-2"}); rose from 0.2 to 0.9'
    )
    assert lines[3:] == [f"3% presence: disk_{i}" for i in range(3)] + ["and 2 more"]
    assert told["annotations"]["evidence"] == (
        "level: 1 row in 220,000, presence: 1 row in 58, at 2026-09-21T14:13:30.000Z"
    )
    link = f"https://smkc.example/alerts/{alert_at().id}"
    assert told["annotations"]["link"] == told["generatorURL"] == link
    assert told["annotations"]["summary"] == (
        'shop, checkout is anomalous since 2026-09-21T14:13:30.000Z: cpu{pod="web-1"} rose from '
        "0.2 to 0.9"
    )
    assert told["startsAt"] == "2026-09-21T14:13:30.000Z"
    assert "endsAt" not in told


def test_causes_name_their_moment_where_it_is_not_the_worst():
    worse = alert_at(peak=START + STEP, anomaly=2.5)
    told, event = (message.content for message in messages_for(worse, "update", BOTH))
    assert told["annotations"]["causes"].splitlines()[0] == (
        "At 2026-09-21T14:13:30.000Z, when the anomaly was 1.80 (it came to 2.50 at "
        "2026-09-21T14:13:45.000Z):"
    )
    assert told["annotations"]["evidence"].endswith(" at 2026-09-21T14:13:45.000Z")
    assert event["alert"]["causes_at"] == "2026-09-21T14:13:30.000Z"
    assert event["alert"]["causes_anomaly"] == 1.8


def test_evidences_that_say_little_are_left_out():
    quiet = alert_at(evidences={"level": 0.9, "jump": float("nan")})
    (message, _) = messages_for(quiet, "open", BOTH)
    assert "evidence" not in message.content["annotations"]


def test_no_causes_have_no_moment():
    (message, _) = messages_for(alert_at(causes=()), "open", BOTH)
    assert "causes" not in message.content["annotations"]


def test_a_closed_alert_says_when_it_ended():
    closed = alert_at(end=START + 2 * STEP + 7, is_open=False)
    told, event = (message.content for message in messages_for(closed, "close", BOTH))
    assert told["endsAt"] == event["alert"]["end"] == "2026-09-21T14:14:00.007Z"
    assert "was anomalous from" in told["annotations"]["summary"]
    assert event["event"] == "close"
    assert event["alert"]["is_open"] is False


def test_a_webhook_gets_everything_as_json():
    (_, message) = messages_for(alert_at(p_value=float("nan")), "update", BOTH)
    event = json.loads(json.dumps(message.content, allow_nan=False))
    assert (message.kind, message.to) == ("webhook", "on call")
    assert event["version"] == 1
    assert event["event"] == "update"
    assert event["alert"]["p_value"] is None
    assert event["alert"]["anomaly"] == 1.8
    assert len(event["alert"]["causes"]) == 7
    assert event["alert"]["causes"][0]["joint_with"] == ['cpu{pod="web-2"}']


def test_keys_are_the_same_in_a_replay_and_apart_otherwise():
    variants = [alert_at(), alert_at(peak=START + STEP), alert_at(START + STEP)]
    keys = [
        message.key
        for alert in variants
        for change in CHANGES
        for message in messages_for(alert, change, BOTH)
    ]
    again = [m.key for a in variants for c in CHANGES for m in messages_for(a, c, BOTH)]
    assert keys == again
    assert len(set(keys)) == len(keys) == 3 * 3 * 2
    assert all(key.isascii() and key.isprintable() and " " not in key for key in keys)


def test_messages_about_one_lane_keep_their_order():
    found = messages_for(alert_at(), "open", BOTH) + messages_for(alert_at(), "close", BOTH)
    assert {message.about for message in found} == {"shop/checkout"}


def test_nothing_of_an_address_that_may_be_secret_is_in_a_message():
    text = repr(messages_for(alert_at(), "open", BOTH))
    assert "hidden" not in text
    assert "secretpath" not in text


def test_an_unsplit_watch_has_no_entity_label():
    (message, _) = messages_for(alert_at(entity=""), "open", BOTH)
    assert "entity" not in message.content["labels"]
    assert message.content["annotations"]["summary"].startswith("shop is anomalous")


def test_a_name_of_any_length_stays_readable_on_a_telephone():
    causes = (replace(alert_at().causes[0], variable="x" * 100_000),)
    (message, _) = messages_for(alert_at(causes=causes), "open", BOTH)
    assert all(len(text) < 1000 for text in message.content["annotations"].values())


def test_who_hears_of_nothing_gets_no_message():
    assert messages_for(alert_at(), "open", config_with()) == []


def test_address_shows_where_and_no_more():
    assert address("https://u:p@h:1/a/b/?q=1#f") == "https://h:1/a/b"


def test_without_a_public_address_there_is_no_link():
    config = config_of(
        {
            "watch": [{"name": "shop", "source": "push"}],
            "listen": "0.0.0.0:9469",
            "alertmanager": [MANAGER],
            "webhook": [{"name": "on call", "url": "http://hook.example/x"}],
        }
    )
    told, event = (message.content for message in messages_for(alert_at(), "open", config))
    assert "link" not in told["annotations"]
    assert "generatorURL" not in told
    assert event["link"] == ""
    assert "0.0.0.0" not in repr((told, event))


def test_signs_that_hide_or_turn_others_are_shown_escaped():
    causes = (replace(alert_at().causes[0], variable="disk\u202egpj.exe\u2066\u200b\ufeff\u3164"),)
    told, event = (one.content for one in messages_for(alert_at(causes=causes), "open", BOTH))
    shown = "disk\\u202egpj.exe\\u2066\\u200b\\ufeff\\u3164"
    for text in (*told["annotations"].values(), event["summary"]):
        assert "\u202e" not in text
    assert shown in told["annotations"]["causes"]
    assert shown in event["summary"]
    assert event["alert"]["causes"][0]["variable"] == causes[0].variable  # for programs, as it is


GUILTY = 'http_errors{instance="10.0.0.7:9100",job="shop",pod="a-1",service="cart",team="x"}'


def opened(variable, anomaly=1.8, **settings):
    """Return the labels that Alertmanager gets of an alert whose first cause is a variable."""
    causes = (replace(alert_at().causes[0], variable=variable),)
    config = config_with(alertmanager=[{**MANAGER, **settings}])
    alert = alert_at(
        causes=causes, labels=labels_of(causes), severity=severity_of(anomaly), anomaly=anomaly
    )
    (message,) = messages_for(alert, "open", config)
    return message.content["labels"]


def test_alertmanager_routes_by_the_labels_of_the_guilty_variable():
    assert opened(GUILTY) == {
        "alertname": "SmkcAnomaly",
        "watch": "shop",
        "entity": "checkout",
        "severity": "warning",
        "service": "cart",
        "instance": "10.0.0.7:9100",
        "job": "shop",
        "team": "shop",  # what is configured counts more
    }
    assert opened(GUILTY, anomaly=2.5)["severity"] == "critical"
    assert opened("plain").keys() == {"alertname", "watch", "entity", "severity", "team"}


def test_which_labels_of_the_guilty_variable_are_sent_is_configured():
    assert opened(GUILTY, cause_labels=["pod"])["pod"] == "a-1"
    assert "service" not in opened(GUILTY, cause_labels=[])
    assert opened(GUILTY, labels={"severity": "page"})["severity"] == "page"
    hostile = opened(
        'x{alertname="Other",watch="w",service="s"}', cause_labels=["alertname", "watch"]
    )
    assert (hostile["alertname"], hostile["watch"]) == ("SmkcAnomaly", "shop")


def test_labels_stay_while_an_alert_lasts():
    first = alert_at(labels={"service": "cart"}, severity="warning")
    worse = replace(first, anomaly=9.0, causes=(replace(first.causes[0], variable=GUILTY),))
    config = config_with(alertmanager=[MANAGER])
    told = [messages_for(one, "update", config)[0].content["labels"] for one in (first, worse)]
    assert told[0] == told[1]
