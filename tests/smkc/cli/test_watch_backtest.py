"""``smkc watch --backtest``: the real Prometheus is asked for its past, with a fault in it."""

import json
import time

import numpy as np
import pytest
from tests import worlds
from tests.following import Playback
from tests.prometheus_server import real_prometheus
from tests.smkc.cli.conftest import run

STEP, N_ROWS, N_VARIABLES = 15, 960, 8
FAULT = (700, 719)
GUILTY = 3


def flat(text):
    return " ".join(text.split())


@pytest.fixture(scope="module")
def past():
    """Four hours that end an hour ago, as OpenMetrics text; one variable is off for 5 minutes."""
    table = worlds.coupled(np.random.default_rng(4), N_ROWS, N_VARIABLES)
    table[FAULT[0] : FAULT[1] + 1, GUILTY] += 30.0
    end = int(time.time()) // STEP * STEP - 60
    start = end - (N_ROWS - 1) * STEP
    lines = [
        f'load{{host="h{j}"}} {float(table[t, j])!r} {start + t * STEP}'
        for j in range(N_VARIABLES)
        for t in range(N_ROWS)
    ]
    return "# TYPE load gauge\n" + "\n".join(lines) + "\n", start


@pytest.fixture(scope="module")
def server(past):
    with real_prometheus(history=past[0], flags=["--query.lookback-delta=20s"]) as found:
        yield found


def options(url, *more):
    query = ("--query", "load", "--name", "shop", "--step", f"{STEP}s", "--false-alarms", "3")
    return ["watch", "--prometheus", url, *query, "--backtest", "4h", *more]


@pytest.mark.prometheus
def test_the_fault_is_listed_with_its_cause_and_counted_for_each_budget(past, server, tmp_path):
    data = ("--data", str(tmp_path / "data"))
    done = run(*options(server.url, "--json", *data))
    assert done.exit_code == 0, done.stderr
    (found,) = json.loads(done.stdout)
    assert found["learned"] >= 240
    assert found["learned"] + found["judged"] > N_ROWS - 20
    budgets = {one["false_alarms_per_day"]: one["alerts"] for one in found["budgets"]}
    assert list(budgets) == [0.5, 1.0, 2.0, 3.0, 5.0]
    first, last = (past[1] + row * STEP for row in FAULT)
    for budget, alerts in budgets.items():
        hits = [one for one in alerts if first <= _seconds(one["start"]) <= last]
        assert len(hits) == 1, (budget, alerts)
        assert hits[0]["causes"][0]["variable"] == f'load{{host="h{GUILTY}"}}'
    done = run(*options(server.url, *data))
    assert done.exit_code == 0, done.stderr
    said = flat(done.stdout)
    assert "false_alarms_per_day = 3 (as configured): " in said
    assert f'load{{host="h{GUILTY}"}}: ' in said
    assert "start (UTC)" in said
    assert not (tmp_path / "data").exists()


def _seconds(text):
    return np.datetime64(text.removesuffix("Z"), "ms").astype(int) / 1000


@pytest.fixture
def playback():
    with Playback(lambda _: {}).running() as server:
        yield server


def test_a_query_without_series_says_so(playback):
    done = run(*options(playback.url))
    assert done.exit_code == 0, done.stderr
    assert "the query 'load' gives no series in 4h; try it in Prometheus" in flat(done.stdout)


@pytest.mark.parametrize(
    ("span", "says"), [("soon", "is not a duration"), ("1s", "is shorter than a step")]
)
def test_a_span_that_cannot_be_replayed_is_refused(playback, span, says):
    given = [span if one == "4h" else one for one in options(playback.url)]
    done = run(*given)
    assert done.exit_code == 2
    assert says in flat(done.stderr)


def test_pushed_samples_cannot_be_backtested(tmp_path):
    file = tmp_path / "watch.toml"
    file.write_text('[[watch]]\nname = "edge"\nsource = "push"\n')
    done = run("watch", "--config", str(file), "--backtest", "7d")
    assert done.exit_code == 2
    assert "there is no past to replay" in flat(done.stderr)
