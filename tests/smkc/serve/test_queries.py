from urllib.parse import parse_qs, unquote, urlsplit

import pytest
from tests.smkc.serve.delivery.parts import alert_at

from smkc.errors import SettingError
from smkc.serve.config import WatchConfig, config_of
from smkc.serve.messages import messages_for
from smkc.serve.queries import graph_links, query_of, query_of_cause

WATCH = WatchConfig(name="shop", query='{job="shop"}', step=30_000)
SPLIT = WatchConfig(name="shop", query='{job="shop"}', entity="zone")


def config_with(**tables):
    watch = {"name": "shop", "query": "{__name__!=''}", "entity": "ns"}
    prometheus = {"url": "http://prometheus.example:9090/"}
    return config_of({"prometheus": prometheus, "watch": [watch], **tables})


@pytest.mark.parametrize(
    ("variable", "query"),
    [
        ("up", "up"),
        ('memory_bytes{pod="web-1"}', 'memory_bytes{pod="web-1"}'),
        ("requests_total", "rate(requests_total[120s])"),
        ('a{path="say \\"x\\"\\\\"}', 'a{path="say \\"x\\"\\\\"}'),
        ("node.load", '{__name__="node.load"}'),
        (
            'rpc{pod="a",quantile="0.99"}',
            'rpc{pod="a",quantile="0.99"} or histogram_quantile(0.99, rate(rpc{pod="a"}[120s]))',
        ),
        ('rpc{quantile="0.75"}', 'rpc{quantile="0.75"}'),  # of a summary: smkc computes none such
        ('{job="shop"}', '{job="shop"}'),  # of an expression: the watch's own query
        ("cpu{pod}", ""),
    ],
)
def test_a_variable_as_a_query(variable, query):
    assert query_of(variable, WATCH, "") == query


def test_the_entity_is_part_of_the_query():
    assert query_of("up", SPLIT, "eu") == 'up{zone="eu"}'
    assert query_of('up{a="b"}', SPLIT, "eu") == 'up{a="b",zone="eu"}'


def test_counters_that_are_taken_as_they_are_have_no_rate():
    watch = WatchConfig(name="shop", query="up", counters="none")
    assert query_of("requests_total", watch, "") == "requests_total"


def test_what_was_pushed_has_no_query():
    assert query_of("cpu", WatchConfig(name="edge", source="push"), "") == ""


def test_an_alert_of_a_watch_that_is_gone_has_no_query():
    config = config_with()
    assert query_of_cause("cpu", alert_at(), config) == 'cpu{ns="checkout"}'
    assert query_of_cause("cpu", alert_at(watch="gone"), config) == ""


def test_prometheus_draws_a_query_around_the_alert():
    (address,) = graph_links(alert_at(), 'cpu{pod="web-1"}', config_with()).values()
    assert address.startswith("http://prometheus.example:9090/graph?")
    asked = parse_qs(urlsplit(address).query)
    assert asked["g0.expr"] == ['cpu{pod="web-1"}']
    assert asked["g0.end_input"][0].startswith("2026-09-21 14:45:00")
    assert asked["g0.range_input"] == ["4500s"]


def test_links_of_ones_own_take_the_place_of_prometheus():
    explore = 'https://grafana.example/explore?left={"expr":"{query_json}","to":"{end}"}'
    found = graph_links(alert_at(), 'cpu{pod="a"}', config_with(links={"Grafana": explore}))
    assert list(found) == ["Grafana"]
    assert unquote(found["Grafana"]).startswith(
        'https://grafana.example/explore?left={"expr":"cpu{pod=\\"a\\"}","to":"17'
    )


def test_a_query_that_is_none_leads_nowhere():
    assert graph_links(alert_at(), "", config_with()) == {}


@pytest.mark.parametrize(
    ("name", "address", "words"),
    [
        ("Grafana", "https://grafana.example/explore", "no place for the query"),
        ("Grafana", "javascript:alert({query})", "Grafana"),
        ("", "https://grafana.example/{query}", "name a link"),
    ],
)
def test_links_that_cannot_work_are_refused(name, address, words):
    with pytest.raises(SettingError, match=words):
        config_with(links={name: address})


def test_who_is_told_of_an_alert_is_told_the_query():
    config = config_with(
        alertmanager=[{"url": "http://alerts.example:9093"}],
        webhook=[{"name": "hook", "url": "http://hook.example/"}],
        notify="alert",
    )
    told, event = (message.content for message in messages_for(alert_at(), "open", config))
    assert told["annotations"]["query"] == event["query"] == 'cpu{pod="web-1",ns="checkout"}'
