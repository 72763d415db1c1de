"""Base class of streams: the scores of a whole recording, computed one time step at a time.

In: a fitted state, then one row after another. Out: the score of each row as it arrives. The base
class checks rows and saves the state; each detector has a subclass that scores them.
"""

import struct
from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping
from itertools import compress
from math import isnan, nan
from pathlib import Path
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from smkc import model_file
from smkc.errors import InputError, ModelFileError
from smkc.recording import Recording, canonical
from smkc.recording.times import as_times, moment, show_time

# Integers from here on do not fit NumPy's int64.
LARGEST_WHOLE = 2**63

# Number of name spellings that are cached; when there are more, the cache is cleared.
MAX_SPELLINGS = 65_536


class Stream(ABC):
    """Row-by-row scoring of a live recording; made by ``detector.stream()``."""

    kind: str
    """Kind of content recorded in the file header."""

    def __init__(self, window: int) -> None:
        self.window = window
        self._last_time: Any = None
        self._score = nan
        self._name_of: dict[str, str] = {}
        # Names of the latest row as given, in canonical order, and the position of each as given.
        self._spelled: tuple[str, ...] | None = None
        self._names: tuple[str, ...] = ()
        self._order = np.empty(0, np.int64)

    def push(self, time: Any, observations: Mapping[str, float | None]) -> float | None:
        """Add the next row and return its score, that of the window that ends there.

        A value of None, NaN or infinity counts as not observed. The result is None if there is no
        score: before the first window is full, between windows if the stride is above 1, and if
        too little was observed. The default detector scores every row from the first on.
        """
        stamp = next_time(time, self._last_time)
        self._score = self._push(self._recording(stamp, observations))
        self._last_time = stamp
        return None if isnan(self._score) else self._score

    @property
    def p_value(self) -> float | None:
        """P-value of the latest row; None if it has no score."""
        return None if isnan(self._score) else self._p_value()

    def save(self, path: str | Path, *, is_packed: bool = False) -> None:
        """Write the stream's state; ``detector.stream(resume=path)`` continues exactly from there.

        ``is_packed`` compresses the file to about half its size.
        """
        arrays, header = self._to_arrays()
        header = {"kind": self.kind, "model": self._fingerprint(), **header}
        model_file.write(path, arrays, header, is_packed=is_packed)

    def resume(self, path: str | Path) -> Self:
        """Restore the state that :meth:`save` wrote for the same model."""
        arrays, header = model_file.read(path, may_be_packed=True)
        try:
            if header["kind"] != self.kind:
                raise ModelFileError(f"it holds a {header['kind']!r}, not a {self.kind!r}")
            if header["model"] != self._fingerprint():
                raise ModelFileError("it was saved by a stream of another model")
            self._restore(arrays, header)
        except (KeyError, TypeError, ValueError) as error:
            raise ModelFileError(
                f"{path} cannot be resumed: {error}; start the stream afresh"
            ) from None
        return self

    # ------------------------------------------------------------------ for subclasses

    @property
    @abstractmethod
    def n_rows(self) -> int:
        """Number of rows pushed so far."""

    @abstractmethod
    def _push(self, row: Recording) -> float:
        """Return the score of the next row, a recording of one row; NaN if it has none."""

    @abstractmethod
    def _p_value(self) -> float:
        """Return the p-value of the latest score."""

    @abstractmethod
    def _fingerprint(self) -> str:
        """Return text that identifies the model by what it learned."""

    @abstractmethod
    def _to_arrays(self) -> tuple[dict[str, NDArray[Any]], dict[str, Any]]:
        """Return arrays and a JSON-able header for the stream's file."""

    @abstractmethod
    def _restore(self, arrays: Mapping[str, NDArray[Any]], header: Mapping[str, Any]) -> None:
        """Restore the state that :meth:`_to_arrays` returned."""

    # ------------------------------------------------------------------ rows

    def _recording(self, stamp: Any, observations: Mapping[str, float | None]) -> Recording:
        """Return a row as a recording."""
        values = row_values(observations)
        spelled = tuple(observations)
        if spelled != self._spelled:
            self._names, self._order = self._laid_out(spelled)
            self._spelled = spelled
        with np.errstate(over="ignore", invalid="ignore"):
            kept = values.astype(np.float32)[self._order]
        names, is_seen = self._names, np.isfinite(kept)
        if not is_seen.all():
            names, kept = tuple(compress(names, is_seen)), kept[is_seen]
        n = len(kept)
        ends, codes = np.array([0, n]), np.arange(n, dtype=np.int32)
        return Recording(np.array([stamp]), ends, codes, kept, names)

    def _laid_out(self, spelled: tuple[str, ...]) -> tuple[tuple[str, ...], NDArray[np.int64]]:
        """Return names in canonical spelling and order, and the position of each in the row."""
        names = self._canonical(spelled)
        if len(set(names)) < len(names):
            raise InputError(
                "a row names one variable twice, with its labels in different order; name each "
                f"variable once (row of {len(names)}, starting with {names[0]!r})"
            )
        order = np.array(sorted(range(len(names)), key=names.__getitem__), np.int64)
        return tuple(names[at] for at in order), order

    def _canonical(self, spelled: Iterable[str]) -> list[str]:
        """Return names in canonical spelling; the spellings of earlier rows are cached."""
        try:
            return list(map(self._name_of.__getitem__, spelled))
        except (KeyError, TypeError):
            if len(self._name_of) > MAX_SPELLINGS:
                self._name_of.clear()
            self._name_of |= {name: _name(name) for name in spelled if name not in self._name_of}
            return list(map(self._name_of.__getitem__, spelled))


def _name(name: Any) -> str:
    if not isinstance(name, str):
        raise InputError(f"a variable is called {name!r}; names are text")
    return canonical(name)


def next_time(time: Any, last_time: Any) -> Any:
    """Return a row's time, checked to be after that of the previous row (None: no such row)."""
    if last_time is None:
        return as_times([time])[0]
    stamp = moment(time, last_time.dtype)
    if not stamp > last_time:
        raise InputError(
            f"time {show_time(stamp)} is not after {show_time(last_time)}, the row "
            "before; push rows in order of time, each time once"
        )
    return stamp


def row_values(observations: Mapping[str, float | None]) -> NDArray[np.float64]:
    """Return (n,) values of a row; None becomes NaN, which counts as not observed.

    Any object that converts to float is accepted, a Decimal too, but no int beyond 64 bits.
    """
    if not isinstance(observations, Mapping):
        raise _not_numbers(observations)
    listed: list[Any] = list(observations.values())
    try:
        values = _floats(listed)
    except struct.error:
        try:
            values = _floats([nan if value is None else value for value in listed])
        except struct.error:
            raise _not_numbers(observations) from None
    for at in np.flatnonzero(np.abs(values) >= LARGEST_WHOLE).tolist():
        if isinstance(listed[at], int):
            raise _not_numbers(observations)
    return values


def _floats(values: list[Any]) -> NDArray[np.float64]:
    """Return (n,) values as an array; twice as fast as ``np.array``, which inspects types."""
    return np.frombuffer(struct.pack(f"{len(values)}d", *values))


def _not_numbers(observations: Any) -> InputError:
    """Return an error that names the value of a row that is not a number."""
    if not isinstance(observations, Mapping):
        return InputError(
            f"a row is a mapping of variables to numbers, not {type(observations).__name__}"
        )
    for name, value in observations.items():
        if value is not None and not _is_number(value):
            return InputError(
                f"the value of {name!r} is {value!r:.60}; give a number, or leave the variable out"
            )
    return InputError("a row's values must be numbers, each a single one")


def _is_number(value: Any) -> bool:
    if isinstance(value, int):
        return abs(value) < LARGEST_WHOLE
    try:
        _floats([value])
    except struct.error:
        return False
    return True
