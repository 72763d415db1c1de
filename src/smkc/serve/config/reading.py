"""Reading: conversion of a TOML file, or a mapping of the same shape, to a configuration.

In: a path or a mapping. Out: a :class:`Config`; an error names the file, the table, the key, the
value and the remedy. Paths are relative to the file's folder.
"""

import difflib
import tomllib
from collections.abc import Callable, Iterable, Mapping
from dataclasses import fields
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, get_type_hints

from smkc.errors import SettingError
from smkc.recording import Identity
from smkc.serve.config.durations import duration
from smkc.serve.config.maintenance import MaintenanceConfig
from smkc.serve.config.peers import (
    AlertmanagerConfig,
    GrafanaConfig,
    PeerConfig,
    WebhookConfig,
)
from smkc.serve.config.service import Config, Limits, Listen, Retention
from smkc.serve.config.watch import WatchConfig
from smkc.serve.rows import LATEST_TIME

Reader = Callable[[object], Any]


def _arguments(table: object, readers: Mapping[str, Reader]) -> dict[str, Any]:
    """Read each value of a table with the reader of its key; refuse keys without a reader."""
    given = _anything(table)
    _check_keys(given, tuple(readers))
    found = {}
    for key, value in given.items():
        try:
            found[key] = readers[key](value)
        except SettingError as error:
            raise SettingError(f"{key}: {error}") from None
    return found


def _check_keys(given: Iterable[str], known: tuple[str, ...]) -> None:
    """Raise SettingError if a key is unknown, and suggest the key that was probably meant."""
    for key in given:
        if key not in known:
            near = difflib.get_close_matches(str(key), known, n=1)
            hint = f"did you mean {near[0]!r}? " if near else ""
            raise SettingError(f"no setting {key!r}; {hint}the settings are {', '.join(known)}")


def _typed(kind: type[Any], expected: str) -> Reader:
    """Return a reader that refuses values of another type; True and False are not numbers."""

    def read(value: object) -> Any:
        """Return the value if it is of the expected type."""
        if not isinstance(value, kind) or isinstance(value, bool) != (kind is bool):
            raise SettingError(f"{value!r} is {expected}")
        return value

    return read


_text = _typed(str, "not a string; put it in quotes")
_whole = _typed(int, "not an integer; write it without quotes and point")
_flag = _typed(bool, "neither true nor false; write one of them, unquoted")


def _texts(value: object) -> tuple[str, ...]:
    """Read a list of strings; a single string counts as a list of one."""
    items = [value] if isinstance(value, str) else value
    if not isinstance(items, list | tuple) or not all(isinstance(item, str) for item in items):
        raise SettingError(f'{value!r} is not a list of strings; write it like ["pod", "instance"]')
    return tuple(items)


def _texts_by_name(value: object) -> dict[str, str]:
    """Read a table of strings."""
    if not isinstance(value, Mapping) or not all(
        isinstance(part, str) for pair in value.items() for part in pair
    ):
        raise SettingError(
            f'{value!r} is not a table of strings; write it like {{ team = "shop" }}'
        )
    return dict(value)


def _lists_by_name(value: object) -> dict[str, tuple[str, ...]]:
    """Read a table of lists of strings."""
    return _arguments(value, dict.fromkeys(_anything(value), _texts))


def _anything(value: object) -> dict[str, Any]:
    """Read a table with any values."""
    if not isinstance(value, Mapping):
        raise SettingError(f"{value!r} is not a table; write its settings as key = value")
    return dict(value)


def _number(value: object) -> float:
    """Read a number."""
    if not isinstance(value, int | float) or isinstance(value, bool):
        raise SettingError(f"{value!r} is not a number; write it without quotes")
    return float(value)


def _moment(value: object) -> int:
    """Read a time, as a TOML date-time or as text, to milliseconds; UTC without a time zone."""
    try:
        found = value if isinstance(value, datetime) else datetime.fromisoformat(_text(value))
        found = found if found.tzinfo is not None else found.replace(tzinfo=UTC)
        milliseconds = round(1000 * found.timestamp())
    except (ValueError, OverflowError):
        milliseconds = -1
    if not 0 <= milliseconds <= LATEST_TIME:
        raise SettingError(f"{value!r} is not a time; write it like '2026-03-02T04:05:00Z'")
    return milliseconds


def _identity(value: object) -> Identity:
    """Read the rule for families."""
    given = _arguments(value, {"drop": _texts, "pattern": _text})
    return Identity(**given)


def _listen(value: object) -> Listen:
    """Read an address to listen on: ``host:port``, ``[v6]:port``, or only a port."""
    if isinstance(value, int) and not isinstance(value, bool):
        return Listen(port=value)
    host, colon, port = _text(value).rpartition(":")
    bare = host.startswith("[") and host.endswith("]")
    if not colon or not port.isascii() or not port.isdigit() or (":" in host and not bare):
        raise SettingError(
            f"{value!r} is not an address to listen on; write it like '127.0.0.1:9469'"
        )
    return Listen(host=host[1:-1] if bare else host or Listen.host, port=int(port[:6]))


def _path_from(folder: Path) -> Reader:
    """Return a reader of paths relative to a folder."""

    def path(value: object) -> Path:
        found = _text(value)
        if not found or "\0" in found:
            raise SettingError(f"{value!r} is not a path; name a file or a folder")
        return folder / Path(found).expanduser()

    return path


# Type of a setting -> its reader; paths depend on the folder of the file.
READERS: dict[Any, Reader] = {
    str: _text,
    int: _whole,
    int | None: _moment,  # the only numbers that may be left out are times
    float: _number,
    bool: _flag,
    tuple[str, ...]: _texts,
    Mapping[str, str]: _texts_by_name,
    Mapping[str, Any]: _anything,
    Identity: _identity,
}
# Settings of type int that are written as durations.
DURATIONS = frozenset(
    ["step", "history", "lateness", "refit_every", "timeout", "resend", "rows", "scores", "alerts"]
)
# Tables that may be repeated -> the field of Config that holds them.
PLURAL = {
    "watch": "watches",
    "alertmanager": "alertmanagers",
    "webhook": "webhooks",
    "grafana": "grafanas",
}


def read_config(path: str | Path, **given: str) -> Config:
    """Read a configuration from a TOML file; ``given`` replaces settings outside of its tables."""
    file = Path(path)
    try:
        content = tomllib.loads(file.read_text("utf-8"))
    except OSError as error:
        raise SettingError(
            f"{file} cannot be read ({error.strerror or error}); give the path of a configuration"
        ) from None
    except (tomllib.TOMLDecodeError, UnicodeDecodeError, RecursionError) as error:
        raise SettingError(f"{file} is not a TOML file: {error}; correct it there") from None
    return config_of(content | given, folder=file.absolute().parent, place=str(file))


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
    path = _path_from(folder)
    readers: dict[str, Reader] = {
        "data": path,
        "listen": _listen,
        "public_url": _text,
        "links": _texts_by_name,
        "notify": _text,
        "dependencies": _lists_by_name,
        "tokens": path,
        "limits": _one(Limits, path),
        "retention": _one(Retention, path),
        "prometheus": _one(PeerConfig, path),
        "alertmanager": _several(AlertmanagerConfig, path),
        "webhook": _several(WebhookConfig, path),
        "grafana": _several(GrafanaConfig, path),
        "watch": _several(WatchConfig, path),
    }
    try:
        _check_keys(content, tuple(readers))
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
    by_type = {
        **READERS,
        Path | None: path,
        tuple[MaintenanceConfig, ...]: lambda value: _several(MaintenanceConfig, path)(value),
    }
    readers = {
        one.name: duration if one.name in DURATIONS else by_type[types[one.name]]
        for one in fields(record)
    }

    def read(value: object) -> Any:
        given = _arguments(value, readers)
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
        listed, single = PLURAL, ("limits", "retention", "prometheus", "dependencies")
        shown = f"[[{key}]] " if key in listed else f"[{key}] " if key in single else f"{key}: "
        raise SettingError(f"{shown}{error}") from None
