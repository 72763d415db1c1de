"""Tables: conversion of one table of a configuration to the arguments of its dataclass.

In: a mapping as parsed from TOML, and a reader for each key. Out: arguments by name; an error names
the key and the value, and the caller adds the name of the table.
"""

import difflib
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any

from smkc.errors import SettingError
from smkc.recording import Identity
from smkc.serve.config.service import Listen

Reader = Callable[[object], Any]


def arguments(table: object, readers: Mapping[str, Reader]) -> dict[str, Any]:
    """Read each value of a table with the reader of its key; refuse keys without a reader."""
    given = anything(table)
    check_keys(given, tuple(readers))
    found = {}
    for key, value in given.items():
        try:
            found[key] = readers[key](value)
        except SettingError as error:
            raise SettingError(f"{key}: {error}") from None
    return found


def check_keys(given: Iterable[str], known: tuple[str, ...]) -> None:
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


text = _typed(str, "not a string; put it in quotes")
whole = _typed(int, "not an integer; write it without quotes and point")
flag = _typed(bool, "neither true nor false; write one of them, unquoted")


def texts(value: object) -> tuple[str, ...]:
    """Read a list of strings; a single string counts as a list of one."""
    items = [value] if isinstance(value, str) else value
    if not isinstance(items, list | tuple) or not all(isinstance(item, str) for item in items):
        raise SettingError(f'{value!r} is not a list of strings; write it like ["pod", "instance"]')
    return tuple(items)


def texts_by_name(value: object) -> dict[str, str]:
    """Read a table of strings."""
    if not isinstance(value, Mapping) or not all(
        isinstance(part, str) for pair in value.items() for part in pair
    ):
        raise SettingError(
            f'{value!r} is not a table of strings; write it like {{ team = "shop" }}'
        )
    return dict(value)


def anything(value: object) -> dict[str, Any]:
    """Read a table with any values."""
    if not isinstance(value, Mapping):
        raise SettingError(f"{value!r} is not a table; write its settings as key = value")
    return dict(value)


def number(value: object) -> float:
    """Read a number."""
    if not isinstance(value, int | float) or isinstance(value, bool):
        raise SettingError(f"{value!r} is not a number; write it without quotes")
    return float(value)


def identity(value: object) -> Identity:
    """Read the rule for families."""
    given = arguments(value, {"drop": texts, "pattern": text})
    return Identity(**given)


def listen(value: object) -> Listen:
    """Read an address to listen on: ``host:port``, ``[v6]:port``, or only a port."""
    if isinstance(value, int) and not isinstance(value, bool):
        return Listen(port=value)
    host, colon, port = text(value).rpartition(":")
    bare = host.startswith("[") and host.endswith("]")
    if not colon or not port.isascii() or not port.isdigit() or (":" in host and not bare):
        raise SettingError(
            f"{value!r} is not an address to listen on; write it like '127.0.0.1:9469'"
        )
    return Listen(host=host[1:-1] if bare else host or Listen.host, port=int(port[:6]))


def path_from(folder: Path) -> Reader:
    """Return a reader of paths relative to a folder."""

    def path(value: object) -> Path:
        found = text(value)
        if not found or "\0" in found:
            raise SettingError(f"{value!r} is not a path; name a file or a folder")
        return folder / Path(found).expanduser()

    return path
