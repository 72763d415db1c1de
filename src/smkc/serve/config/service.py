"""Service: the settings of one service process and its limits.

In: settings by name. Out: frozen dataclasses with validated values.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from pathlib import Path

from smkc.errors import SettingError
from smkc.serve.config.durations import show_duration
from smkc.serve.config.peers import (
    AlertmanagerConfig,
    GrafanaConfig,
    PeerConfig,
    WebhookConfig,
)
from smkc.serve.config.reaching import check_url, is_loopback
from smkc.serve.config.sharding import Shard
from smkc.serve.config.watch import WatchConfig

TOKENS_VARIABLE = "SMKC_TOKENS"
"""Environment variable with tokens: ``name:role:token[:expiry],...``."""

DAY_MILLISECONDS = 86_400_000

MAX_LINK_NAME = 64  # characters

NOTIFY = ("incident", "alert")

# Stands for the number of a shard in public_url.
SHARD_MARK = "{shard}"

# Wildcard addresses -> the loopback address to use in a URL.
OF_EVERY_ADDRESS = {"0.0.0.0": "127.0.0.1", "::": "::1"}


@dataclass(frozen=True, kw_only=True)
class Listen:
    """Address that the service listens on; port 0 chooses a free port.

    Examples
    --------
    >>> Listen().is_loopback, Listen(host="0.0.0.0").is_loopback
    (True, False)
    """

    host: str = "127.0.0.1"
    port: int = 9469

    def __post_init__(self) -> None:
        if not isinstance(self.host, str) or not self.host:
            raise SettingError(f"listen: host {self.host!r}: give a name such as '127.0.0.1'")
        if not isinstance(self.port, int) or not 0 <= self.port <= 65_535:
            raise SettingError(f"listen: port {self.port!r}: give a number from 0 to 65535")

    @property
    def is_loopback(self) -> bool:
        """Whether only this machine can reach the address."""
        return is_loopback(self.host)

    @property
    def url(self) -> str:
        """URL of the service on this machine."""
        host = OF_EVERY_ADDRESS.get(self.host, self.host)
        return f"http://{f'[{host}]' if ':' in host else host}:{self.port}"


@dataclass(frozen=True, kw_only=True)
class Limits:
    """Limits for requests of clients.

    Parameters
    ----------
    body_bytes, decoded_bytes
        maximum size of a request body as sent, and after decompression.
    samples_per_request
        maximum number of samples in one request.
    requests_per_minute
        maximum number of requests of one client.
    request_timeout_seconds
        maximum time until a request is answered.
    """

    body_bytes: int = 16 * 2**20
    decoded_bytes: int = 128 * 2**20
    samples_per_request: int = 1_000_000
    requests_per_minute: int = 600
    request_timeout_seconds: int = 30

    def __post_init__(self) -> None:
        for one in fields(self):
            value = getattr(self, one.name)
            if not isinstance(value, int) or isinstance(value, bool) or not 1 <= value < 2**40:
                raise SettingError(f"{one.name}={value!r}: give a whole number from 1 up")


@dataclass(frozen=True, kw_only=True)
class Retention:
    """Milliseconds for which rows, scores and alerts are kept."""

    rows: int = 7 * DAY_MILLISECONDS
    scores: int = 90 * DAY_MILLISECONDS
    alerts: int = 365 * DAY_MILLISECONDS

    def __post_init__(self) -> None:
        for one in fields(self):
            value = getattr(self, one.name)
            if not isinstance(value, int) or isinstance(value, bool) or value < 60_000:
                raise SettingError(f"{one.name}={value!r} ms: give a minute or longer, as in '7d'")


@dataclass(frozen=True, kw_only=True)
class Config:
    """Configuration of a service: what it watches and which receivers it notifies.

    Parameters
    ----------
    watches
        one or more watches with distinct names.
    prometheus
        server that watches with ``source = "prometheus"`` query.
    alertmanagers, webhooks, grafanas
        receivers of alerts.
    notify
        ``incident`` sends one notification per incident, updated as it grows; ``alert`` sends one
        per alert. By default ``incident`` if there may be several lanes, else ``alert``.
    dependencies
        name of an entity, a watch or a service -> names that it depends on.
    data
        folder for history and models.
    listen
        address to listen on.
    public_url
        URL of the dashboard for links in alerts; if empty, alerts contain no link. ``{shard}`` in
        it stands for the number of the shard.
    links
        pages that plot a variable, by name: URL templates with ``{query}`` (or ``{query_json}``
        inside JSON) and optionally ``{start}`` and ``{end}`` in milliseconds, ``{seconds}`` between
        them, and ``{end_text}`` such as 2026-03-02 04:05:00. By default the graph page of
        Prometheus.
    tokens
        file with one token per line; tokens in the environment variable ``SMKC_TOKENS`` are added.
    limits
        limits for requests of clients.
    retention
        how long history is kept.
    shard
        the part of the entities that this process follows; see :meth:`of_shard`.
    """

    watches: tuple[WatchConfig, ...]
    prometheus: PeerConfig | None = None
    alertmanagers: tuple[AlertmanagerConfig, ...] = ()
    webhooks: tuple[WebhookConfig, ...] = ()
    notify: str = ""
    dependencies: Mapping[str, Sequence[str]] = field(default_factory=dict)
    grafanas: tuple[GrafanaConfig, ...] = ()
    data: Path = Path("smkc-data")
    listen: Listen = Listen()
    public_url: str = ""
    links: Mapping[str, str] = field(default_factory=dict)
    tokens: Path | None = None
    limits: Limits = field(default_factory=Limits)
    retention: Retention = field(default_factory=Retention)
    shard: Shard = field(default_factory=Shard)

    def __post_init__(self) -> None:
        if not self.watches:
            raise SettingError("there is no watch; add a table [[watch]] with a name and a query")
        _check_distinct("watch", [watch.name for watch in self.watches])
        _check_distinct("webhook", [webhook.name for webhook in self.webhooks])
        _check_distinct("alertmanager", [one.url for one in self.alertmanagers])
        _check_distinct("grafana", [one.url for one in self.grafanas])
        for watch in self.watches:
            if watch.source == "prometheus" and self.prometheus is None:
                raise SettingError(
                    f"watch {watch.name!r} queries Prometheus, but no address is given; add a "
                    "table [prometheus] with url = 'http://localhost:9090', or set source = 'push'"
                )
            if watch.history > self.retention.rows:
                raise SettingError(
                    f"retention: rows={show_duration(self.retention.rows)!r} is shorter than the "
                    f"history of watch {watch.name!r}, {show_duration(watch.history)}; keep rows "
                    "at least as long"
                )
        if self.public_url:
            check_url("public_url", self.public_url)
        object.__setattr__(self, "public_url", self.public_url.rstrip("/"))
        for name, address in self.links.items():
            _check_link(name, address)
        if self.notify not in ("", *NOTIFY):
            raise SettingError(f"notify={self.notify!r}: choose {' or '.join(map(repr, NOTIFY))}")
        for name, others in self.dependencies.items():
            if not all((name, *others)):
                raise SettingError(
                    f"dependencies: {name!r} = {list(others)!r} has an empty name; give the name "
                    "of an entity, a watch or a service"
                )

    @property
    def notifies_incidents(self) -> bool:
        """Whether receivers are notified of incidents rather than of alerts."""
        if self.notify:
            return self.notify == "incident"
        return len(self.watches) > 1 or any(watch.entity for watch in self.watches)

    def of_shard(self, shard: Shard) -> "Config":
        """Return the configuration of one of several processes.

        It has the watches that are split, of whose entities it follows a part, and those of the
        others that it follows alone. Its data are in a folder of its own.
        """
        watches = tuple(one for one in self.watches if one.entity or shard.holds(one.name))
        if not watches:
            raise SettingError(
                f"shard {shard.number}/{shard.of} holds no watch: none has an entity to split it "
                "by, and by their names they belong to other shards; use fewer shards"
            )
        return replace(
            self,
            watches=watches,
            data=self.data / f"shard-{shard.number}-of-{shard.of}",
            public_url=self.public_url.replace(SHARD_MARK, str(shard.number)),
            notify="incident" if self.notifies_incidents else "alert",
            shard=shard,
        )


def _check_link(name: str, address: str) -> None:
    if not name.strip() or len(name) > MAX_LINK_NAME:
        raise SettingError(
            f"links: {name!r}: name a link by 1 to {MAX_LINK_NAME} characters, such as 'Grafana'"
        )
    check_url(f"links: {name}", address.partition("?")[0])
    if "{query}" not in address and "{query_json}" not in address:
        raise SettingError(
            f"links: {name} = {address!r} has no place for the query; write {{query}} there, or "
            "{query_json} inside of JSON"
        )


def _check_distinct(what: str, names: list[str]) -> None:
    for name in names:
        if names.count(name) > 1:
            raise SettingError(f"two tables [[{what}]] are called {name!r}; name them apart")
