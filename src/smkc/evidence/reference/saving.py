"""Saving: learned parts <-> named arrays.

In: frozen dataclasses that hold arrays, numbers, texts, None, one another, and mappings from names
to one kind of them. Out: flat named arrays and a JSON-able header, and the same parts again.
"""

from collections.abc import Mapping
from dataclasses import fields, is_dataclass
from typing import Any, TypeVar, get_args, get_origin, get_type_hints

import numpy as np
from numpy.typing import NDArray

from smkc.errors import ModelFileError

__all__ = ["flat", "prefixed", "rebuilt", "under"]

Kind = TypeVar("Kind")


def flat(part: Any) -> tuple[dict[str, NDArray[Any]], dict[str, Any]]:
    """Return a dataclass's arrays by name, and what else it holds."""
    arrays: dict[str, NDArray[Any]] = {}
    header: dict[str, Any] = {}
    for field in fields(part):
        value = getattr(part, field.name)
        if is_dataclass(value):
            inner, header[field.name] = flat(value)
            arrays |= prefixed(field.name, inner)
        elif isinstance(value, Mapping):
            header[field.name] = {}
            for name, one in value.items():
                inner, header[field.name][name] = flat(one)
                arrays |= prefixed(f"{field.name}.{name}", inner)
        elif isinstance(value, np.ndarray):
            arrays[field.name] = value
        else:
            header[field.name] = list(value) if isinstance(value, tuple) else value
    return arrays, header


def rebuilt(
    kind: type[Kind], arrays: Mapping[str, NDArray[Any]], header: Mapping[str, Any]
) -> Kind:
    """Build a dataclass from what :func:`flat` gave."""
    values: dict[str, Any] = {}
    hints = get_type_hints(kind)
    for field in fields(kind):  # type: ignore[arg-type]
        if is_dataclass(hints[field.name]) and field.name in header:
            inner = under(field.name, arrays)
            values[field.name] = rebuilt(hints[field.name], inner, header[field.name])
        elif get_origin(hints[field.name]) is Mapping and field.name in header:
            of_each = get_args(hints[field.name])[1]
            values[field.name] = {
                name: rebuilt(of_each, under(f"{field.name}.{name}", arrays), inner)
                for name, inner in header[field.name].items()
            }
        elif field.name in arrays:
            values[field.name] = np.asarray(arrays[field.name])
        elif field.name in header:
            value = header[field.name]
            values[field.name] = tuple(value) if isinstance(value, list) else value
        else:
            raise ModelFileError(
                f"the saved {kind.__name__} lacks {field.name!r}; fit the model again and save it"
            )
    return kind(**values)


def prefixed(prefix: str, arrays: Mapping[str, NDArray[Any]]) -> dict[str, NDArray[Any]]:
    """Return the arrays with a prefix and a dot before their names."""
    return {f"{prefix}.{key}": array for key, array in arrays.items()}


def under(prefix: str, arrays: Mapping[str, NDArray[Any]]) -> dict[str, NDArray[Any]]:
    """Return the arrays with that prefix, without it."""
    n = len(prefix) + 1
    return {key[n:]: array for key, array in arrays.items() if key.startswith(prefix + ".")}
