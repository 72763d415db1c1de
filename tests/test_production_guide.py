"""docs/production.md: what can be run of it is run."""

import hashlib
import hmac
import re
import sqlite3
import time
import tomllib
from pathlib import Path

import pytest
from tests.smkc.serve.delivery.parts import alert_at, config_with, put
from tests.smkc.serve.still import Still

from smkc.serve.config import config_of
from smkc.serve.metrics import render
from smkc.serve.store import Store

ROOT = Path(__file__).parent.parent
GUIDE = (ROOT / "docs" / "production.md").read_text()


def test_files_it_links_to_exist():
    links = re.findall(r"\]\((\.\./[^)]+)\)", GUIDE)
    assert len(links) >= 7
    assert [link for link in links if not (ROOT / "docs" / link).is_file()] == []


def test_alerts_and_metrics_it_names_exist(tmp_path):
    rules = (ROOT / "deploy" / "prometheus" / "smkc-rules.yml").read_text()
    alerts = set(re.findall(r"alert: (\w+)", rules))
    assert set(re.findall(r"`(Smkc\w+|Anomal\w+High|AnomalousMost\w+)`", GUIDE)) == alerts
    config = config_with()
    with Store.open(tmp_path) as store:
        put(store, config, [("open", alert_at())])
        told = render(Still(config, store)).decode()
    exist = {line.split("{")[0].split(" ")[0] for line in told.splitlines() if line[0] != "#"}
    named = set(re.findall(r"`(smkc_[a-z_]+|anomaly_score)[{`]", GUIDE))
    assert named <= exist
    assert {name for name in exist if not name.startswith("process_")} <= named


def test_settings_of_a_watch_that_it_shows_are_read():
    shown = [one for one in re.findall(r"```toml\n(.*?)```", GUIDE, re.DOTALL) if "[[watch." in one]
    assert len(shown) == 2
    for block in shown:
        watch = tomllib.loads(block)["watch"]
        config_of({"watch": [{"name": "a", "source": "push", "entity": "team", **watch}]})


@pytest.mark.parametrize(
    ("age", "body", "is_genuine"),
    [(0, b"{}", True), (0, b"{} ", False), (299, b"{}", True), (400, b"{}", False)],
)
def test_its_check_of_a_signature_works(age, body, is_genuine):
    (block,) = re.findall(r"```python\n(.*?)```", GUIDE, re.DOTALL)
    names: dict = {}
    exec(block, names)
    second = str(int(time.time()) - age)
    digest = hmac.new(b"key", f"{second}.".encode() + b"{}", hashlib.sha256).hexdigest()
    assert names["is_genuine"](b"key", second, f"sha256={digest}", body) is is_genuine


def test_a_backup_made_while_it_runs_can_be_opened(tmp_path):
    (statement,) = re.findall(r'history\.sqlite "(VACUUM INTO) ', GUIDE)
    config = config_with(webhook=[{"name": "pager", "url": "http://127.0.0.1:9"}])
    (tmp_path / "copy").mkdir()
    with Store.open(tmp_path / "data") as store:
        put(store, config, [("open", alert_at())])
        beside = sqlite3.connect(store.path)
        beside.execute(f"{statement} '{tmp_path / 'copy' / 'history.sqlite'}'")
        beside.close()
        put(store, config, [])
    with Store.open(tmp_path / "copy") as copy:
        assert copy.set_aside == []
        assert copy.lane("shop", "checkout").n_rows == 1
        assert copy.n_waiting() == 1
        assert copy.alert(alert_at().id).record == alert_at()
        put(copy, config, [])
        assert copy.lane("shop", "checkout").n_rows == 2
