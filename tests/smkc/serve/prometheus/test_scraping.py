"""The scrape interval and the number of series: by the real Prometheus, and by others."""

import time

import pytest
from tests.following import Playback, wait_until
from tests.misbehaving_server import Answer, misbehaving_server
from tests.prometheus_server import real_prometheus, target

from smkc.serve.prometheus.client import Prometheus, SourceError
from smkc.serve.prometheus.scraping import number_of_series, scrape_interval

NOW = 1_700_000_010_000
EVERY_15_S = [NOW - 15_000 * k - jitter for k, jitter in enumerate([2, 0, 1, 3, 0, 1])]
EVERY_MINUTE = [NOW - 60_000 * k for k in range(4)]


def now():
    return int(time.time() * 1000)


@pytest.mark.prometheus
def test_it_is_that_of_the_series_that_are_asked_for():
    with target({"quick": 1.0}) as one, target({"slow": 1.0, "slower": 1.0}) as other:
        jobs = [
            {"job_name": "a", "static_configs": [{"targets": [one.address]}]},
            {
                "job_name": "b",
                "scrape_interval": "3s",
                "scrape_timeout": "3s",
                "static_configs": [{"targets": [other.address]}],
            },
        ]
        with (
            real_prometheus(settings={"scrape_configs": jobs}) as server,
            Prometheus(server.url) as client,
        ):
            wait_until(lambda: scrape_interval(client, "slow", now()) == 3_000)
            assert scrape_interval(client, "quick", now()) == 1_000
            assert number_of_series(client, '{__name__=~"quick|slow|slower"}', now()) == 3
            assert scrape_interval(client, '{__name__=~"quick|slow|slower"}', now()) == 3_000
            # What is computed was read from nobody: then most targets count, or the longer one.
            assert scrape_interval(client, "sum(quick)", now()) == 3_000


@pytest.mark.prometheus
def test_a_server_that_scrapes_nothing_shows_none():
    with real_prometheus() as server, Prometheus(server.url) as client:
        assert scrape_interval(client, "up", now()) is None


@pytest.mark.parametrize(
    ("scrapes", "expected"),
    [
        ({"a": EVERY_15_S, "b": EVERY_MINUTE}, 60_000),
        ({"a": EVERY_15_S, "b": EVERY_15_S, "c": EVERY_MINUTE}, 15_000),
        ({"a": [NOW - 250 * k for k in range(9)]}, 200),
        ({"a": [NOW]}, None),
        ({}, None),
        (None, None),
    ],
    ids=["even", "most", "shorter than a second", "one scrape", "none", "not allowed"],
)
def test_times_of_scrapes_show_it(scrapes, expected):
    playback = Playback(lambda _: {"load": 1.0})
    playback.scrapes = scrapes
    with playback.running(), Prometheus(playback.url) as client:
        assert scrape_interval(client, "load", NOW) == expected


def test_a_failure_that_may_pass_is_no_answer():
    with (
        misbehaving_server(lambda _: Answer(status=503)) as server,
        Prometheus(server.url) as client,
    ):
        for asked in (scrape_interval, number_of_series):
            with pytest.raises(SourceError, match="answers 503"):
                asked(client, "load", NOW)


def test_a_query_that_is_refused_has_no_series():
    with (
        misbehaving_server(lambda _: Answer(status=400)) as server,
        Prometheus(server.url) as client,
    ):
        assert number_of_series(client, "load{", NOW) == 0
