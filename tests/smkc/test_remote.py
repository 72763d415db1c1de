"""smkc.read over HTTP, from a real Prometheus."""

from datetime import UTC, datetime

import numpy as np
import pytest
from tests.prometheus_server import real_prometheus

import smkc
from smkc.errors import ReadError, SettingError
from smkc.serve.prometheus import SourceError

START = 1_790_000_010
HISTORY = (
    "# TYPE load gauge\n"
    + "".join(
        f'load{{pod="{pod}"}} {at + pod} {START + 15 * at}\n' for pod in (0, 1) for at in range(40)
    )
    + "# EOF\n"
)


@pytest.fixture(scope="module")
def url():
    with real_prometheus(history=HISTORY) as server:
        yield server.url


@pytest.mark.prometheus
def test_a_range_is_read(url):
    found = smkc.read(url, query="load", start=START, end=START + 150, step="15s")
    assert found.names == ('load{pod="0"}', 'load{pod="1"}')
    assert len(found) == 11
    assert found.times[0] == np.datetime64(START, "s")
    assert found.row(3) == {'load{pod="0"}': 3.0, 'load{pod="1"}': 4.0}


@pytest.mark.prometheus
@pytest.mark.parametrize(
    ("start", "end"),
    [
        ("2m", START + 150),
        (np.datetime64(START + 30, "s"), datetime.fromtimestamp(START + 150, UTC)),
        (f"{np.datetime64(START + 30, 's')}Z", START + 150),
    ],
    ids=["duration", "dates", "text"],
)
def test_times_may_be_said_in_many_ways(url, start, end):
    assert len(smkc.read(url, query='load{pod="0"}', start=start, end=end)) == 9


@pytest.mark.prometheus
def test_what_cannot_be_read_is_said(url):
    with pytest.raises(ReadError, match=r"'nothing' gives no sample .*check the query"):
        smkc.read(url, query="nothing", start=START, end=START + 60)
    with pytest.raises(SourceError, match="parse error"):
        smkc.read(url, query="load{", start=START, end=START + 60)
    with pytest.raises(SettingError, match="give a start before the end"):
        smkc.read(url, query="load", start=START + 60, end=START)
    with pytest.raises(SettingError, match="layout: not an option for a Prometheus"):
        smkc.read(url, query="load", layout="wide")
    with pytest.raises(SettingError, match="start='yesterday' is no time"):
        smkc.read(url, query="load", start="yesterday")


def test_addresses_and_queries_belong_together():
    with pytest.raises(SettingError, match="is an address; say what to ask"):
        smkc.read("http://127.0.0.1:9")
    with pytest.raises(SettingError, match="goes with the address of a Prometheus"):
        smkc.read({"a": [1]}, query="up")
    with pytest.raises(SettingError, match="start goes with query"):
        smkc.read({"a": [1]}, start="6h")
    with pytest.raises(ReadError, match=r"read a Prometheus with smkc.read\('http://x', query="):
        smkc.Detector().fit("http://x")
