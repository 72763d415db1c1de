"""Watches: what the store holds is what is answered."""

from dataclasses import replace
from types import SimpleNamespace

import httpx
import numpy as np
import pytest
from tests.smkc.serve.still import LANE

from smkc.decide import NewNormal

STEP = 15_000
START = 1_799_999_985_000 // STEP * STEP
SPAN = {"since": START, "until": START + 200 * STEP}


def lane(service):
    return service.store.lane("shop", "")


def test_watches_are_as_the_service_says(client, service):
    answer = client.get("/api/v1/watches").json()
    assert [watch["name"] for watch in answer["watches"]] == ["shop", "fleet"]
    assert [watch["step"] for watch in answer["watches"]] == [STEP, STEP]
    shop = answer["watches"][0]
    status = service.watches()[0]
    assert shop["rows"] == status.rows == 200
    assert shop["phase"] == status.phase
    assert shop["lanes"][0]["last_time"] == START + 199 * STEP
    assert abs(answer["now"] - service.now()) < 60_000


def test_scores_are_the_verdicts(client, service):
    answer = client.get("/api/v1/watches/shop/scores", params=SPAN).json()
    expected = lane(service).verdicts(SPAN["since"], SPAN["until"], 1000)
    assert answer["times"] == expected["time"].tolist()
    assert answer["score"] == expected["score"].tolist()
    assert answer["cardinality"] == expected["cardinality"].tolist()
    assert answer["anomaly"][100] is None  # infinite
    assert answer["anomaly"][99] == 0.1
    assert answer["evidences"]["level"][:2] == [None, 0.5]
    assert answer["evidences"]["presence"] == [None] * 200


def test_scores_are_thinned_and_peaks_stay(client):
    answer = client.get("/api/v1/watches/shop/scores", params={**SPAN, "points": 10}).json()
    assert len(answer["times"]) <= 10
    assert START + 100 * STEP in answer["times"]
    lengths = {name: len(answer[name]) for name in ("times", "score", "p_value", "anomaly")}
    assert set(lengths.values()) == {len(answer["times"])}


def test_without_a_span_the_latest_hours_are_meant(client, service):
    answer = client.get("/api/v1/watches/shop/scores").json()
    assert answer["until"] - answer["since"] == 6 * 3_600_000
    assert abs(answer["until"] - service.now()) < 60_000


def test_a_span_that_ends_before_it_begins_is_empty(client):
    reverse = {"since": SPAN["until"] + 1, "until": SPAN["since"]}
    for part in ("scores", "presence", "traces"):
        answer = client.get(f"/api/v1/watches/shop/{part}", params={**reverse, "name": "x"})
        assert answer.status_code == 200, answer.text
    assert client.get("/api/v1/watches/shop/scores", params=reverse).json()["times"] == []


def test_presence_is_a_map_of_names_and_times(client, service):
    asked = {**SPAN, "columns": 7, "names": 5}
    answer = client.get("/api/v1/watches/shop/presence", params=asked).json()
    expected = lane(service).presence(SPAN["since"], SPAN["until"], 7, 5)
    assert answer["names"] == list(expected.names)
    assert answer["n_names"] == 12
    assert answer["times"] == expected.edges[:-1].tolist()
    seen = np.array(answer["seen"], float)
    assert seen.shape == (5, 7)
    np.testing.assert_allclose(seen, expected.shares)


def test_traces_are_the_values(client, service):
    names = ['load{pod="p1"}', 'load{pod="p2"}', "never seen"]
    asked = {**SPAN, "name": names}
    answer = client.get("/api/v1/watches/shop/traces", params=asked).json()
    expected = lane(service).traces(names, SPAN["since"], SPAN["until"])
    assert [trace["name"] for trace in answer["traces"]] == names
    for trace in answer["traces"]:
        times, values = expected[trace["name"]]
        assert trace["times"] == times.tolist()
        assert trace["values"] == values.tolist()
    assert len(answer["traces"][0]["times"]) > 100
    assert answer["traces"][2]["times"] == []
    assert {trace[end] for trace in answer["traces"] for end in ("lower", "upper")} == {None}


def test_traces_come_with_the_usual_band(serve, service):
    class Banded:
        journal = lane(service)

        def usual_band(self, name, times):
            middle = np.linspace(1.0, 2.0, len(times))
            middle[0] = np.nan
            return None if name.endswith('p2"}') else (middle - 1.0, middle + 1.0)

    asked = {**SPAN, "name": ['load{pod="p1"}', 'load{pod="p2"}']}
    url = serve(lane=lambda watch, entity: Banded()).url
    answer = httpx.get(f"{url}/api/v1/watches/shop/traces", params=asked, trust_env=False).json()
    first, second = answer["traces"]
    assert len(first["lower"]) == len(first["upper"]) == len(first["times"])
    assert (first["lower"][0], first["lower"][-1], first["upper"][-1]) == (None, 1.0, 3.0)
    assert (second["lower"], second["upper"]) == (None, None)


@pytest.mark.parametrize("part", ["scores", "presence", "traces", "loudest", "new-normals"])
@pytest.mark.parametrize("watch", ["none", "fleet"], ids=["no watch", "no entity"])
def test_what_is_not_followed_is_404_and_not_made(client, service, watch, part):
    before = len(service.store.lanes())
    answer = client.get(f"/api/v1/watches/{watch}/{part}", params={"entity": "ghost", "name": "a"})
    assert answer.status_code == 404
    assert "/api/v1/watches" in answer.json()["error"]
    assert len(service.store.lanes()) == before


def test_refit_of_what_is_not_there_is_404(client):
    assert client.post("/api/v1/watches/none/refit").status_code == 404
    assert client.post("/api/v1/watches/shop/refit?entity=ghost").status_code == 404


def test_metrics_are_text(client):
    answer = client.get("/metrics")
    assert answer.headers["content-type"].startswith("text/plain; version=0.0.4")
    assert 'smkc_rows_total{entity="",watch="shop"} 200.0' in answer.text


def test_probes(client):
    assert client.get("/readyz").json() == {"ready": True}
    health = client.get("/healthz").json()
    assert len(health["problems"]) == health["n_problems"]


def test_not_ready_is_503(serve):
    import httpx

    server = serve(is_ready=False)
    answer = httpx.get(server.url + "/readyz", trust_env=False)
    assert answer.status_code == 503
    assert answer.headers["retry-after"]


def test_lasting_changes_are_listed_and_answered(client, serve, service):
    path = "/api/v1/watches/shop/new-normals"
    assert client.get(path).json() == {"watch": "shop", "entity": "", "variables": []}
    one = NewNormal(variable="cpu", row=7, since=1_000, before=1.5, now=9.0)
    answers = []

    def changed_lane(watch, entity):
        status = service.lane(watch, entity).status(service.now())
        return SimpleNamespace(status=lambda now: replace(status, new_normals=(one,)))

    def answer(*given, is_normal):
        answers.append((*given, is_normal))

    url = serve(lane=changed_lane, answer=answer).url + path
    listed = [{"variable": "cpu", "since": 1_000, "before": 1.5, "now": 9.0}]
    assert httpx.get(url, trust_env=False).json()["variables"] == listed
    said = httpx.post(url, json={"variable": "cpu", "is_normal": False}, trust_env=False)
    assert (said.status_code, said.json()["variables"]) == (200, listed)
    assert answers == [("shop", "", "cpu", "local", False)]


@pytest.mark.parametrize(
    "content", [{}, {"variable": "cpu"}, {"variable": "", "is_normal": True}, {"is_normal": True}]
)
def test_an_answer_that_is_not_whole_is_refused(client, content):
    assert client.post("/api/v1/watches/shop/new-normals", json=content).status_code == 422


def test_what_is_no_lasting_change_cannot_be_answered(client):
    content = {"variable": "cpu", "is_normal": True}
    assert client.post("/api/v1/watches/shop/new-normals", json=content).status_code == 404


def test_the_loudest_are_those_of_the_latest_row(client, serve, service):
    nothing = client.get("/api/v1/watches/shop/loudest").json()
    (latest,) = lane(service).latest_verdicts(1)
    assert nothing == {"watch": "shop", "entity": "", "time": latest.time, "variables": []}

    def loud_lane(watch, entity):
        status = service.lane(watch, entity).status(service.now())
        return SimpleNamespace(status=lambda now: replace(status, loudest=LANE.loudest))

    answer = httpx.get(f"{serve(lane=loud_lane).url}/api/v1/watches/shop/loudest", trust_env=False)
    found = answer.json()["variables"]
    assert [one["variable"] for one in found] == [one.variable for one in LANE.loudest]
    assert (found[0]["value"], found[0]["lower"], found[0]["upper"]) == (9.5, 1.0, 2.5)
    assert (found[1]["lower"], found[2]["value"]) == (None, None)
