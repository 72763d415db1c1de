"""Service: everything that one process does, and the limits within which it does it.

In: settings by name. Out: a frozen record; watches and receivers have names of their own.
"""

import ipaddress
from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from pathlib import Path

from smkc.errors import SettingError
from smkc.serve.config.durations import show_duration
from smkc.serve.config.peers import (
    AlertmanagerConfig,
    PrometheusConfig,
    RemoteWriteConfig,
    WebhookConfig,
)
from smkc.serve.config.reaching import check_url
from smkc.serve.config.watch import WatchConfig

__all__ = ["TOKENS_VARIABLE", "Config", "Limits", "Listen", "Retention"]

TOKENS_VARIABLE = "SMKC_TOKENS"
"""Environment variable with tokens: ``name:role:token[:expiry],...``."""

DAY_MILLISECONDS = 86_400_000

MAX_LINK_NAME = 64  # signs

# Hosts that stand for all addresses of this machine, and one of these that can be opened.
OF_EVERY_ADDRESS = {"0.0.0.0": "127.0.0.1", "::": "::1"}


@dataclass(frozen=True, kw_only=True)
class Listen:
    """Where the service is reached; port 0 takes a free one.

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
        """Whether only this machine can reach it."""
        if self.host == "localhost":
            return True
        try:
            return ipaddress.ip_address(self.host).is_loopback
        except ValueError:
            return False

    @property
    def url(self) -> str:
        """The address to open on this machine."""
        host = OF_EVERY_ADDRESS.get(self.host, self.host)
        return f"http://{f'[{host}]' if ':' in host else host}:{self.port}"


@dataclass(frozen=True, kw_only=True)
class Limits:
    """What a client may ask for.

    Parameters
    ----------
    body_bytes, decoded_bytes
        of a request as it is sent, and unpacked.
    samples_per_request
        readings in one request.
    requests_per_minute
        of one client.
    request_timeout_seconds
        until a request must be answered.
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
    """How many milliseconds history is kept: rows, verdicts on them, and alerts."""

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
    """What one process watches and whom it tells.

    Parameters
    ----------
    watches
        one or more, each with a name of its own.
    prometheus
        whom watches with ``source = "prometheus"`` ask.
    alertmanagers, webhooks
        who hear of alerts.
    remote_write
        who is sent the scores.
    data
        folder for history and models.
    listen
        where the service is reached.
    public_url
        where people open it, for links in alerts; without it alerts hold no link.
    links
        where people look at a variable: a name and an address with ``{query}`` in it (or
        ``{query_json}``, inside JSON), and, if wanted, ``{start}`` and ``{end}`` in milliseconds,
        ``{seconds}`` between them and ``{end_text}`` such as 2026-03-02 04:05:00. Prometheus' own
        page unless given.
    tokens
        file with a token a line; besides it the environment variable ``SMKC_TOKENS`` counts.
    limits
        of what clients may ask for.
    retention
        of history.
    """

    watches: tuple[WatchConfig, ...]
    prometheus: PrometheusConfig | None = None
    alertmanagers: tuple[AlertmanagerConfig, ...] = ()
    webhooks: tuple[WebhookConfig, ...] = ()
    remote_write: RemoteWriteConfig | None = None
    data: Path = Path("smkc-data")
    listen: Listen = Listen()
    public_url: str = ""
    links: Mapping[str, str] = field(default_factory=dict)
    tokens: Path | None = None
    limits: Limits = field(default_factory=Limits)
    retention: Retention = field(default_factory=Retention)

    def __post_init__(self) -> None:
        if not self.watches:
            raise SettingError("there is no watch; add a table [[watch]] with a name and a query")
        _check_distinct("watch", [watch.name for watch in self.watches])
        _check_distinct("webhook", [webhook.name for webhook in self.webhooks])
        _check_distinct("alertmanager", [one.url for one in self.alertmanagers])
        for watch in self.watches:
            if watch.source == "prometheus" and self.prometheus is None:
                raise SettingError(
                    f"watch {watch.name!r} asks Prometheus, but no address is given; add a table "
                    "[prometheus] with url = 'http://localhost:9090', or set source = 'push'"
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

    def watch(self, name: str) -> WatchConfig:
        """Return the watch of a name."""
        for watch in self.watches:
            if watch.name == name:
                return watch
        known = ", ".join(watch.name for watch in self.watches)
        raise SettingError(f"there is no watch {name!r}; the watches are {known}")


def _check_link(name: str, address: str) -> None:
    if not name.strip() or len(name) > MAX_LINK_NAME:
        raise SettingError(
            f"links: {name!r}: name a link by 1 to {MAX_LINK_NAME} signs, such as 'Grafana'"
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
