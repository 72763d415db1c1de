"""What lies in deploy/: whether others' own tools and smkc itself can read it."""

import json
import os
import re
import shutil
import subprocess
import tomllib
from pathlib import Path

import pytest
from tests.smkc.serve.delivery.parts import alert_at, config_with, put
from tests.smkc.serve.still import Still

from smkc.serve.config import config_of, read_config
from smkc.serve.messages import ALERT_NAME
from smkc.serve.metrics import render
from smkc.serve.store import Store

yaml = pytest.importorskip("yaml")

DEPLOY = Path(__file__).parent.parent / "deploy"
RULES = DEPLOY / "prometheus" / "smkc-rules.yml"
DASHBOARD = DEPLOY / "grafana" / "smkc.json"

# Prometheus' own, or of the process as prometheus_client tells it.
OTHERS_METRICS = {"up", "process_cpu_seconds_total"}


def needs(program: str) -> pytest.MarkDecorator:
    return pytest.mark.skipif(shutil.which(program) is None, reason=f"{program} is not installed")


def run(*command: object, folder: Path | None = None) -> str:
    done = subprocess.run(
        [str(part) for part in command], cwd=folder, capture_output=True, text=True, timeout=120
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout + done.stderr


@pytest.mark.parametrize("path", sorted(DEPLOY.rglob("*.y*ml")), ids=lambda path: path.name)
def test_yaml_can_be_read(path):
    assert all(yaml.safe_load_all(path.read_text()))


@pytest.mark.parametrize("path", sorted(DEPLOY.rglob("*")), ids=lambda path: path.name)
def test_everything_is_plain_ascii(path):
    assert path.is_dir() or path.read_bytes().isascii()


@needs("promtool")
def test_rules_fire_and_stay_quiet_as_they_should():
    run("promtool", "check", "rules", RULES)
    run("promtool", "test", "rules", RULES.with_suffix(".test.yml"), folder=RULES.parent)


def test_every_rule_is_tested_to_fire():
    rules = yaml.safe_load(RULES.read_text())
    names = {rule["alert"] for group in rules["groups"] for rule in group["rules"]}
    tested = yaml.safe_load(RULES.with_suffix(".test.yml").read_text())
    fired = {
        case["alertname"]
        for test in tested["tests"]
        for case in test["alert_rule_test"]
        if case["exp_alerts"]
    }
    assert fired == names


@needs("promtool")
def test_prometheus_reads_its_configuration():
    run("promtool", "check", "config", "--syntax-only", DEPLOY / "compose" / "prometheus.yml")


@needs("amtool")
def test_alertmanager_reads_its_configuration():
    run("amtool", "check-config", DEPLOY / "compose" / "alertmanager.yml")


def test_the_inhibition_names_alerts_that_exist():
    manager = yaml.safe_load((DEPLOY / "compose" / "alertmanager.yml").read_text())
    (inhibition,) = manager["inhibit_rules"]
    assert inhibition["source_matchers"] == [f'alertname="{ALERT_NAME}"']
    (target,) = inhibition["target_matchers"]
    assert f"alert: {target.split('=')[1].strip(chr(34))}\n" in RULES.read_text()


@needs("systemd-analyze")
def test_systemd_reads_its_unit_and_finds_it_shut(tmp_path):
    unit = (DEPLOY / "systemd" / "smkc.service").read_text()
    assert unit.count("/opt/smkc/bin/smkc watch --config /etc/smkc/watch.toml") == 2
    copy = tmp_path / "smkc.service"
    copy.write_text(unit.replace("/opt/smkc/bin/smkc", shutil.which("true") or "/bin/true"))
    assert run("systemd-analyze", "verify", copy) == ""
    run("systemd-analyze", "security", "--offline=yes", "--threshold=20", copy)


def test_the_user_of_the_unit_is_made_before_it_owns_a_file():
    unit = (DEPLOY / "systemd" / "smkc.service").read_text()
    assert "DynamicUser" not in unit  # nobody could own or read its files before it runs
    (user,) = re.findall(r"^User=(\w+)$", unit, re.MULTILINE)
    guide = (DEPLOY.parent / "docs" / "production.md").read_text()
    for text in (unit, guide):
        made = text.index("useradd --system")
        assert re.search(rf"useradd --system .* {user}$", text, re.MULTILINE)
        owned = [found.start() for found in re.finditer(rf"install [^\n]*(-o|-g) {user}\b", text)]
        assert owned
        assert made < min(owned)


@needs("useradd")
@pytest.mark.skipif(os.geteuid() != 0, reason="users are made by root alone")
def test_the_commands_before_the_first_start_work(tmp_path):
    """The lines of the unit's head, in a folder that stands for the system's root."""
    unit = (DEPLOY / "systemd" / "smkc.service").read_text()
    lines = [line[1:].split("#")[0].strip() for line in unit.splitlines() if line[:4] == "#   "]
    chosen = [line for line in lines if line.startswith(("useradd", "install"))]
    assert len(chosen) >= 4
    etc = tmp_path / "etc"
    etc.mkdir()
    for name in ("passwd", "group", "shadow", "gshadow"):
        (etc / name).write_text("")
    for line in chosen:
        if line.startswith("useradd"):
            run(*line.replace("useradd", f"useradd --prefix {tmp_path}").split())
            (entry,) = (etc / "passwd").read_text().splitlines()
            _, _, uid, gid, *_ = entry.split(":")
        else:
            line = line.replace("-o smkc", f"-o {uid}").replace("-g smkc", f"-g {gid}")
            line = re.sub(r" (/etc/\S+)", rf" {tmp_path}\1", line)
            run(*line.split(), folder=DEPLOY.parent)
    config = etc / "smkc" / "watch.toml"
    assert (config.stat().st_mode & 0o777, config.stat().st_gid) == (0o640, int(gid))
    tokens = etc / "smkc" / "tokens"
    assert (tokens.stat().st_mode & 0o777, tokens.stat().st_uid) == (0o600, int(uid))
    assert (etc / "smkc").stat().st_gid == int(gid)
    read_config(config)


def test_smkc_reads_the_configurations_that_are_deployed():
    composed = read_config(DEPLOY / "compose" / "watch.toml")
    (manifest,) = (
        one
        for one in yaml.safe_load_all((DEPLOY / "kubernetes.yaml").read_text())
        if one["kind"] == "ConfigMap"
    )
    clustered = config_of(tomllib.loads(manifest["data"]["watch.toml"]))
    for config in (composed, clustered):
        assert not config.listen.is_loopback
        assert config.tokens is not None, "who listens to the network needs tokens"
        assert config.alertmanagers


def test_containers_mount_what_the_configuration_names():
    compose = yaml.safe_load((DEPLOY / "compose.yaml").read_text())
    config = read_config(DEPLOY / "compose" / "watch.toml")
    service = compose["services"]["smkc"]
    assert f"smkc:{config.data}" in service["volumes"]
    assert str(config.tokens) == f"/run/secrets/{service['secrets'][0]}"
    assert service["ports"] == [f"127.0.0.1:{config.listen.port}:{config.listen.port}"]
    assert config.prometheus.url == "http://prometheus:9090"
    for line in (line for one in compose["services"].values() for line in one.get("volumes", ())):
        host = line.split(":")[0]
        assert not host.startswith("./") or (DEPLOY / host).is_file(), line


def test_the_cluster_runs_one_pod_without_privileges():
    kinds = {
        one["kind"]: one for one in yaml.safe_load_all((DEPLOY / "kubernetes.yaml").read_text())
    }
    spec = kinds["StatefulSet"]["spec"]
    (container,) = spec["template"]["spec"]["containers"]
    assert spec["replicas"] == 1
    assert spec["template"]["spec"]["securityContext"]["runAsNonRoot"] is True
    assert container["securityContext"]["readOnlyRootFilesystem"] is True
    mounts = {mount["name"] for mount in container["volumeMounts"]}
    volumes = {one["name"] for one in spec["template"]["spec"]["volumes"]}
    claims = {one["metadata"]["name"] for one in spec["volumeClaimTemplates"]}
    assert mounts == volumes | claims
    assert "Secret" not in kinds


def queries_of_the_dashboard() -> list[str]:
    board = json.loads(DASHBOARD.read_text())
    found = [target["expr"] for panel in board["panels"] for target in panel.get("targets", ())]
    found += [one["expr"] for one in board["annotations"]["list"]]
    filled = [query.replace("$__rate_interval", "5m") for query in found]
    for name in ("$watch", "$entity", "$variable"):
        filled = [query.replace(name, ".*") for query in filled]
    return filled


def test_the_band_of_a_variable_lies_between_its_bounds():
    board = json.loads(DASHBOARD.read_text())
    (panel,) = (one for one in board["panels"] if one.get("repeat"))
    drawn = {target["legendFormat"]: target["expr"] for target in panel["targets"]}
    assert list(drawn) == ["observed", "upper", "lower"]
    for bound in ("upper", "lower"):
        assert f'bound="{bound}"' in drawn[bound]
    (filled,) = (
        (one["matcher"]["options"], about["value"])
        for one in panel["fieldConfig"]["overrides"]
        for about in one["properties"]
        if about["id"] == "custom.fillBelowTo"
    )
    assert filled == ("upper", "lower")
    assert panel["repeat"] in {one["name"] for one in board["templating"]["list"]}


@needs("promtool")
def test_the_dashboard_asks_in_promql(tmp_path):
    queries = queries_of_the_dashboard()
    rules = [{"record": f"panel_{at}", "expr": query} for at, query in enumerate(queries)]
    (tmp_path / "rules.yml").write_text(json.dumps({"groups": [{"name": "a", "rules": rules}]}))
    assert len(queries) > 15
    assert f"{len(queries)} rules found" in run(
        "promtool", "check", "rules", tmp_path / "rules.yml"
    )


def test_panels_of_the_dashboard_do_not_overlap():
    board = json.loads(DASHBOARD.read_text())
    taken: set[tuple[int, int]] = set()
    for panel in board["panels"]:
        at = panel["gridPos"]
        cells = {
            (x, y)
            for x in range(at["x"], at["x"] + at["w"])
            for y in range(at["y"], at["y"] + at["h"])
        }
        assert not cells & taken, panel["title"]
        assert at["x"] + at["w"] <= 24
        taken |= cells
    assert len({panel["id"] for panel in board["panels"]}) == len(board["panels"])


def test_rules_and_dashboard_ask_for_metrics_that_exist(tmp_path):
    config = config_with()
    with Store.open(tmp_path) as store:
        put(store, config, [("open", alert_at())])
        told = render(Still(config, store)).decode()
    exist = {line.split("{")[0].split(" ")[0] for line in told.splitlines() if line[0] != "#"}
    rules = yaml.safe_load(RULES.read_text())
    asked = [rule["expr"] for group in rules["groups"] for rule in group["rules"]]
    asked += queries_of_the_dashboard()
    names = {
        name
        for query in asked
        for name in re.findall(
            r"\b(?:smkc|anomaly|process)_\w+|\bup\b", re.sub(r'"[^"]*"', "", query)
        )
    }
    assert names - exist - OTHERS_METRICS == set()
    assert len(names) > 15
