import shutil
import subprocess
import threading
from dataclasses import replace
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest
from prometheus_client.parser import text_string_to_metric_families
from tests.prometheus_server import real_prometheus
from tests.smkc.serve.delivery.parts import alert_at, config_with, eventually, put, server
from tests.smkc.serve.still import LANE, WATCH, Still

from smkc.serve.metrics import CONTENT_TYPE, STALE_AFTER, render
from smkc.serve.service import Service
from smkc.serve.store import MarkedSpan, Store
from smkc.version import VERSION


@pytest.fixture
def service(tmp_path):
    config = config_with(webhook=[{"name": "pager", "url": "http://127.0.0.1:9"}])
    with Store.open(tmp_path / "data") as store:
        put(store, config, [("open", alert_at())])
        yield Still(config, store)


def values_of(text: bytes) -> dict[tuple[str, ...], float]:
    """Return (name, label values in order of their names) -> value."""
    return {
        (sample.name, *(sample.labels[name] for name in sorted(sample.labels))): sample.value
        for family in text_string_to_metric_families(text.decode())
        for sample in family.samples
    }


def test_marked_spans_are_counted(service):
    for kind in ("missed", "missed", "deploy"):
        service.store.spans.add(MarkedSpan(watch="shop", kind=kind, start=1, end=2))
    found = values_of(render(service))
    for kind, n in (("maintenance", 0), ("missed", 2), ("deploy", 1)):
        assert found["smkc_spans", kind, "shop"] == n


def test_scores_and_health_are_there(service):
    found = values_of(render(service))
    entity = 'check"out\n'
    expected = {
        ("anomaly_score", entity, "shop"): 1.75,
        ("smkc_p_value", entity, "shop"): 1e-6,
        ("smkc_cardinality", entity, "shop"): 17,
        ("smkc_evidence_nats", entity, "level", "shop"): 12.5,
        ("smkc_evidence_nats", entity, "presence", "shop"): 0.25,
        ("smkc_observed", entity, 'cpu{pod="a"}', "shop"): 9.5,
        ("smkc_observed", entity, "requests_total", "shop"): 700.0,
        ("smkc_expected", "lower", entity, 'cpu{pod="a"}', "shop"): 1.0,
        ("smkc_expected", "upper", entity, 'cpu{pod="a"}', "shop"): 2.5,
        ("smkc_self_test_planted", entity, "spike", "shop"): 3,
        ("smkc_self_test_caught", entity, "spike", "shop"): 2,
        ("smkc_self_test_planted", entity, "wrong hour", "shop"): 21,
        ("smkc_self_test_caught", entity, "wrong hour", "shop"): 16,
        ("smkc_churn_total", "appeared", entity, "shop"): 12,
        ("smkc_churn_total", "vanished", entity, "shop"): 7,
        ("smkc_alert_open", entity, "shop"): 1,
        ("smkc_alert_open", "new", "shop"): 0,
        ("smkc_lag_seconds", entity, "shop"): 4.5,
        ("smkc_rows_total", entity, "shop"): 500,
        ("smkc_refused_variables_total", entity, "shop"): 3,
        ("smkc_errors_total", "source", "shop"): 2,
        ("smkc_errors_total", "decode", "shop"): 1,
        ("smkc_errors_total", "store", "shop"): 0,
        ("smkc_late_samples_total", "shop"): 5,
        ("smkc_duplicate_samples_total", "shop"): 6,
        ("smkc_refused_samples_total", "shop"): 8,
        ("smkc_infinite_values_total", "shop"): 10,
        ("smkc_inbox", "shop"): 9,
        ("smkc_phase", "following", "shop"): 1,
        ("smkc_phase", "waiting", "shop"): 0,
        ("smkc_incident_open",): 1,
        ("smkc_outbox_waiting",): 1,
        ("smkc_store_bytes",): service.store.size_bytes(),
        ("smkc_healthy",): 0,
        ("smkc_ready",): 1,
        ("smkc_problems",): 1,
        ("smkc_build_info", VERSION): 1,
    }
    assert {key: found.get(key) for key in expected} == expected
    assert sum(key[0] == "smkc_expected" for key in found) == 2
    assert sum(key[0] == "smkc_self_test_caught" for key in found) == 2
    assert found["process_resident_memory_bytes",] > 1_000_000


def test_each_receiver_is_told_apart_and_no_path_is_told(service):
    text = render(service)
    found = values_of(text)
    first, second = (
        ("alertmanager", "alerts.example:9093"),
        ("alertmanager", "alerts.example:9093 2"),
    )
    pager = ("webhook", "pager")
    expected = {
        "smkc_receiver_sent_total": {pager: 4, first: 20, second: 0},
        "smkc_receiver_failed_total": {pager: 3, first: 0, second: 5},
        "smkc_receiver_dropped_total": {pager: 2, first: 0, second: 0},
        "smkc_receiver_waiting": {pager: 1, first: 0, second: 6},
    }
    told = {
        name: {key[1:]: value for key, value in found.items() if key[0] == name}
        for name in expected
    }
    assert told == expected
    assert b"hidden" not in text


def test_receivers_of_the_real_service_are_counted(tmp_path):
    with server() as hook, server() as manager:
        config = config_with(
            data=str(tmp_path),
            alertmanager=[{"url": f"{manager.url}/secret-path"}],
            webhook=[{"name": "pager", "url": f"{hook.url}/T0/secret"}],
        )
        hook.answers = [(400, {}, b"never")]
        manager.answers = [500]
        with Service(config) as running:
            began = running.now()
            put(running.store, config, [("open", alert_at(began))], began)

            def counts():
                return {
                    key: value
                    for key, value in values_of(render(running)).items()
                    if key[0].startswith("smkc_receiver")
                }

            place = manager.url.removeprefix("http://")
            counted = {
                ("smkc_receiver_failed_total", "webhook", "pager"): 1,
                ("smkc_receiver_dropped_total", "webhook", "pager"): 1,
                ("smkc_receiver_waiting", "webhook", "pager"): 0,
                ("smkc_receiver_failed_total", "alertmanager", place): 1,
                ("smkc_receiver_dropped_total", "alertmanager", place): 0,
            }
            eventually(lambda: counted.items() <= counts().items())
            eventually(lambda: counts()["smkc_receiver_waiting", "alertmanager", place] == 0)
            assert counts()["smkc_receiver_sent_total", "alertmanager", place] >= 1
            assert b"secret" not in render(running)


def test_a_lane_without_a_verdict_has_no_score(service):
    names = {key[:2] for key in values_of(render(service))}
    assert ("smkc_rows_total", "new") in names
    assert ("anomaly_score", "new") not in names


@pytest.mark.parametrize(("past", "is_there"), [(0, True), (1, False)])
def test_an_old_score_does_not_look_like_a_new_one(service, past, is_there):
    watch = service.config.watches[0]
    lag = watch.step + watch.lateness + STALE_AFTER + past
    service.status = replace(WATCH, lanes=(replace(LANE, lag=lag),))
    found = values_of(render(service))
    assert (("anomaly_score", LANE.entity, "shop") in found) is is_there
    assert found["smkc_lag_seconds", LANE.entity, "shop"] == lag / 1000


def test_a_lane_called_what_no_utf8_can_say_is_there_all_the_same(service):
    service.status = replace(WATCH, lanes=(replace(LANE, entity="a\ud800b"),))
    assert ("anomaly_score", "a?b", "shop") in values_of(render(service))


def test_a_watch_that_left_the_configuration_does_no_harm(service):
    service.status = replace(WATCH, name="gone", lanes=(replace(LANE, watch="gone"),))
    assert ("anomaly_score", LANE.entity, "gone") in values_of(render(service))


@pytest.mark.prometheus
@pytest.mark.skipif(shutil.which("promtool") is None, reason="needs Debian's package prometheus")
def test_promtool_has_nothing_to_say(service):
    done = subprocess.run(
        ["promtool", "check", "metrics"], input=render(service), capture_output=True, timeout=60
    )
    assert (done.returncode, done.stdout, done.stderr) == (0, b"", b"")


@pytest.mark.prometheus
def test_the_real_prometheus_scrapes_it(service):
    class Handler(BaseHTTPRequestHandler):
        def do_GET(self):
            body = render(service)
            self.send_response(200)
            self.send_header("Content-Type", CONTENT_TYPE)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_):
            pass

    served = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=served.serve_forever, args=(0.02,), daemon=True)
    thread.start()
    try:
        with real_prometheus({"smkc": [f"127.0.0.1:{served.server_port}"]}) as prometheus:
            query = "/api/v1/query?query=anomaly_score%20%3E%201"
            (found,) = eventually(lambda: prometheus.get(query)["data"]["result"])
            assert found["metric"]["watch"] == "shop"
            assert found["metric"]["entity"] == 'check"out\n'
            assert found["metric"]["job"] == "smkc"
            assert found["value"][1] == "1.75"
            (target,) = prometheus.get("/api/v1/targets")["data"]["activeTargets"]
            assert (target["health"], target["lastError"]) == ("up", "")
    finally:
        served.shutdown()
        thread.join()
        served.server_close()
