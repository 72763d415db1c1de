"""Alerts: found, paged through, acknowledged, said to be normal."""

import pytest

ID = "00112233445566aa"


def test_an_alert_with_its_causes(client):
    answer = client.get(f"/api/v1/alerts/{ID}").json()
    assert answer["watch"] == "shop"
    assert answer["anomaly"] is None  # infinite
    assert answer["p_value"] == 0.0
    assert answer["causes"] == [
        {
            "variable": 'load{pod="p0"}',
            "share": 0.7,
            "kind": "level",
            "joint_with": [],
            "detail": "it rose",
            "reason": "",
            "query": "",  # nobody can ask a Prometheus for what was pushed
            "links": {},
        }
    ]


def test_alerts_are_listed(client):
    answer = client.get("/api/v1/alerts").json()
    assert [alert["id"] for alert in answer["alerts"]] == [ID]
    assert answer["next"] is None
    start = answer["alerts"][0]["start"]
    for asked, n in (
        ({"watch": "shop"}, 1),
        ({"watch": "fleet"}, 0),
        ({"entity": ""}, 1),
        ({"entity": "x"}, 0),
        ({"open": True}, 0),
        ({"since": start}, 1),
        ({"until": start - 1}, 0),
        ({"before": ID}, 0),
        ({"before": "f" * 16}, 0),
    ):
        assert len(client.get("/api/v1/alerts", params=asked).json()["alerts"]) == n, asked


def test_a_full_page_names_the_next(client):
    answer = client.get("/api/v1/alerts", params={"limit": 1}).json()
    assert answer["next"] == ID
    assert client.get("/api/v1/alerts", params={"before": ID}).json()["alerts"] == []


@pytest.mark.parametrize("body", [None, {}, {"note": "seen, and known: <b>\x00\n"}], ids=range(3))
def test_acknowledging_is_kept(locked, secrets, body):
    headers = {"Authorization": f"Bearer {secrets['admin']}"}
    answer = locked.post(f"/api/v1/alerts/{ID}/acknowledge", json=body, headers=headers)
    assert answer.status_code == 200, answer.text
    again = locked.get(f"/api/v1/alerts/{ID}", headers=headers).json()
    assert again == answer.json()
    assert again["acknowledged_by"] == "the-admin"
    assert again["note"] == (body or {}).get("note", "")
    assert again["acknowledged_at"] > 1_600_000_000_000


def test_each_acknowledgement_is_kept_newest_first(locked, secrets):
    headers = {"Authorization": f"Bearer {secrets['admin']}"}
    before = locked.get(f"/api/v1/alerts/{ID}", headers=headers).json()["acknowledgements"]
    for note in ("first", "second"):
        path = f"/api/v1/alerts/{ID}/acknowledge"
        answer = locked.post(path, json={"note": note}, headers=headers).json()
    said = answer["acknowledgements"]
    assert said[2:] == before
    assert [(one["by"], one["note"]) for one in said[:2]] == [
        ("the-admin", "second"),
        ("the-admin", "first"),
    ]
    assert said[0]["at"] >= said[1]["at"] > 1_600_000_000_000
    assert said[0] == {
        "by": answer["acknowledged_by"],
        "at": answer["acknowledged_at"],
        "note": answer["note"],
    }
    (listed,) = locked.get("/api/v1/alerts", headers=headers).json()["alerts"]
    assert listed["acknowledgements"] == said


@pytest.mark.parametrize(
    "body",
    [
        b'{"note": 5}',
        b'{"note": "\\ud800"}',
        b"[]",
        b'"x"',
        b"{",
        b"\xff",
        b'{"note": NaN}',
        b'{"note": "' + b"x" * 2001 + b'"}',
    ],
    ids=range(8),
)
def test_a_note_that_is_none_is_refused(client, body):
    answer = client.post(
        f"/api/v1/alerts/{ID}/acknowledge",
        content=body,
        headers={"Content-Type": "application/json"},
    )
    assert answer.status_code in (400, 422), answer.text
    assert list(answer.json()) == ["error"]


def test_feedback_before_there_is_a_model_is_answered(client):
    answer = client.post(f"/api/v1/alerts/{ID}/feedback")
    assert answer.status_code in (200, 400, 404, 503), answer.text


def test_what_is_not_there_is_404(client):
    assert client.get(f"/api/v1/alerts/{'f' * 16}").status_code == 404
    for post in ("acknowledge", "feedback"):
        assert client.post(f"/api/v1/alerts/{'f' * 16}/{post}").status_code == 404
