"""``smkc watch --check``: what is doubtful is said, and what cannot work is refused."""

import json
import time

import numpy as np
import pytest
from tests.following import Playback
from tests.smkc.cli.conftest import run


@pytest.fixture
def playback():
    found = {f'load{{host="h{j}"}}': 1.0 for j in range(6)}
    with Playback(lambda _: found).running() as server:
        yield server


def flat(text):
    return " ".join(text.split())


def plan(folder, playback, more="", entity=""):
    file = folder / "watch.toml"
    split = f'entity = "{entity}"' if entity else ""
    file.write_text(
        f'data = "{folder / "data"}"\n[prometheus]\nurl = "{playback.url}"\n'
        f'[[watch]]\nname = "shop"\nquery = "load"\n{split}\n{more}'
    )
    return "--config", str(file), "--check", "--quick"


def test_a_query_without_series_is_a_warning_with_its_remedy(playback, tmp_path):
    playback.values = lambda _: {}
    done = run("watch", *plan(tmp_path, playback))
    assert done.exit_code == 0, done.stderr
    said = flat(done.stdout)
    assert "shop: 0 series now; a row every 15 s; warning: the query 'load' gives no series" in said
    assert "in order" not in said
    assert "can be used, but see the warning above" in said
    (found,) = json.loads(run("watch", *plan(tmp_path, playback), "--json").stdout)
    assert found["series"] == 0
    assert "targets are up" in found["warning"]


@pytest.mark.parametrize(
    ("entity", "says", "verdict"),
    [
        pytest.param("host", "6 series now; 6 recordings", "is in order", id="a label they have"),
        pytest.param("pod", "none of them has the label 'pod'", "warning above", id="none has it"),
    ],
)
def test_check_reports_a_split_without_the_label(playback, tmp_path, entity, says, verdict):
    done = run("watch", *plan(tmp_path, playback, entity=entity))
    assert done.exit_code == 0, done.stderr
    assert says in flat(done.stdout)
    assert verdict in flat(done.stdout)


RECEIVERS = """
[[alertmanager]]
url = "http://127.0.0.1:9093"
token_env = "SMKC_TEST_TOKEN"
[[webhook]]
name = "pager"
url = "http://127.0.0.1:9/secretpath"
secret_env = "SMKC_TEST_SECRET"
[[webhook]]
name = "chat"
url = "http://127.0.0.1:9/write"
ca_file = "no.pem"
"""


def test_secrets_and_certificates_that_are_missing_are_all_named(playback, tmp_path, monkeypatch):
    monkeypatch.delenv("SMKC_TEST_TOKEN", raising=False)
    monkeypatch.delenv("SMKC_TEST_SECRET", raising=False)
    done = run("watch", *plan(tmp_path, playback, RECEIVERS))
    assert done.exit_code == 2
    said = flat(done.stderr)
    assert (
        "[[alertmanager]] http://127.0.0.1:9093: token: the environment variable SMKC_TEST" in said
    )
    assert "[[webhook]] pager: secret: the environment variable SMKC_TEST_SECRET is not set" in said
    assert "[[webhook]] chat: ca_file=" in said
    assert "secretpath" not in said
    assert playback.n_asked == 0


def test_secrets_that_are_there_are_not_shown(playback, tmp_path, monkeypatch):
    monkeypatch.setenv("SMKC_TEST_TOKEN", "sesame")
    monkeypatch.setenv("SMKC_TEST_SECRET", "sesame")
    done = run("watch", *plan(tmp_path, playback, RECEIVERS.replace('ca_file = "no.pem"', "")))
    assert done.exit_code == 0, done.stderr
    assert "is in order" in flat(done.stdout)
    assert "sesame" not in done.output


def tried(folder, playback, *more):
    """Check in full, at a step that is read from the scrapes: one second."""
    now = time.time_ns() // 1_000_000
    playback.scrapes = {"shop": [now - 1_000 * k for k in range(9)]}
    file = folder / "watch.toml"
    file.write_text(
        f'data = "{folder / "data"}"\n[prometheus]\nurl = "{playback.url}"\n'
        '[[watch]]\nname = "shop"\nquery = "load"\nhistory = "10m"\n'
    )
    return run("watch", "--config", str(file), "--check", *more)


def test_check_tests_which_anomalies_would_be_detected(playback, tmp_path):
    table = np.random.default_rng(0).normal(size=(4_000, 6))  # judged from any row on
    playback.values = lambda at: {
        f'load{{host="h{j}"}}': float(value)
        for j, value in enumerate(table[at // 1_000 % len(table)])
    }
    done = tried(tmp_path, playback)
    assert done.exit_code == 0, done.output
    said = flat(done.stdout)
    assert "a row every 1 s" in said
    assert "planted anomalies caught" in said
    assert "Planted anomalies caught kind sizes" in said  # the doctor's table
    assert "The configuration is in order" in said
    assert not (tmp_path / "data").exists()
    (found,) = json.loads(tried(tmp_path, playback, "--json").stdout)
    (test,) = found["self_tests"]
    assert 0 < test["caught"] <= test["planted"]
    assert found["step"] == 1_000


def test_check_fails_on_unsuitable_data(playback, tmp_path):
    done = tried(tmp_path, playback)  # all values are the same at all times
    assert done.exit_code == 5, done.output
    assert "nothing varies" in flat(done.stdout)
    assert "does not work on these data" in flat(done.stdout)


def test_a_history_that_is_too_short_says_what_would_shorten_the_wait(playback, tmp_path):
    since = time.time_ns() // 1_000_000 - 30_000
    playback.values = lambda at: {"load": 1.0} if at > since else {}
    done = tried(tmp_path, playback)
    assert done.exit_code == 0, done.output
    assert "of 240 rows to learn from: about 4 min more" in flat(done.stdout)
    assert "min_rows = 120: 90 s" in flat(done.stdout).replace("89 s", "90 s").replace(
        "91 s", "90 s"
    )


def test_quick_requires_check(playback, tmp_path):
    done = run("watch", "--prometheus", playback.url, "--query", "load", "--quick")
    assert done.exit_code == 2
    assert "--quick shortens --check" in flat(done.stderr)
