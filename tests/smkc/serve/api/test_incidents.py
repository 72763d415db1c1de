"""Incidents: listed, paged through, and each with what moved first and who is likely to blame."""

import httpx
import pytest
from tests.smkc.serve.delivery.parts import START
from tests.smkc.serve.incidents.parts import alert, commit, config_of_shop

from smkc.serve.config import config_of
from smkc.serve.queries import graph_links
from smkc.serve.service import Service
from smkc.serve.store import Store

CART = alert("shop/cart", 0, None, 'errors{service="cart"}')
DATABASE = alert("postgres", 30, 90, "locks\ud800")
ALONE = alert("hosts/<b>", 5_000, 5_060)
MERGED = alert("shop/late", 15, 45, "x")
BRIDGE = alert("postgres", 60, 75, "x")


@pytest.fixture(scope="module")
def service(tmp_path_factory):
    folder = tmp_path_factory.mktemp("data")
    config = config_of_shop(
        data=str(folder),
        dependencies={"cart": ["postgres"]},
        limits={"requests_per_minute": 1_000_000},
        retention={"alerts": "36000d"},
    )
    with Store.open(folder) as store:
        for one in (CART, MERGED, DATABASE, BRIDGE, ALONE):
            commit(store, config, ("open" if one.is_open else "close", one))
    with Service(config) as running:
        yield running


def listed(client, **asked):
    answer = client.get("/api/v1/incidents", params=asked)
    assert answer.status_code == 200, answer.text
    return [one["id"] for one in answer.json()["incidents"]]


def test_an_incident_says_what_moved_first_and_who_is_to_blame(client):
    answer = client.get(f"/api/v1/incidents/{CART.id}").json()
    assert (answer["start"], answer["end"]) == (START, START + 90_000)
    assert (answer["is_open"], answer["severity"]) == (True, "warning")
    first, second, third, fourth = answer["timeline"]
    assert first == {
        "alert": CART.id,
        "watch": "shop",
        "entity": "cart",
        "start": START,
        "end": START,
        "after": 0,
        "is_open": True,
        "anomaly": 1.8,
        "variable": 'errors{service="cart"}',
        "share": 0.6,
        "detail": "rose from 1 to 9",
        "place": "cart",
        "in_common": [],
    }
    assert [one["alert"] for one in (second, third, fourth)] == [MERGED.id, DATABASE.id, BRIDGE.id]
    assert third["in_common"] == ["postgres"]
    assert third["variable"] == "locks?"  # what UTF-8 cannot hold
    assert answer["likely_to_blame"] == {
        "alert": DATABASE.id,
        "watch": "postgres",
        "entity": "",
        "variable": "locks?",
        "detail": "rose from 1 to 9",
        "reason": "shop / cart depends on it, and it alerted 30s after the first",
        "query": "",
        "links": {},
    }


def test_who_is_to_blame_comes_with_a_query_and_links(serve, service):
    pulled = config_of(
        {
            "prometheus": {"url": "http://prometheus.example"},
            "watch": [{"name": "postgres", "query": "{}"}],
        }
    )
    url = serve(config={"watches": pulled.watches, "prometheus": pulled.prometheus}).url
    found = httpx.get(f"{url}/api/v1/incidents/{CART.id}", trust_env=False).json()
    query = r'{__name__="locks\ud800"}'
    database = service.store.alert(DATABASE.id).record
    assert found["likely_to_blame"]["query"] == query
    assert found["likely_to_blame"]["links"] == graph_links(database, query, pulled)
    assert list(found["likely_to_blame"]["links"]) == ["Prometheus"]


def test_a_merged_incident_leads_to_the_one_it_is_part_of(client):
    whole = client.get(f"/api/v1/incidents/{CART.id}").json()
    assert client.get(f"/api/v1/incidents/{MERGED.id}").json() == whole


def test_incidents_are_listed_and_paged(client):
    assert listed(client) == [ALONE.id, CART.id]
    assert listed(client, open=True) == [CART.id]
    assert listed(client, since=ALONE.start) == [ALONE.id]
    assert listed(client, until=ALONE.start - 1) == [CART.id]
    assert listed(client, limit=1) == [ALONE.id]
    assert client.get("/api/v1/incidents", params={"limit": 1}).json()["next"] == ALONE.id
    assert listed(client, before=ALONE.id) == [CART.id]
    assert listed(client, before="f" * 16) == []
    assert client.get("/api/v1/incidents").json()["next"] is None


def test_an_alert_names_its_incident(client):
    for one in (CART, MERGED, DATABASE, BRIDGE):
        assert client.get(f"/api/v1/alerts/{one.id}").json()["incident"] == CART.id


def test_open_incidents_are_counted(client):
    assert "\nsmkc_incident_open 1.0\n" in client.get("/metrics").text


def test_what_is_not_there_is_404(client):
    answer = client.get(f"/api/v1/incidents/{'f' * 16}")
    assert answer.status_code == 404
    assert "no incident" in answer.json()["error"]
    assert client.get("/api/v1/incidents/nonsense").status_code == 422
