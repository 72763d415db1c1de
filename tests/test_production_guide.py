"""docs/production.md: what can be run of it is run."""

import hashlib
import hmac
import json
import re
import shutil
import sqlite3
import subprocess
import time
import tomllib
from pathlib import Path

import pytest
import yaml
from tests.prometheus_server import real_prometheus, target
from tests.smkc.serve.delivery.parts import alert_at, config_with, eventually, put
from tests.smkc.serve.still import Still

from smkc.serve.api import Keys, Server, Token, create_app
from smkc.serve.config import Listen, config_of
from smkc.serve.decoding.remote_write import V2
from smkc.serve.metrics import render
from smkc.serve.service import Service
from smkc.serve.store import Store

ROOT = Path(__file__).parent.parent
GUIDE = (ROOT / "docs" / "production.md").read_text()
PUSHING = GUIDE.split("\n## Pushing\n")[1].split("\n## ")[0]
SITE = "https://smkc.example.org"


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


# ---------------------------------------------------------------------- what others are told


def blocks_of_yaml(text):
    return [yaml.safe_load(block) for block in re.findall(r"```yaml\n(.*?)```", text, re.DOTALL)]


def is_read_by_prometheus(content, folder):
    file = folder / "prometheus.yml"
    file.write_text(json.dumps(content))  # JSON is YAML too
    command = ["promtool", "check", "config", "--syntax-only", str(file)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, done.stdout + done.stderr


needs_promtool = pytest.mark.skipif(
    shutil.which("promtool") is None, reason="promtool is not installed"
)


def test_addresses_that_take_samples_exist_and_need_the_role_it_names(tmp_path):
    watch = {"name": "edge", "source": "push"}
    app = create_app(Service(config_of({"data": str(tmp_path), "watch": [watch]})), Keys())
    takers = {
        path
        for path, ways in app.openapi()["paths"].items()
        if ways.get("post", {}).get("x-role") == "write"
    }
    named = set(re.findall(r"`POST (/[a-z0-9/]+)`", PUSHING))
    assert named == takers
    assert "with the role `write`" in PUSHING
    *_, collector = blocks_of_yaml(PUSHING)
    sent_to = {path for path in re.findall(rf"{SITE}(/[a-z0-9/]+)", PUSHING)}
    sent_to.add(
        f"{collector['exporters']['otlphttp/smkc']['endpoint']}/v1/metrics".removeprefix(SITE)
    )
    assert sent_to == takers


@needs_promtool
def test_prometheus_reads_how_it_is_to_push(tmp_path):
    first, second, _ = blocks_of_yaml(PUSHING)
    is_read_by_prometheus(first, tmp_path)
    (target,) = second["remote_write"]
    assert target.pop("protobuf_message") == V2  # of which the Prometheus here may know nothing
    is_read_by_prometheus(second, tmp_path)


@pytest.mark.skipif(shutil.which("curl") is None, reason="curl is not installed")
def test_its_line_for_curl_works(tmp_path):
    (line,) = re.findall(r"```\n(curl -X POST .*?)```", PUSHING, re.DOTALL)
    watch = {"name": "edge", "source": "push", "match": {"site": "north"}}
    config = config_of({"data": str(tmp_path), "watch": [watch]})
    secret = "secret-of-the-sensors"
    keys = Keys(
        [Token(name="sensors", role="write", digest=hashlib.sha256(secret.encode()).digest())]
    )
    with Service(config) as service, Server(create_app(service, keys), Listen(port=0)) as server:
        done = subprocess.run(
            ["bash", "-c", line.replace(SITE, server.url)],
            env={"PATH": "/usr/bin:/bin", "TOKEN": secret, "no_proxy": "*"},
            capture_output=True,
            text=True,
            timeout=60,
        )
    assert json.loads(done.stdout) == {"samples": 1, "watches": ["edge"]}, done.stderr


SHARDS = GUIDE.split("**Shards.**")[1].split("**Replicas.**")[0]


@needs_promtool
def test_prometheus_reads_how_it_is_to_join_shards(tmp_path):
    parts = re.findall(r"--shard \d/4 --listen (\S+)", SHARDS)
    scraping, federating = blocks_of_yaml(SHARDS)
    for block in (scraping, federating):
        is_read_by_prometheus(block, tmp_path)
    (job,) = scraping["scrape_configs"]
    assert job["static_configs"] == [{"targets": parts}]
    (taken,) = federating["scrape_configs"][0]["params"]["match[]"]
    assert f'job="{job["job_name"]}"' in taken
    (names,) = re.findall(r'__name__=~"(.*?)"', taken)
    with Store.open(tmp_path) as store:
        config = config_with()
        put(store, config, [("open", alert_at())])
        told = render(Still(config, store)).decode()
    exist = {line.split("{")[0].split(" ")[0] for line in told.splitlines() if line[0] != "#"}
    assert {one for one in exist if re.fullmatch(names, one)} == {
        "anomaly_score",
        "smkc_alert_open",
        "smkc_incident_open",
        "smkc_healthy",
    }


@pytest.mark.prometheus
def test_federation_as_it_shows_joins_the_parts():
    """Two real servers: one scrapes two parts that show a lane each, the other asks the first."""
    _, federating = blocks_of_yaml(SHARDS)
    shown = [
        {f'anomaly_score{{watch="shop",entity="{entity}"}}': 0.5, "smkc_healthy": 1.0, "other": 2.0}
        for entity in ("pay", "cart")
    ]
    with target(shown[0]) as first, target(shown[1]) as second:
        parts = [first.address, second.address]
        with real_prometheus({"smkc": parts}) as near:
            (job,) = federating["scrape_configs"]
            job["static_configs"] = [{"targets": [near.url.removeprefix("http://")]}]
            with real_prometheus(settings=federating) as far:

                def known(name):
                    found = far.get(f"/api/v1/query?query={name}")["data"]["result"]
                    return sorted(
                        [
                            one["metric"].get("entity"),
                            one["metric"]["job"],
                            one["metric"]["instance"],
                        ]
                        for one in found
                    )

                eventually(lambda: len(known("anomaly_score")) == len(known("smkc_healthy")) == 2)
                assert known("anomaly_score") == [
                    ["cart", "smkc", second.address],
                    ["pay", "smkc", first.address],
                ]
                assert sorted(at for *_, at in known("smkc_healthy")) == sorted(parts)
                assert known("other") == []
