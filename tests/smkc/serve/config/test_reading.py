import re
from dataclasses import fields
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from smkc.errors import SettingError
from smkc.recording import Identity
from smkc.serve.config import (
    AlertmanagerConfig,
    Config,
    GrafanaConfig,
    Limits,
    Listen,
    MaintenanceConfig,
    PeerConfig,
    Retention,
    WatchConfig,
    WebhookConfig,
    config_of,
    read_config,
    simple_config,
)

EXAMPLE = Path(__file__).parents[4] / "deploy" / "watch.example.toml"
RECORDS = (
    WatchConfig,
    AlertmanagerConfig,
    GrafanaConfig,
    Limits,
    PeerConfig,
    Retention,
    WebhookConfig,
)
PROMETHEUS = {"url": "http://localhost:9090"}
WATCH = {"name": "shop", "query": "up"}
HOUR, DAY = 3_600_000, 86_400_000


def whole(**changes):
    return {"prometheus": PROMETHEUS, "watch": [WATCH], **changes}


def test_the_example_is_read_as_it_says():
    config = read_config(EXAMPLE)
    assert [watch.name for watch in config.watches] == ["shop", "clusters", "edge"]
    shop, clusters, edge = config.watches
    assert shop == WatchConfig(name="shop", query='{namespace="shop"}')
    assert clusters == WatchConfig(
        name="clusters",
        query='{job="kubelet", namespace=~"team-.*"}',
        entity="namespace",
        drop_labels=("uid", "container_id"),
        families=Identity(drop=("pod", "instance")),
        history=3 * DAY,
        refit_every=7 * DAY,
        detector={
            "window": "auto",
            "rules": [{"match": "kubelet_running_pods", "alert_below": 1}],
        },
        maintenance=(
            MaintenanceConfig(weekly="Sun 02:00-04:00", time_zone="Europe/Berlin", note="backups"),
            MaintenanceConfig(start=1772402400000, end=1772413200000, entity="team-a"),
            MaintenanceConfig(kind="deploy", start=1772530200000, note="kubelet 1.34"),
        ),
    )
    assert (edge.source, edge.step, edge.lateness) == ("push", 30_000, 60_000)
    assert edge.match == {"__name__": "edge_.*", "site": "north|south"}
    assert config.prometheus == PeerConfig(url="http://localhost:9090")
    assert config.alertmanagers == (
        AlertmanagerConfig(url="http://localhost:9093", labels={"team": "platform"}),
    )
    assert config.webhooks[0].secret_env == "SMKC_WEBHOOK_SECRET"
    assert config.grafanas == (
        GrafanaConfig(url="https://grafana.example.org", token_env="GRAFANA_TOKEN"),
    )
    assert config.data == EXAMPLE.parent / "smkc-data"
    assert (config.listen, config.limits, config.retention) == (Listen(), Limits(), Retention())
    assert config.dependencies == {"shop": ("postgres", "redis")}
    assert config.notifies_incidents


def test_what_the_example_leaves_out_can_be_put_in(tmp_path):
    """Each line that is commented out is right, once those that exclude each other are chosen."""
    text = re.sub(r"(?m)^# ?(\[links\]|[A-Za-z_]+ = )", r"\1", EXAMPLE.read_text())
    for excluded in ("token_env", "token_file", "password_file", "secret_file", "pattern"):
        text = re.sub(rf"(?m)^{excluded} = .*\n", "", text)
    path = tmp_path / "watch.toml"
    path.write_text(text)
    config = read_config(path)
    assert config.prometheus is not None
    assert config.prometheus.ca_file == tmp_path / "ca.pem"
    assert config.prometheus.headers == {"X-Scope-OrgID": "tenant-1"}
    assert config.public_url == "https://smkc.example.org"
    assert set(config.links) == {"Prometheus", "Grafana"}
    assert config.tokens == tmp_path / "tokens"
    assert config.notify == "incident"


@pytest.mark.parametrize("record", RECORDS)
def test_every_setting_is_in_the_example(record):
    text = EXAMPLE.read_text()
    for one in fields(record):
        assert re.search(rf"(?m)^(# )?({one.name} = |\[+watch\.{one.name}\])", text), one.name


@pytest.mark.parametrize("record", RECORDS)
def test_every_setting_can_be_read(record):
    """A setting that exists is never unknown, whatever else is wrong with it."""
    table = {
        WatchConfig: "watch",
        AlertmanagerConfig: "alertmanager",
        WebhookConfig: "webhook",
        GrafanaConfig: "grafana",
        PeerConfig: "prometheus",
        Limits: "limits",
        Retention: "retention",
    }[record]
    several = record in (WatchConfig, AlertmanagerConfig, GrafanaConfig, WebhookConfig)
    for one in fields(record):
        part = {one.name: [3]}  # no setting is a list of numbers
        with pytest.raises(SettingError, match=rf"{table}\W.*{one.name}: (\[3\]|number 1: 3)"):
            config_of(whole(**{table: [part] if several else part}))


BAD = {
    "unknown table": (whole(wacth=[]), r"no setting 'wacth'; did you mean 'watch'\?"),
    "unknown key": (
        whole(watch=[{**WATCH, "histroy": "6h"}]),
        r"configuration: \[\[watch\]\] 'shop': no setting 'histroy'; did you mean 'history'\?",
    ),
    "no watch": (whole(watch=[]), r"add a table \[\[watch\]\]"),
    "one pair of brackets": (whole(watch=WATCH), "two pairs of brackets"),
    "no name": (whole(watch=[{"query": "up"}]), r"number 1: 'name' is missing; add it"),
    "no url": (whole(prometheus={}), r"\[prometheus\] 'url' is missing"),
    "twice": (whole(watch=[WATCH, WATCH]), "two tables .* are called 'shop'"),
    "bad name": (whole(watch=[{**WATCH, "name": "a/b"}]), "name='a/b'"),
    "bare number": (whole(watch=[{**WATCH, "step": 15}]), "step: 15 is not a duration; write it"),
    "no unit": (whole(watch=[{**WATCH, "step": "15"}]), "'15' is not a duration"),
    "step too short": (whole(watch=[{**WATCH, "step": "1ms"}]), "step=1: give"),
    "short history": (
        whole(watch=[{**WATCH, "step": "15s", "history": "10m"}]),
        "history='10m' holds fewer than min_rows=240 steps of 15s; make it 1h or longer",
    ),
    "rows kept too short": (
        whole(retention={"rows": "1h"}),
        "rows='1h' is shorter than the history of watch 'shop', 6h",
    ),
    "no query": (whole(watch=[{"name": "a"}]), "query='': say in PromQL"),
    "no prometheus": ({"watch": [WATCH]}, r"add a table \[prometheus\]"),
    "query of a push": (whole(watch=[{**WATCH, "source": "push"}]), "asks nothing"),
    "match of a pull": (whole(watch=[{**WATCH, "match": {"a": "b"}}]), "is for source = 'push'"),
    "source": (whole(watch=[{**WATCH, "source": "pull"}]), "source='pull': choose 'prometheus'"),
    "pattern": (
        whole(watch=[{"name": "a", "source": "push", "match": {"a": "("}}]),
        r"a = '\(' is not a regular expression",
    ),
    "families": (whole(watch=[{**WATCH, "families": {"dorp": []}}]), "families: no setting 'dorp'"),
    "family pattern": (
        whole(watch=[{**WATCH, "families": {"pattern": "("}}]),
        "families: pattern '.' is not a regular expression",
    ),
    "entity dropped": (
        whole(watch=[{**WATCH, "entity": "ns", "drop_labels": "ns"}]),
        "drop_labels holds 'ns', which is the entity",
    ),
    "metric as entity": (whole(watch=[{**WATCH, "entity": "__name__"}]), "__name__ is the metric"),
    "alarms": (whole(watch=[{**WATCH, "false_alarms_per_day": 0}]), "a number above 0"),
    "alarms nan": (whole(watch=[{**WATCH, "false_alarms_per_day": float("nan")}]), "above 0"),
    "series": (whole(watch=[{**WATCH, "max_series": 0}]), "max_series=0: give a whole number"),
    "lateness": (whole(watch=[{**WATCH, "lateness": "2d"}]), "lateness=172800000"),
    "detector": (
        whole(watch=[{**WATCH, "detector": {"windwo": 3}}]),
        "detector: Detector has no setting 'windwo'; use window",
    ),
    "detector value": (whole(watch=[{**WATCH, "detector": {"window": -3}}]), "window=-3"),
    "other detector": (whole(watch=[{**WATCH, "detector": {"detector": "knn"}}]), "'evidence'"),
    "own word": (
        whole(watch=[{**WATCH, "detector": {"identity": {}}}]),
        "identity is set by families of the watch",
    ),
    "listen": (whole(listen="here"), "listen: 'here' is not an address to listen on"),
    "listen bare v6": (whole(listen="::1:80"), "not an address to listen on"),
    "port": (whole(listen="127.0.0.1:70000"), "port 70000"),
    "scheme": (whole(prometheus={"url": "ftp://a"}), "write it like 'http://localhost:9090'"),
    "no host": (whole(prometheus={"url": "http://"}), "is not a URL"),
    "url port": (whole(prometheus={"url": "http://a:x"}), "is not a URL"),
    "url without http": (
        whole(prometheus={"url": "prom.local:9093"}),
        "write it like 'http://prom.local:9093'",
    ),
    "both secrets": (
        whole(prometheus={**PROMETHEUS, "token_env": "A", "token_file": "b"}),
        "token_env or token_file, not both",
    ),
    "user alone": (whole(prometheus={**PROMETHEUS, "username": "me"}), "go together"),
    "header": (whole(prometheus={**PROMETHEUS, "headers": {"a b": "c"}}), "not a header name"),
    "timeout": (whole(prometheus={**PROMETHEUS, "timeout": "2h"}), "timeout=7200000 ms"),
    "label": (whole(alertmanager=[{**PROMETHEUS, "labels": {"a-b": "c"}}]), "not a label name"),
    "resend": (whole(alertmanager=[{**PROMETHEUS, "resend": "1ms"}]), "resend=1 ms"),
    "webhooks": (whole(webhook=[PROMETHEUS, PROMETHEUS]), "name them apart"),
    "limits": (whole(limits={"body_bytes": "16MiB"}), "body_bytes: '16MiB' is not an integer"),
    "retention": (whole(retention={"scores": 0}), "scores=0 ms: give a minute or longer"),
    "public url": (whole(public_url="smkc"), "public_url='smkc' is not a URL"),
    "path": (whole(data=""), "data: '' is not a path"),
    "notify": (whole(notify="page"), "notify='page': choose 'incident' or 'alert'"),
    "dependencies": (
        whole(dependencies={"shop": 3}),
        r"\[dependencies\] shop: 3 is not a list of strings",
    ),
    "nameless dependency": (whole(dependencies={"shop": [""]}), "'shop' = \\[''\\] has an empty"),
}


@pytest.mark.parametrize("case", BAD)
def test_what_is_wrong_is_said_with_its_place_and_remedy(case):
    content, message = BAD[case]
    with pytest.raises(SettingError, match=message):
        config_of(content)


SECRETS = {
    "in an address": whole(prometheus={"url": "http://me:hunter2@localhost"}),
    "in an address that is none": whole(prometheus={"url": "://me:hunter2@localhost"}),
    "in a header": whole(prometheus={**PROMETHEUS, "headers": {"authorization": "hunter2"}}),
    "in a public address": whole(public_url="https://me:hunter2@here.example"),
}


@pytest.mark.parametrize("case", SECRETS)
def test_a_secret_is_refused_and_not_shown(case):
    with pytest.raises(SettingError) as caught:
        config_of(SECRETS[case])
    assert "hunter2" not in str(caught.value)
    assert caught.value.__suppress_context__


def test_a_file_is_named_in_its_errors(tmp_path):
    missing, broken, wrong = (tmp_path / name for name in ("no.toml", "broken.toml", "w.toml"))
    broken.write_text("watch = [")
    wrong.write_bytes(b"a = '\xff'")
    for path in (missing, broken, wrong, tmp_path):
        with pytest.raises(SettingError, match=re.escape(str(path))):
            read_config(path)


def test_paths_are_relative_to_the_file(tmp_path):
    path = tmp_path / "watch.toml"
    path.write_text(
        'tokens = "a/tokens"\n[prometheus]\nurl = "http://x"\ntoken_file = "/b"\n'
        '[[watch]]\nname = "a"\nquery = "up"\n'
    )
    config = read_config(path)
    assert config.tokens == tmp_path / "a/tokens"
    assert config.data == tmp_path / "smkc-data"
    assert config.prometheus is not None
    assert config.prometheus.token_file == Path("/b")


@pytest.mark.parametrize(
    ("text", "host", "port", "is_loopback"),
    [
        ("0.0.0.0:80", "0.0.0.0", 80, False),
        ("[::1]:80", "::1", 80, True),
        ("localhost:0", "localhost", 0, True),
        (":80", "127.0.0.1", 80, True),
        (80, "127.0.0.1", 80, True),
        ("example.org:80", "example.org", 80, False),
    ],
)
def test_addresses_to_listen_at(text, host, port, is_loopback):
    config = config_of(whole(listen=text))
    assert config.listen == Listen(host=host, port=port)
    assert config.listen.is_loopback is is_loopback
    assert config.public_url == ""
    assert "0.0.0.0" not in config.listen.url


def test_a_simple_configuration():
    config = simple_config(
        "http://localhost:9090",
        "up",
        step="5s",
        history="1h",
        entity="ns",
        max_lanes=None,
        data="here",
        listen="127.0.0.1:0",
        alertmanager="http://localhost:9093",
        webhook="http://localhost:1/hook",
    )
    assert isinstance(config, Config)
    watch = config.watches[0]
    assert (watch.step, watch.history, watch.entity, watch.max_lanes) == (5000, HOUR, "ns", 200)
    assert config.data == Path("here")
    assert config.webhooks[0].name == "localhost:1"
    with pytest.raises(SettingError, match=r"options: .*stepp.*did you mean 'step'"):
        simple_config("http://localhost:9090", "up", stepp="5s")


KEYS = sorted({one.name for record in RECORDS for one in fields(record)})
ODD = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5),
    lambda inner: (
        st.lists(inner, max_size=2)
        | st.dictionaries(st.sampled_from(KEYS) | st.text(max_size=3), inner, max_size=3)
    ),
    max_leaves=4,
)
TABLES = sorted(
    {"watch", "alertmanager", "webhook", "prometheus", "limits", "retention"}
    | {"data", "dependencies", "listen", "notify", "public_url", "tokens"}
)


@given(table=st.sampled_from(TABLES), key=st.sampled_from(KEYS), value=ODD, alone=st.booleans())
def test_anything_gives_a_configuration_or_an_explanation(table, key, value, alone):
    usual = {"watch": WATCH, "prometheus": PROMETHEUS}
    part = value if alone else {**usual.get(table, {}), key: value}
    listed = table in ("watch", "alertmanager", "webhook")
    said = ""
    try:
        config_of(whole(**{table: [part] if listed else part}))
    except SettingError as error:
        said = str(error)
    assert not said or said.startswith("configuration: ")
