"""Reading: conversion of a TOML file, or a mapping of the same shape, to a configuration.

In: a path or a mapping. Out: a :class:`Config`; an error names the file, the table, the key, the
value and the remedy. Paths are relative to the file's folder.
"""

import tomllib
from collections.abc import Mapping
from dataclasses import fields
from pathlib import Path
from typing import Any, get_type_hints

from smkc.errors import SettingError
from smkc.recording import Identity
from smkc.serve.config import tables
from smkc.serve.config.durations import duration
from smkc.serve.config.peers import (
    AlertmanagerConfig,
    PrometheusConfig,
    RemoteWriteConfig,
    WebhookConfig,
)
from smkc.serve.config.service import Config, Limits, Retention
from smkc.serve.config.tables import Reader
from smkc.serve.config.watch import WatchConfig

# Type of a setting -> its reader; paths depend on the folder of the file.
READERS: dict[Any, Reader] = {
    str: tables.text,
    int: tables.whole,
    float: tables.number,
    bool: tables.flag,
    tuple[str, ...]: tables.texts,
    Mapping[str, str]: tables.texts_by_name,
    Mapping[str, Any]: tables.anything,
    Identity: tables.identity,
}
# Settings of type int that are written as durations.
DURATIONS = frozenset(
    ["step", "history", "lateness", "refit_every", "timeout", "resend", "rows", "scores", "alerts"]
)
# Tables that may be repeated -> the field of Config that holds them.
PLURAL = {"watch": "watches", "alertmanager": "alertmanagers", "webhook": "webhooks"}


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

    Paths are relative to ``folder``; error messages name the source ``place``.

    Examples
    --------
    >>> config = config_of(
    ...     {
    ...         "prometheus": {"url": "http://localhost:9090"},
    ...         "watch": [{"name": "shop", "query": '{namespace="shop"}', "step": "30s"}],
    ...     }
    ... )
    >>> config.watches[0].step, config.listen.url
    (30000, 'http://127.0.0.1:9469')
    """
    path = tables.path_from(folder)
    readers: dict[str, Reader] = {
        "data": path,
        "listen": tables.listen,
        "public_url": tables.text,
        "links": tables.texts_by_name,
        "tokens": path,
        "limits": _one(Limits, path),
        "retention": _one(Retention, path),
        "prometheus": _one(PrometheusConfig, path),
        "remote_write": _one(RemoteWriteConfig, path),
        "alertmanager": _several(AlertmanagerConfig, path),
        "webhook": _several(WebhookConfig, path),
        "watch": _several(WatchConfig, path),
    }
    try:
        tables.check_keys(content, tuple(readers))
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
    """Make a configuration with one watch on one Prometheus server.

    ``alertmanager`` and ``webhook`` are URLs that receive alerts. Further settings of the watch are
    given as written in TOML, such as ``step="5s"``; those that are None are ignored.

    Examples
    --------
    >>> config = simple_config("http://localhost:9090", "up", step="5s", entity=None)
    >>> config.watches[0].step
    5000
    """
    given = {key: value for key, value in watch.items() if value is not None}
    content = {
        "prometheus": {"url": prometheus},
        "watch": [{"name": name, "query": query, **given}],
        "data": None if data is None else str(data),
        "listen": listen,
        "alertmanager": None if alertmanager is None else [{"url": alertmanager}],
        "webhook": None if webhook is None else [{"url": webhook}],
    }
    return config_of(
        {key: value for key, value in content.items() if value is not None}, place="options"
    )


def _one(record: type[Any], path: Reader) -> Reader:
    """Return a reader of one table, whose keys and types are the fields of a dataclass."""
    types = get_type_hints(record)
    by_type = {**READERS, Path | None: path}
    readers = {
        one.name: duration if one.name in DURATIONS else by_type[types[one.name]]
        for one in fields(record)
    }

    def read(value: object) -> Any:
        given = tables.arguments(value, readers)
        try:
            return record(**given)
        except TypeError as error:
            missing = str(error).rpartition("argument: ")[2]
            raise SettingError(f"{missing} is missing; add it") from None

    return read


def _several(record: type[Any], path: Reader) -> Reader:
    """Return a reader of a list of tables; its errors say which table is wrong."""
    read_one = _one(record, path)

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
    """Read the value of a top-level key; errors name the key, in brackets if it is a table."""
    try:
        return read(value)
    except SettingError as error:
        listed, single = PLURAL, ("limits", "retention", "prometheus", "remote_write")
        shown = f"[[{key}]] " if key in listed else f"[{key}] " if key in single else f"{key}: "
        raise SettingError(f"{shown}{error}") from None
