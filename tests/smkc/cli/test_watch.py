"""``smkc watch``: what it says to newcomers, what it refuses, and one whole life of it."""

import json
import signal
import subprocess
import sys
import urllib.request

import numpy as np
import pytest
from tests import worlds
from tests.following import Playback, wait_until
from tests.prometheus_server import free_port
from tests.smkc.cli.conftest import run

from smkc.serve.store import Store

STEP = 1_000


@pytest.fixture
def playback():
    """Serve six coupled variables at every second of any time."""
    table = worlds.coupled(np.random.default_rng(0), 4_000, 6)

    def values(time):
        row = table[time // STEP % len(table)]
        return {f'load{{host="h{j}"}}': float(value) for j, value in enumerate(row)}

    with Playback(values).running() as server:
        yield server


def options(playback, folder, *more):
    return [
        *("watch", "--prometheus", playback.url, "--query", "load", "--name", "shop"),
        *("--step", "1s", "--history", "5m", "--data", str(folder), *more),
    ]


def flat(text):
    return " ".join(text.split())


def test_help_shows_examples_for_newcomers():
    done = run("watch", "--help")
    assert done.exit_code == 0
    said = flat(done.output)
    assert "smkc watch --prometheus http://localhost:9090 --query" in said
    assert "Ctrl-C stops it" in said


@pytest.mark.parametrize(
    ("given", "says"),
    [
        (["watch"], "say what to watch"),
        (["watch", "--prometheus", "http://localhost:9090"], "say what to watch"),
        (["watch", "--config", "no.toml", "--query", "up"], "--query is given too"),
        (
            ["watch", "--config", "no.toml", "--false-alarms", "2"],
            "--false-alarms is given too",
        ),
        (["watch", "--config", "no.toml"], "cannot be read"),
        (["watch", "--config", "no.toml", "--listen", "127.0.0.1:0"], "--listen is given too"),
        (
            ["watch", "--config", "no.toml", "--listen", "127.0.0.1:0", "--shard", "2/4"],
            "cannot be read",
        ),
        (
            ["watch", "--prometheus", "http://127.0.0.1:9", "--query", "up", "--shard", "9"],
            "such as 2/4",
        ),
        (["watch", "--prometheus", "http://localhost", "--query", "up", "--json"], "give one of"),
        (["watch", "--prometheus", "localhost", "--query", "up"], "is not a URL"),
        (["watch", "--prometheus", "http://localhost", "--query", "up", "--step", "x"], "duration"),
        (
            ["watch", "--prometheus", "http://127.0.0.1", "--query", "up", "--listen", "0.0.0.0:1"],
            "there is no token",
        ),
    ],
    ids=[
        *("nothing", "no query", "both", "both, by its name", "no file", "both, of one process"),
        *("one of many", "no shard", "JSON of what goes on"),
        *("no address", "no duration", "open to all"),
    ],
)
def test_wrong_options_are_reported_with_a_remedy(given, says, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("SMKC_TOKENS", raising=False)
    done = run(*given)
    assert done.exit_code == 2
    assert says in flat(done.stderr)
    assert not list(tmp_path.iterdir())


def test_check_counts_the_series_and_stores_nothing(playback, tmp_path):
    done = run(*options(playback, tmp_path / "data", "--check", "--quick"))
    assert done.exit_code == 0, done.stderr
    assert "shop: 6 series now" in flat(done.stdout)
    assert not (tmp_path / "data").exists()
    done = run(*options(playback, tmp_path / "data", "--check", "--quick", "--json"))
    (found,) = json.loads(done.stdout)
    assert found == {"watch": "shop", "source": "prometheus", "step": 1_000, "series": 6}


def test_check_warns_if_prometheus_is_unreachable(playback, tmp_path):
    playback.fails = lambda: "error"
    done = run(*options(playback, tmp_path / "data", "--check"))
    assert done.exit_code == 0, done.stderr
    assert "the service would try again" in flat(done.stdout)


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM], ids=["ctrl-c", "terminated"])
def test_it_serves_until_it_is_stopped_and_leaves_a_checkpoint(playback, tmp_path, number):
    playback.pause = 0.5  # so that there is progress to be told
    url = f"127.0.0.1:{free_port()}"
    process = subprocess.Popen(
        [
            *(sys.executable, "-c", "from smkc.cli import main; main()"),
            *options(playback, tmp_path, "--listen", url),
        ],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    try:

        def is_judging():
            assert process.poll() is None, process.stderr.read()
            try:
                with urllib.request.urlopen(f"http://{url}/metrics", timeout=5) as answer:
                    return b"anomaly_score{" in answer.read()
            except OSError:
                return False

        wait_until(is_judging)
        process.send_signal(number)
        out, said = process.communicate(timeout=30)
    finally:
        if process.poll() is None:
            process.kill()
            process.communicate()
    assert process.returncode == 0, said
    assert out == ""
    assert f"Dashboard and API at http://{url}" in said
    assert "shop: fetching history" in said
    assert "shop: following" in said
    assert "Stopping" in said
    with Store.open(tmp_path) as store:
        n_rows = store.lane("shop", "").n_rows
    assert list((tmp_path / "lanes" / "1").glob(f"stream-{n_rows}-*.smkc"))


def test_two_cannot_share_a_folder(playback, tmp_path):
    with Store.open(tmp_path):
        done = run(*options(playback, tmp_path))
    assert done.exit_code == 2
    assert "in use by another process" in flat(done.stderr)
