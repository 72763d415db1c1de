"""Saving: conversion of fitted dataclasses and of states to named arrays and back.

In: frozen dataclasses that hold arrays, numbers, texts, None, other such dataclasses, and mappings
from names to dataclasses of one type; or states that name the arrays they consist of. Out: flat
named arrays and a JSON-serializable header, and the same objects again.
"""

from collections.abc import Mapping
from dataclasses import fields, is_dataclass
from typing import Any, ClassVar, TypeVar, get_args, get_origin, get_type_hints

import numpy as np
from numpy.typing import NDArray

from smkc.errors import ModelFileError

Kind = TypeVar("Kind")


class SavedState:
    """A state that can be saved and continued exactly: its attributes ``saved`` are all of it.

    These are arrays and whole numbers.
    """

    saved: ClassVar[tuple[str, ...]]

    def to_arrays(self) -> dict[str, NDArray[Any]]:
        """Return the arrays that :meth:`restore` needs to continue exactly."""
        return {key: np.atleast_1d(getattr(self, key)) for key in self.saved}

    def restore(self, arrays: Mapping[str, NDArray[Any]]) -> None:
        """Restore the state that :meth:`to_arrays` returned."""
        for key in self.saved:
            is_number = isinstance(getattr(self, key), int)
            setattr(self, key, int(arrays[key][0]) if is_number else arrays[key].copy())

    def widen(self, n_columns: int, fills: Mapping[str, float]) -> None:
        """Widen the last axis of arrays to ``n_columns``, filled with the value given for each."""
        for key, fill in fills.items():
            array = getattr(self, key)
            more = n_columns - array.shape[-1]
            if more > 0:
                ends = [(0, 0)] * (array.ndim - 1) + [(0, more)]
                setattr(self, key, np.pad(array, ends, constant_values=fill))

    def forget(self, columns: NDArray[np.integer[Any]], fills: Mapping[str, float]) -> None:
        """Fill some columns of arrays' last axis, as if they had just been added."""
        for key, fill in fills.items():
            getattr(self, key)[..., columns] = fill


def flat(part: Any) -> tuple[dict[str, NDArray[Any]], dict[str, Any]]:
    """Return the arrays of a dataclass by name, and a header with its other values."""
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
    """Build a dataclass of type ``kind`` from the result of :func:`flat`."""
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
    """Return the arrays with a prefix and a dot added to their names."""
    return {f"{prefix}.{key}": array for key, array in arrays.items()}


def under(prefix: str, arrays: Mapping[str, NDArray[Any]]) -> dict[str, NDArray[Any]]:
    """Return the arrays whose names have this prefix, with the prefix removed."""
    n = len(prefix) + 1
    return {key[n:]: array for key, array in arrays.items() if key.startswith(prefix + ".")}
