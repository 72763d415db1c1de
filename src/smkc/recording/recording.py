"""Recording: time steps, each with whatever variables were observed then.

In: flat observations. Out: an immutable container in canonical order, so that two recordings
of the same observations are the same arrays however their variables were ordered.
"""

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from smkc.errors import InputError
from smkc.recording import export
from smkc.recording.order import canonical_codes, require_increasing, sorted_last
from smkc.recording.times import as_times, moment, show_time

__all__ = ["Notes", "Recording"]


@dataclass(frozen=True, kw_only=True)
class Notes:
    """What a reader met on its way and did not keep.

    Counts of observations; columns that were ignored; variables with values beyond float32.
    """

    duplicates: int = 0
    infinities: int = 0
    missing: int = 0
    ignored: tuple[str, ...] = ()
    beyond: tuple[str, ...] = ()

    def __add__(self, other: "Notes") -> "Notes":
        return Notes(
            duplicates=self.duplicates + other.duplicates,
            infinities=self.infinities + other.infinities,
            missing=self.missing + other.missing,
            ignored=tuple(dict.fromkeys(self.ignored + other.ignored)),
            beyond=tuple(dict.fromkeys(self.beyond + other.beyond)),
        )


@dataclass(frozen=True, eq=False, repr=False)
class Recording:
    """Time steps, each with whatever variables were observed then.

    Parameters
    ----------
    times
        (T,) when: strictly increasing; datetime64[ns] in UTC, int64 or float64.
    indptr
        (T+1,) int64: row t holds observations ``indptr[t]:indptr[t+1]``.
    codes
        (N,) int32: which variable, an index into ``names``; ascending inside a row.
    values
        (N,) float32: what was read; finite.
    names
        (V,) variable identifiers: sorted, no two alike.
    notes
        what the reader dropped on the way; plays no part in equality.

    Notes
    -----
    Use :func:`smkc.read` or :meth:`from_observations`; the constructor trusts its arguments.

    Examples
    --------
    >>> rec = Recording.from_rows([0, 1], [{"cpu": 0.3, "mem": 0.7}, {"cpu": 0.4}])
    >>> rec
    Recording(2 rows, 2 variables, 3 observations, 1-2 a row, times 0 to 1)
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

        ``row_times`` (T,) strictly increasing; observation i belongs to row ``rows[i]`` and to
        variable ``names[codes[i]]``. Of two observations of one variable in one row the later in
        the input stays. Values that are not finite are dropped. Both are counted in the notes.
        """
        notes = notes or Notes()
        codes = canonical_codes(np.asarray(codes), names)
        kept_names = sorted(set(names))
        with np.errstate(over="ignore", invalid="ignore"):
            as_float = np.asarray(values).astype(np.float32, copy=False)
        finite = np.isfinite(as_float)
        if not finite.all():
            n_nan = int(np.isnan(as_float).sum())
            n_inf = int(as_float.size - finite.sum()) - n_nan
            notes = notes + Notes(missing=n_nan, infinities=n_inf)
            rows, codes, as_float = rows[finite], codes[finite], as_float[finite]
        rows, codes, as_float, n_twice = sorted_last(rows, codes, as_float, len(kept_names))
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
        """Build a recording from one mapping of variable to value a time step."""
        row_list = [dict(row) for row in rows]
        stamps = as_times(times)
        if len(stamps) != len(row_list):
            raise InputError(
                f"{len(stamps)} times for {len(row_list)} rows; give one time for each row"
            )
        require_increasing(stamps)
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
        # One without rows tells nothing, not even of what type times are.
        recordings = [rec for rec in recordings if len(rec)] or recordings[:1]
        kinds = {rec.times.dtype.kind for rec in recordings}
        if "M" in kinds and len(kinds) > 1:
            raise InputError(
                "recordings with dates and recordings with plain numbers as times cannot be "
                "joined; read them with the same time_unit"
            )
        stamps = np.concatenate([rec.times for rec in recordings])
        require_increasing(stamps)
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
        """Rows start to stop, by number, as in slicing; shares memory with this recording."""
        first, last, _ = slice(start, stop).indices(len(self))
        last = max(first, last)
        a, b = int(self.indptr[first]), int(self.indptr[last])
        return Recording(
            self.times[first:last],
            self.indptr[first : last + 1] - a,
            self.codes[a:b],
            self.values[a:b],
            self.names,
            self.notes,
        )

    def between(self, start: Any = None, end: Any = None) -> "Recording":
        """Rows with start <= time < end; either may be left out."""
        first = 0 if start is None else self.row_at(start)
        last = len(self) if end is None else self.row_at(end)
        return self.rows(first, max(first, last))

    def row_at(self, time: Any) -> int:
        """Return the number of the first row that is not before ``time``."""
        return int(np.searchsorted(self.times, moment(time, self.times.dtype), side="left"))

    def select(self, variables: Iterable[str] | Callable[[str], bool]) -> "Recording":
        """Keep some variables: a collection of names, or a test of a name. Rows stay."""
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
        """Give variables new names; unknown keys of a mapping are left alone."""
        rule = names if callable(names) else lambda name: names.get(name, name)
        renamed = [rule(name) for name in self.names]
        twice = [name for name, count in Counter(renamed).items() if count > 1]
        if twice:
            raise InputError(f"two variables would be called {twice[0]!r}; choose distinct names")
        return Recording.from_observations(
            self.times, self.row_numbers, self.codes, self.values, renamed, self.notes
        )

    def with_values(self, values: NDArray[np.float32]) -> "Recording":
        """Return the same observations with other values (N,); non-finite ones are dropped."""
        if np.isfinite(values).all():
            return Recording(self.times, self.indptr, self.codes, values, self.names, self.notes)
        return Recording.from_observations(
            self.times, self.row_numbers, self.codes, values, self.names, self.notes
        )

    # ------------------------------------------------------------------ leaving

    def to_arrow(self) -> Any:
        """Return a pyarrow Table with a row an observation: time, variable, value.

        A time step without observations keeps its place as a row with neither variable nor
        value. ``smkc.read`` gives the recording back; whole numbers from 1e8 as times need
        ``time_unit="step"`` then, or they are taken for seconds since 1970.
        """
        return export.to_arrow(self)

    def to_pandas(self) -> Any:
        """Return the table of :meth:`to_arrow` as a pandas DataFrame."""
        return export.to_pandas(self)

    def to_polars(self) -> Any:
        """Return the table of :meth:`to_arrow` as a polars DataFrame."""
        return export.to_polars(self)

    # ------------------------------------------------------------------ looking

    def __len__(self) -> int:
        return len(self.times)

    @property
    def n_observations(self) -> int:
        """How many values were observed in all."""
        return len(self.values)

    @property
    def cardinality(self) -> NDArray[np.int64]:
        """(T,) how many variables were observed in each row."""
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
        """(T,) one variable's values, NaN where it was not observed."""
        one = self.select([variable])
        values = np.full(len(self), np.nan, np.float32)
        values[one.row_numbers] = one.values
        return values

    def canonical(self) -> "Recording":
        """Return the same observations with names that are never observed left out."""
        if len(np.unique(self.codes)) == len(self.names):
            return self
        used = set(np.unique(self.codes).tolist())
        return self.select([name for code, name in enumerate(self.names) if code in used])

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
        a_row = str(low) if low == high else f"{low}-{high}"
        parts = [
            f"{len(self):,} rows",
            f"{len(self.names):,} variables",
            f"{self.n_observations:,} observations",
            f"{a_row} a row",
            f"times {show_time(self.times[0])} to {show_time(self.times[-1])}",
        ]
        dropped = {
            "duplicates": self.notes.duplicates,
            "infinities": self.notes.infinities,
        }
        parts += [f"{count:,} {what} dropped" for what, count in dropped.items() if count]
        if self.notes.ignored:
            parts.append("ignored " + ", ".join(name or "(unnamed)" for name in self.notes.ignored))
        return f"Recording({', '.join(parts)})"
