"""Tables: one part of a configuration -> the arguments of its record.

In: a mapping as TOML gives it, and what each key must hold. Out: arguments by name; an error names
the key and the value, and its caller adds where they stand.
"""

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from smkc.errors import SettingError
from smkc.recording import Identity
from smkc.serve.config.durations import duration
from smkc.serve.config.keys import check_keys
from smkc.serve.config.service import Listen

__all__ = [
    "Reader",
    "anything",
    "arguments",
    "flag",
    "identity",
    "listen",
    "number",
    "path_from",
    "span",
    "text",
    "texts",
    "texts_by_name",
    "whole",
]

Reader = Callable[[object], Any]


def arguments(table: object, readers: Mapping[str, Reader]) -> dict[str, Any]:
    """Read each key of a table by its reader; keys without one are refused."""
    given = anything(table)
    check_keys(given, tuple(readers))
    found = {}
    for key, value in given.items():
        try:
            found[key] = readers[key](value)
        except SettingError as error:
            raise SettingError(f"{key}: {error}") from None
    return found


def text(value: object) -> str:
    """Read text."""
    if not isinstance(value, str):
        raise SettingError(f"{value!r} is no text; put it in quotes")
    return value


def texts(value: object) -> tuple[str, ...]:
    """Read a list of texts; one text alone is a list of one."""
    items = [value] if isinstance(value, str) else value
    if not isinstance(items, list | tuple) or not all(isinstance(item, str) for item in items):
        raise SettingError(f'{value!r} is no list of texts; write it like ["pod", "instance"]')
    return tuple(items)


def texts_by_name(value: object) -> dict[str, str]:
    """Read a table of texts."""
    if not isinstance(value, Mapping) or not all(
        isinstance(part, str) for pair in value.items() for part in pair
    ):
        raise SettingError(f'{value!r} is no table of texts; write it like {{ team = "shop" }}')
    return dict(value)


def anything(value: object) -> dict[str, Any]:
    """Read a table of anything."""
    if not isinstance(value, Mapping):
        raise SettingError(f"{value!r} is no table; write its settings as key = value")
    return dict(value)


def whole(value: object) -> int:
    """Read a whole number."""
    if not isinstance(value, int) or isinstance(value, bool):
        raise SettingError(f"{value!r} is no whole number; write it without quotes and point")
    return value


def flag(value: object) -> bool:
    """Read a yes or no."""
    if not isinstance(value, bool):
        raise SettingError(f"{value!r} is neither true nor false; write one of them, unquoted")
    return value


def number(value: object) -> float:
    """Read a number."""
    if not isinstance(value, int | float) or isinstance(value, bool):
        raise SettingError(f"{value!r} is no number; write it without quotes")
    return float(value)


def span(value: object) -> int:
    """Read a duration in words, as milliseconds."""
    return duration(value)


def identity(value: object) -> Identity:
    """Read the rule of families."""
    given = arguments(value, {"drop": texts, "pattern": text})
    return Identity(**given)


def listen(value: object) -> Listen:
    """Read an address to listen at: ``host:port``, ``[v6]:port``, or a port alone."""
    if isinstance(value, int) and not isinstance(value, bool):
        return Listen(port=value)
    host, colon, port = text(value).rpartition(":")
    bare = host.startswith("[") and host.endswith("]")
    if not colon or not port.isascii() or not port.isdigit() or (":" in host and not bare):
        raise SettingError(f"{value!r} is no address to listen at; write it like '127.0.0.1:9469'")
    return Listen(host=host[1:-1] if bare else host or Listen.host, port=int(port[:6]))


def path_from(folder: Path) -> Reader:
    """Return a reader of paths, which are relative to a folder."""

    def path(value: object) -> Path:
        found = text(value)
        if not found or "\0" in found:
            raise SettingError(f"{value!r} is no path; name a file or a folder")
        return folder / Path(found).expanduser()

    return path
