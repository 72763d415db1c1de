"""Recording: time steps, each with whatever variables were observed then.

In: flat observations. Out: an immutable container in canonical order, so that two recordings
of the same observations are the same arrays however their variables were ordered.
"""

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from smkc.errors import InputError, optional_module
from smkc.recording.notes import Notes
from smkc.recording.times import as_times, moment, show_time


@dataclass(frozen=True, eq=False, repr=False)
class Recording:
    """Time steps, each with whatever variables were observed then.

    Parameters
    ----------
    times
        (T,) strictly increasing; datetime64[ns] in UTC, int64 or float64.
    indptr
        (T+1,) int64: row t holds observations ``indptr[t]:indptr[t+1]``.
    codes
        (N,) int32: the variable, as an index into ``names``; ascending within a row.
    values
        (N,) float32: the observed values; finite.
    names
        (V,) variable identifiers: sorted and distinct.
    notes
        what the reader dropped; ignored in comparisons.

    Notes
    -----
    Use :func:`smkc.read` or :meth:`from_observations`; the constructor does not check arguments.

    Examples
    --------
    >>> rec = Recording.from_rows([0, 1], [{"cpu": 0.3, "mem": 0.7}, {"cpu": 0.4}])
    >>> rec
    Recording(2 rows, 2 variables, 3 observations, 1-2 per row, times 0 to 1)
    >>> rec.row(1)
    {'cpu': 0.4000000059604645}
    """

    times: NDArray[Any]
    indptr: NDArray[np.int64]
    codes: NDArray[np.int32]
    values: NDArray[np.float32]
    names: tuple[str, ...]
    notes: Notes = field(default_factory=Notes)

    # ------------------------------------------------------------------ building

    @classmethod
    def from_observations(
        cls,
        row_times: NDArray[Any],
        rows: NDArray[np.integer[Any]],
        codes: NDArray[np.integer[Any]],
        values: NDArray[np.floating[Any]],
        names: Sequence[str],
        notes: Notes | None = None,
    ) -> "Recording":
        """Build the canonical recording from observations in any order.

        ``row_times`` (T,) are strictly increasing; observation i belongs to row ``rows[i]`` and to
        variable ``names[codes[i]]``. Of two observations of one variable in one row, the later in
        the input is kept. Values that are not finite are dropped. Both are counted in the notes.
        """
        notes = notes or Notes()
        kept_names = sorted(set(names))
        position = {name: code for code, name in enumerate(kept_names)}
        renumber = np.fromiter((position[name] for name in names), np.int32, len(names))
        codes = np.asarray(codes)
        if not np.array_equal(renumber, np.arange(len(names))):
            codes = renumber[codes]
        with np.errstate(over="ignore", invalid="ignore"):
            as_float = np.asarray(values).astype(np.float32, copy=False)
        finite = np.isfinite(as_float)
        if not finite.all():
            n_nan = int(np.isnan(as_float).sum())
            n_inf = int(as_float.size - finite.sum()) - n_nan
            notes = notes + Notes(missing=n_nan, infinities=n_inf)
            rows, codes, as_float = rows[finite], codes[finite], as_float[finite]
        rows, codes, as_float, n_twice = _sorted_last(rows, codes, as_float, len(kept_names))
        indptr = np.zeros(len(row_times) + 1, np.int64)
        np.cumsum(np.bincount(rows, minlength=len(row_times)), out=indptr[1:])
        used = np.zeros(len(kept_names), bool)
        used[codes] = True
        if not used.all():
            renumber = np.cumsum(used, dtype=np.int32) - 1
            codes = renumber[codes]
            kept_names = [name for name, is_used in zip(kept_names, used, strict=True) if is_used]
        return cls(
            np.asarray(row_times),
            indptr,
            codes.astype(np.int32, copy=False),
            as_float,
            tuple(kept_names),
            notes + Notes(duplicates=n_twice),
        )

    @classmethod
    def from_rows(cls, times: ArrayLike, rows: Iterable[Mapping[str, float]]) -> "Recording":
        """Build a recording from one mapping of variable to value per time step."""
        row_list = [dict(row) for row in rows]
        stamps = as_times(times)
        if len(stamps) != len(row_list):
            raise InputError(
                f"{len(stamps)} times for {len(row_list)} rows; give one time for each row"
            )
        _require_increasing(stamps)
        names = sorted({name for row in row_list for name in row})
        code_of = {name: code for code, name in enumerate(names)}
        lengths = [len(row) for row in row_list]
        return cls.from_observations(
            stamps,
            np.repeat(np.arange(len(row_list)), lengths),
            np.array([code_of[name] for row in row_list for name in row], np.int32),
            np.array([value for row in row_list for value in row.values()], np.float64),
            names,
        )

    @classmethod
    def concat(cls, recordings: Sequence["Recording"]) -> "Recording":
        """Join recordings that follow one another in time."""
        if not recordings:
            raise InputError("no recording to join; give at least one")
        # A recording without rows says nothing, not even the type of its times.
        recordings = [rec for rec in recordings if len(rec)] or recordings[:1]
        kinds = {rec.times.dtype.kind for rec in recordings}
        if "M" in kinds and len(kinds) > 1:
            raise InputError(
                "recordings with dates and recordings with plain numbers as times cannot be "
                "joined; read them with the same time_unit"
            )
        stamps = np.concatenate([rec.times for rec in recordings])
        _require_increasing(stamps)
        names = sorted({name for rec in recordings for name in rec.names})
        code_of = {name: code for code, name in enumerate(names)}
        codes = [
            np.array([code_of[name] for name in rec.names], np.int32)[rec.codes]
            for rec in recordings
        ]
        lengths = np.concatenate([rec.cardinality for rec in recordings])
        indptr = np.zeros(len(stamps) + 1, np.int64)
        np.cumsum(lengths, out=indptr[1:])
        notes = recordings[0].notes
        for rec in recordings[1:]:
            notes = notes + rec.notes
        return cls(
            stamps,
            indptr,
            np.concatenate(codes),
            np.concatenate([rec.values for rec in recordings]),
            tuple(names),
            notes,
        )

    def append(self, time: Any, observations: Mapping[str, float]) -> "Recording":
        """Return a recording with one more time step at its end."""
        stamp = moment(time, self.times.dtype) if len(self) else as_times([time])[0]
        return Recording.concat([self, Recording.from_rows([stamp], [observations])])

    # ------------------------------------------------------------------ taking parts

    def rows(self, start: int, stop: int | None = None) -> "Recording":
        """Return rows start to stop, as in slicing; shares memory with this recording."""
        first, last, _ = slice(start, stop).indices(len(self))
        last = max(first, last)
        a, b = int(self.indptr[first]), int(self.indptr[last])
        return replace(
            self,
            times=self.times[first:last],
            indptr=self.indptr[first : last + 1] - a,
            codes=self.codes[a:b],
            values=self.values[a:b],
        )

    def between(self, start: Any = None, end: Any = None) -> "Recording":
        """Return the rows with start <= time < end; either may be left out."""
        first = 0 if start is None else self.row_at(start)
        last = len(self) if end is None else self.row_at(end)
        return self.rows(first, max(first, last))

    def row_at(self, time: Any) -> int:
        """Return the number of the first row that is not before ``time``."""
        return int(np.searchsorted(self.times, moment(time, self.times.dtype), side="left"))

    def select(self, variables: Iterable[str] | Callable[[str], bool]) -> "Recording":
        """Keep the variables in a collection, or those a function accepts; all rows are kept."""
        if callable(variables):
            keep = np.array([bool(variables(name)) for name in self.names], bool)
        else:
            wanted = {variables} if isinstance(variables, str) else set(variables)
            unknown = sorted(wanted.difference(self.names))
            if unknown:
                raise InputError(
                    f"no variable {unknown[0]!r} in this recording of {len(self.names)}; "
                    "its variables are in .names"
                )
            keep = np.array([name in wanted for name in self.names], bool)
        kept = keep[self.codes]
        counts = np.concatenate([[0], np.cumsum(kept)])
        renumber = (np.cumsum(keep) - 1).astype(np.int32)
        return Recording(
            self.times,
            counts[self.indptr].astype(np.int64),
            renumber[self.codes[kept]],
            self.values[kept],
            tuple(name for name, is_kept in zip(self.names, keep, strict=True) if is_kept),
            self.notes,
        )

    def rename(self, names: Mapping[str, str] | Callable[[str], str]) -> "Recording":
        """Rename variables; keys of a mapping that name no variable are ignored."""
        rule = names if callable(names) else lambda name: names.get(name, name)
        renamed = [rule(name) for name in self.names]
        twice = [name for name, count in Counter(renamed).items() if count > 1]
        if twice:
            raise InputError(f"two variables would be called {twice[0]!r}; choose distinct names")
        return Recording.from_observations(
            self.times, self.row_numbers, self.codes, self.values, renamed, self.notes
        )

    def with_values(self, values: NDArray[np.float32]) -> "Recording":
        """Return the same observations with new values (N,); non-finite ones are dropped."""
        kept = np.isfinite(values)
        if kept.all():
            return replace(self, values=values)
        counts = np.concatenate([[0], np.cumsum(kept, dtype=np.int64)])
        return replace(
            self, indptr=counts[self.indptr], codes=self.codes[kept], values=values[kept]
        )

    # ------------------------------------------------------------------ leaving

    def to_arrow(self) -> Any:
        """Return a pyarrow Table with one row per observation: time, variable, value.

        A time step without observations becomes one row with null variable and value.
        ``smkc.read`` turns the table back into the recording; if its times are plain numbers from
        1e8 on, pass ``time_unit="step"``, or they are read as times since 1970.
        """
        import pyarrow as pa

        rows, codes, values = self.row_numbers, self.codes, self.values
        empty = np.flatnonzero(self.cardinality == 0)
        absent = np.zeros(len(rows), bool)
        if len(empty):
            at = self.indptr[empty]
            rows = np.insert(rows, at, empty)
            codes, values = np.insert(codes, at, 0), np.insert(values, at, np.float32(0))
            absent = np.insert(absent, at, True)
        times = pa.array(self.times[rows])
        if self.times.dtype.kind == "M":
            times = times.cast(pa.timestamp("ns", "UTC"))
        variables = pa.DictionaryArray.from_arrays(
            pa.array(codes, pa.int32(), mask=absent), pa.array(self.names, pa.string())
        )
        return pa.table(
            {"time": times, "variable": variables, "value": pa.array(values, mask=absent)}
        )

    def to_pandas(self) -> Any:
        """Return the table of :meth:`to_arrow` as a pandas DataFrame."""
        optional_module("pandas", "pandas")  # Arrow's own error does not say how to install it
        return self.to_arrow().to_pandas()

    def to_polars(self) -> Any:
        """Return the table of :meth:`to_arrow` as a polars DataFrame."""
        return optional_module("polars", "polars").from_arrow(self.to_arrow())

    # ------------------------------------------------------------------ looking

    def __len__(self) -> int:
        return len(self.times)

    @property
    def n_observations(self) -> int:
        """Total number of observations."""
        return len(self.values)

    @property
    def cardinality(self) -> NDArray[np.int64]:
        """(T,) number of variables observed in each row."""
        return np.diff(self.indptr)

    @property
    def row_numbers(self) -> NDArray[np.int64]:
        """(N,) the row that each observation belongs to."""
        return np.repeat(np.arange(len(self), dtype=np.int64), self.cardinality)

    def row(self, number: int) -> dict[str, float]:
        """Return the observations of one row, by variable."""
        if not -len(self) <= number < len(self):
            raise InputError(f"no row {number} in a recording of {len(self)} rows")
        number %= len(self)
        span = slice(int(self.indptr[number]), int(self.indptr[number + 1]))
        names = (self.names[code] for code in self.codes[span])
        return dict(zip(names, self.values[span].tolist(), strict=True))

    def trace(self, variable: str) -> NDArray[np.float32]:
        """Return (T,) values of one variable, NaN where it was not observed."""
        return self.select([variable]).table()[:, 0]

    def table(
        self, codes: Sequence[int] | NDArray[np.int64] | None = None, step: int = 1
    ) -> NDArray[np.float32]:
        """Return every ``step``-th row of some codes' variables, or of all, as a (T, V) table.

        NaN where a variable was not observed.
        """
        chosen = range(len(self.names)) if codes is None else codes
        place = np.full(len(self.names), -1)
        place[chosen] = np.arange(len(chosen))
        rows = self.row_numbers
        is_in = (rows % step == 0) & (place[self.codes] >= 0)
        table = np.full((-(-len(self) // step), len(chosen)), np.nan, np.float32)
        table[rows[is_in] // step, place[self.codes[is_in]]] = self.values[is_in]
        return table

    def canonical(self) -> "Recording":
        """Return the same recording without names of variables that are never observed."""
        used = np.unique(self.codes)
        if len(used) == len(self.names):
            return self
        return self.select([self.names[code] for code in used])

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Recording):
            return NotImplemented
        mine, theirs = self.canonical(), other.canonical()
        return (
            mine.names == theirs.names
            and mine.times.dtype.kind == theirs.times.dtype.kind
            and np.array_equal(mine.times, theirs.times)
            and np.array_equal(mine.indptr, theirs.indptr)
            and np.array_equal(mine.codes, theirs.codes)
            and np.array_equal(mine.values, theirs.values)
        )

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        if len(self) == 0:
            return f"Recording(0 rows, {len(self.names)} variables)"
        cardinality = self.cardinality
        low, high = int(cardinality.min()), int(cardinality.max())
        per_row = str(low) if low == high else f"{low}-{high}"
        parts = [
            f"{len(self):,} rows",
            f"{len(self.names):,} variables",
            f"{self.n_observations:,} observations",
            f"{per_row} per row",
            f"times {show_time(self.times[0])} to {show_time(self.times[-1])}",
        ]
        dropped = [("duplicates", self.notes.duplicates), ("infinities", self.notes.infinities)]
        parts += [f"{count:,} {what} dropped" for what, count in dropped if count]
        if self.notes.ignored:
            parts.append("ignored " + ", ".join(name or "(unnamed)" for name in self.notes.ignored))
        return f"Recording({', '.join(parts)})"


def _sorted_last(
    rows: NDArray[np.integer[Any]],
    codes: NDArray[np.integer[Any]],
    values: NDArray[np.float32],
    n_names: int,
) -> tuple[NDArray[Any], NDArray[Any], NDArray[np.float32], int]:
    """Sort observations by (row, code); keep the last of duplicates and count the others."""
    key = rows.astype(np.int64) * max(n_names, 1) + codes
    if len(key) > 1 and not (np.diff(key) > 0).all():
        order = np.argsort(key, kind="stable")
        key = key[order]
        is_last = np.ones(len(key), bool)
        is_last[:-1] = key[1:] != key[:-1]
        order = order[is_last]
        n_twice = len(key) - len(order)
        return rows[order], codes[order], values[order], n_twice
    return rows, codes, values, 0


def _require_increasing(stamps: NDArray[Any]) -> None:
    """Raise InputError unless times are strictly increasing."""
    backwards = np.flatnonzero(stamps[1:] <= stamps[:-1])
    if len(backwards):
        at = int(backwards[0]) + 1
        raise InputError(
            f"times must increase: row {at} is at {show_time(stamps[at])}, not after "
            f"{show_time(stamps[at - 1])}; sort the rows or read them with smkc.read"
        )
