"""The lanes that silences of Alertmanager cover."""

import httpx
import pytest
from tests.prometheus_server import real_alertmanager
from tests.smkc.serve.delivery.parts import alert_at, config_with
from tests.smkc.serve.delivery.silencing import ENTITIES, MANAGER, SPLIT, matchers_of, now, silence

from smkc.serve.config import AlertmanagerConfig, WatchConfig
from smkc.serve.delivery.silences import (
    Silence,
    covered_entities,
)
from smkc.serve.messages import alertmanager_alert

WHOLE = WatchConfig(name="shop", source="push")


def covered(text, watch=SPLIT, manager=MANAGER):
    silence = Silence(start=0, end=1, matchers=matchers_of(text))
    return covered_entities(silence, watch, ENTITIES, manager)


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
