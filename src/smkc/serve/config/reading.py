"""Reading: a TOML file, or a mapping of the same shape -> a configuration.

In: a path or a mapping. Out: a :class:`Config`; what is wrong is said with the file, the table, the
key, the value and the remedy. Paths are relative to the file's folder.
"""

import tomllib
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from smkc.errors import SettingError
from smkc.serve.config import tables
from smkc.serve.config.keys import check_keys
from smkc.serve.config.peers import (
    AlertmanagerConfig,
    PrometheusConfig,
    RemoteWriteConfig,
    WebhookConfig,
)
from smkc.serve.config.service import Config, Limits, Retention
from smkc.serve.config.tables import Reader, number, span, text, texts, texts_by_name, whole
from smkc.serve.config.watch import WatchConfig

__all__ = ["config_of", "read_config", "simple_config"]

WATCH: dict[str, Reader] = {
    "name": text,
    "source": text,
    "query": text,
    "match": texts_by_name,
    "entity": text,
    "drop_labels": texts,
    "families": tables.identity,
    "counters": text,
    "step": span,
    "history": span,
    "min_rows": whole,
    "lateness": span,
    "max_series": whole,
    "max_lanes": whole,
    "false_alarms_per_day": number,
    "refit_every": span,
    "loudest": whole,
    "self_test": tables.flag,
    "detector": tables.anything,
}
LIMITS: dict[str, Reader] = {
    "body_bytes": whole,
    "decoded_bytes": whole,
    "samples_per_request": whole,
    "requests_per_minute": whole,
    "request_timeout_seconds": whole,
}
# Tables that may stand several times, and what they are together.
PLURAL = {"watch": "watches", "alertmanager": "alertmanagers", "webhook": "webhooks"}

RETENTION: dict[str, Reader] = {"rows": span, "scores": span, "alerts": span}


def read_config(path: str | Path) -> Config:
    """Read a configuration from a TOML file."""
    file = Path(path)
    try:
        content = tomllib.loads(file.read_text("utf-8"))
    except OSError as error:
        raise SettingError(
            f"{file} cannot be read ({error.strerror or error}); give the path of a configuration"
        ) from None
    except (tomllib.TOMLDecodeError, UnicodeDecodeError, RecursionError) as error:
        raise SettingError(f"{file} is not a TOML file: {error}; correct it there") from None
    return config_of(content, folder=file.absolute().parent, place=str(file))


def config_of(
    content: Mapping[str, Any], *, folder: Path = Path(), place: str = "configuration"
) -> Config:
    """Make a configuration from a mapping in the shape of the TOML file.

    Parameters
    ----------
    content
        tables by name, as TOML gives them.
    folder
        that paths are relative to.
    place
        what errors call the whole.

    Examples
    --------
    >>> config = config_of(
    ...     {
    ...         "prometheus": {"url": "http://localhost:9090"},
    ...         "watch": [{"name": "shop", "query": '{namespace="shop"}', "step": "30s"}],
    ...     }
    ... )
    >>> config.watch("shop").step, config.listen.url
    (30000, 'http://127.0.0.1:9469')
    """
    path = tables.path_from(folder)
    peer = _peer_readers(path)
    named = {"labels": texts_by_name, "resend": span}
    signed = {"name": text, "secret_env": text, "secret_file": path}
    readers: dict[str, Reader] = {
        "data": path,
        "listen": tables.listen,
        "public_url": text,
        "links": texts_by_name,
        "tokens": path,
        "limits": _one(Limits, LIMITS),
        "retention": _one(Retention, RETENTION),
        "prometheus": _one(PrometheusConfig, peer),
        "remote_write": _one(RemoteWriteConfig, peer | {"labels": texts_by_name}),
        "alertmanager": _several(AlertmanagerConfig, peer | named | {"cause_labels": texts}),
        "webhook": _several(WebhookConfig, peer | signed),
        "watch": _several(WatchConfig, WATCH),
    }
    try:
        check_keys(content, tuple(readers))
        found: dict[str, Any] = {"watches": (), "data": folder / Config.data}
        for key, value in content.items():
            found[PLURAL.get(key, key)] = _placed(key, readers[key], value)
        return Config(**found)
    except SettingError as error:
        raise SettingError(f"{place}: {error}") from None


def simple_config(
    prometheus: str,
    query: str,
    *,
    name: str = "watch",
    data: str | Path | None = None,
    listen: str | None = None,
    alertmanager: str | None = None,
    webhook: str | None = None,
    **watch: Any,
) -> Config:
    """Make a configuration of one watch on one Prometheus.

    Parameters
    ----------
    prometheus
        its address.
    query
        PromQL that selects the series.
    name
        of the watch.
    data, listen
        folder for history, and ``host:port``, if others than usual.
    alertmanager, webhook
        addresses that hear of alerts.
    **watch
        further settings of the watch as TOML writes them, such as ``step="5s"``; those that are
        None are left out.

    Examples
    --------
    >>> config = simple_config("http://localhost:9090", "up", step="5s", entity=None)
    >>> config.watches[0].step
    5000
    """
    given = {key: value for key, value in watch.items() if value is not None}
    content: dict[str, Any] = {
        "prometheus": {"url": prometheus},
        "watch": [{"name": name, "query": query, **given}],
    }
    if data is not None:
        content["data"] = str(data)
    if listen is not None:
        content["listen"] = listen
    if alertmanager is not None:
        content["alertmanager"] = [{"url": alertmanager}]
    if webhook is not None:
        content["webhook"] = [{"url": webhook}]
    return config_of(content, place="options")


def _peer_readers(path: Reader) -> dict[str, Reader]:
    return {
        "url": text,
        "token_env": text,
        "token_file": path,
        "username": text,
        "password_env": text,
        "password_file": path,
        "headers": texts_by_name,
        "headers_env": texts_by_name,
        "ca_file": path,
        "cert_file": path,
        "key_file": path,
        "timeout": span,
    }


def _one(record: Callable[..., Any], readers: Mapping[str, Reader]) -> Reader:
    """Return a reader of one table."""

    def read(value: object) -> Any:
        given = tables.arguments(value, readers)
        try:
            return record(**given)
        except TypeError as error:
            missing = str(error).rpartition("argument: ")[2]
            raise SettingError(f"{missing} is missing; add it") from None

    return read


def _several(record: Callable[..., Any], readers: Mapping[str, Reader]) -> Reader:
    """Return a reader of a list of tables, which says in which of them something is wrong."""
    read_one = _one(record, readers)

    def read(value: object) -> tuple[Any, ...]:
        if not isinstance(value, list | tuple):
            raise SettingError("this is a list of tables; write it with two pairs of brackets")
        found = []
        for index, table in enumerate(value, 1):
            try:
                found.append(read_one(table))
            except SettingError as error:
                called = table.get("name") if isinstance(table, Mapping) else None
                which = repr(called) if isinstance(called, str) else f"number {index}"
                raise SettingError(f"{which}: {error}") from None
        return tuple(found)

    return read


def _placed(key: str, read: Reader, value: object) -> Any:
    """Read a part of the whole; an error says which, in TOML's brackets."""
    try:
        return read(value)
    except SettingError as error:
        listed, single = PLURAL, ("limits", "retention", "prometheus", "remote_write")
        shown = f"[[{key}]] " if key in listed else f"[{key}] " if key in single else f"{key}: "
        raise SettingError(f"{shown}{error}") from None
