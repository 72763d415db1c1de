"""Layout: what each column of a table holds, as the caller says or as the names suggest.

In: a table and the caller's wishes. Out: the part that each column plays, complete and checked.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
import pyarrow as pa

from smkc.errors import ReadError, SettingError
from smkc.recording.columns import Kind, holds_no_number, holds_numbers, kind_of
from smkc.recording.stamps import EPOCH_RANGES, looks_like_dates
from smkc.recording.tables import Table, listed

Layout = Literal["auto", "long", "wide"]

TIME_NAMES = (
    *("time", "timestamp", "ts", "datetime", "date", "ds", "_time", "@timestamp", "date_time"),
    *("time_stamp", "timestamps", "event_time", "unix_time", "unixtime", "epoch"),
)
VARIABLE_NAMES = (
    *("variable", "metric", "__name__", "metric_name", "name", "series", "sensor", "tag"),
    *("signal", "channel", "unique_id", "_field", "key"),
)
VALUE_NAMES = ("value", "val", "values", "reading", "_value", "measurement", "y")
INDEX_NAMES = ("", "Unnamed: 0", "__index_level_0__")
"""Column names that pandas writes for an unnamed index."""

SAMPLE_ROWS = 1000


@dataclass(frozen=True, kw_only=True)
class Wishes:
    """Arguments of ``read`` about the columns; None where the caller gave none."""

    layout: Layout = "auto"
    time: str | None = None
    variable: str | None = None
    value: str | None = None
    labels: tuple[str, ...] | None = None
    entity: str | None = None
    ignore: tuple[str, ...] = ("label",)
    time_format: str | None = None

    def __post_init__(self) -> None:
        if self.layout not in ("auto", "long", "wide"):
            raise SettingError(f"layout={self.layout!r} is unknown; say 'auto', 'long' or 'wide'")
        if self.layout == "wide" and self.has_long_parts:
            raise SettingError(
                "variable, value and labels belong to the long layout; "
                "leave them out or say layout='long'"
            )

    @property
    def has_long_parts(self) -> bool:
        """Whether the caller named a column that only the long layout has."""
        return any(part is not None for part in (self.variable, self.value, self.labels))

    @property
    def named(self) -> tuple[str, ...]:
        """Every column that the caller assigned a part to."""
        single = (self.time, self.variable, self.value, self.entity)
        return tuple(name for name in single if name is not None) + (self.labels or ())


@dataclass(frozen=True, kw_only=True)
class _Parts:
    time: str
    entity: str | None = None
    ignored: tuple[str, ...] = ()
    time_format: str | None = None


@dataclass(frozen=True, kw_only=True)
class LongParts(_Parts):
    """Parts of the columns of a long table, in which each row is one observation."""

    variable: str
    value: str
    labels: tuple[str, ...] = ()


@dataclass(frozen=True, kw_only=True)
class WideParts(_Parts):
    """Parts of the columns of a wide table; those in ``variables`` hold one variable each.

    The columns in ``texts`` hold text without any number; they are left out.
    """

    variables: tuple[str, ...]
    texts: tuple[str, ...] = ()


def lacks_times(table: Table, wishes: Wishes) -> bool:
    """Return whether a table is wide, has only numbers, and no column seems to hold times."""
    named = {*wishes.ignore, *wishes.named}
    free = [name for name in table.schema.names if name not in named]
    if wishes.time is not None or wishes.layout == "long" or wishes.has_long_parts or not free:
        return False
    kinds = {kind_of(table.schema.field(name).type) for name in free}
    if not kinds <= {"number", "nothing"} or _find_time(table, free) is not None:
        return False
    return not any(map(_grows_like_epochs, _samples(table, free)))


def _grows_like_epochs(sample: pa.Array) -> bool:
    """Return whether numbers are as large as times since 1970 and strictly increase."""
    numbers = np.asarray(sample.cast(pa.float64(), safe=False).to_numpy(zero_copy_only=False))
    is_large = len(numbers) > 1 and numbers[0] >= EPOCH_RANGES["s"][0]
    return bool(is_large and (np.diff(numbers) > 0).all())


def find_parts(table: Table, wishes: Wishes) -> LongParts | WideParts:
    """Find the part of every column; raise ReadError if a needed one cannot be found."""
    _require_known(table, wishes)
    names = table.schema.names
    named = set(wishes.named)
    unwanted = set(wishes.ignore) - named
    ignored = [name for name in names if name in unwanted]
    taken = unwanted | named
    free = [name for name in names if name not in taken]
    time = wishes.time or _find_time(table, free)
    if time is None:
        raise ReadError(
            f"{table.name} has no column that is known to hold times; its columns are "
            f"{listed(names)}. Say which one does with time='...'"
        )
    free = [name for name in free if name != time]
    ignored += [name for name in free if name in INDEX_NAMES]
    free = [name for name in free if name not in INDEX_NAMES]
    if wishes.layout != "wide":
        long = _find_long_parts(table, wishes, time, free, ignored)
        if long is not None:
            return long
    if not free:
        raise ReadError(
            f"{table.name} has no column beside {listed([time, *ignored])} that could be a "
            f"variable; its columns are {listed(names)}"
        )
    for name in free:
        _require_kind(table, name, ("number", "text", "nothing"), "is not a number")
    texts = _text_columns(table, free)
    if len(texts) == len(free):  # reading them raises an error that names the place
        texts = ()
    return WideParts(
        time=time,
        variables=tuple(name for name in free if name not in texts),
        entity=wishes.entity,
        ignored=(*ignored, *texts),
        texts=texts,
        time_format=wishes.time_format,
    )


def _text_columns(table: Table, free: Sequence[str]) -> tuple[str, ...]:
    """Return the columns whose first rows hold text and no number."""
    texts = [name for name in free if kind_of(table.schema.field(name).type) == "text"]
    found = zip(texts, _samples(table, texts), strict=True)
    return tuple(name for name, sample in found if holds_no_number(sample))


def _find_long_parts(
    table: Table, wishes: Wishes, time: str, free: Sequence[str], ignored: Sequence[str]
) -> LongParts | None:
    """Find the parts of a long table; None if it is not long and the caller did not say so."""
    is_long = wishes.layout == "long" or wishes.has_long_parts
    variable = wishes.variable or _find_variable(table, free, must_be_text=not is_long)
    value = wishes.value or _first_named((name for name in free if name != variable), VALUE_NAMES)
    if variable is not None and value is not None:
        rest = [name for name in free if name not in (variable, value)]
        labels, left_out = _find_labels(table, rest, wishes.labels)
        return LongParts(
            time=time,
            variable=variable,
            value=value,
            labels=labels,
            entity=wishes.entity,
            ignored=(*ignored, *left_out),
            time_format=wishes.time_format,
        )
    if not is_long:
        return None
    missing = "variable" if variable is None else "value"
    raise ReadError(
        f"{table.name} has no column that is known to hold the {missing} of a long table; its "
        f"columns are {listed(table.schema.names)}. Say which one does with {missing}='...'"
    )


def _find_time(table: Table, free: Sequence[str]) -> str | None:
    if (named := _first_named(free, TIME_NAMES)) is not None:
        return named
    dates = [name for name in free if kind_of(table.schema.field(name).type) == "time"]
    if len(dates) == 1:
        return dates[0]
    if free and free[0] in (*INDEX_NAMES, "index"):
        return free[0]
    return free[0] if free and looks_like_dates(_samples(table, free[:1])[0]) else None


def _find_variable(table: Table, free: Sequence[str], must_be_text: bool) -> str | None:
    candidates = [name for name in free if name.strip().lower() in VARIABLE_NAMES]
    if must_be_text:
        candidates = [name for name in candidates if _holds_text(table, name)]
    return _first_named(candidates, VARIABLE_NAMES)


def _find_labels(
    table: Table, rest: Sequence[str], asked: tuple[str, ...] | None
) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Split the remaining columns of a long table into labels and columns left out."""
    if asked is not None:
        return asked, tuple(rest)
    for name in rest:
        if not _holds_text(table, name):
            raise ReadError(
                f"column {name!r} of {table.name} holds no text, so it is not taken for a label; "
                f"say labels=[{name!r}] if it tells variables apart, or ignore=[{name!r}]"
            )
    return tuple(rest), ()


def _first_named(names: Iterable[str], wanted: Sequence[str]) -> str | None:
    """Return the name that comes first in ``wanted``, ignoring case."""
    ranked = [
        (wanted.index(key), name) for name in names if (key := name.strip().lower()) in wanted
    ]
    return min(ranked)[1] if ranked else None


def _holds_text(table: Table, name: str) -> bool:
    kind = kind_of(table.schema.field(name).type)
    return kind == "nothing" or (kind == "text" and not holds_numbers(_samples(table, [name])[0]))


def _samples(table: Table, names: Sequence[str]) -> list[pa.Array]:
    """Return the first rows of some columns."""
    for batch, _ in table.batches(names, SAMPLE_ROWS) if names else ():
        if batch.num_rows:
            return list(batch.slice(0, SAMPLE_ROWS).columns)
    return [pa.array([], pa.string())] * len(names)


def _require_known(table: Table, wishes: Wishes) -> None:
    """Raise an error for named columns that do not exist, have two parts, or the wrong type."""
    names = table.schema.names
    for name in wishes.named:
        if name not in names:
            raise ReadError(f"{table.name} has no column {name!r}; its columns are {listed(names)}")
        if wishes.named.count(name) > 1:
            raise SettingError(f"column {name!r} was given two parts; give each column one")
    for part in (wishes.variable, *(wishes.labels or ()), wishes.entity):
        if part is not None:
            _require_kind(table, part, ("number", "text", "time", "nothing"), "names nothing")


def _require_kind(table: Table, name: str, kinds: Sequence[Kind], verdict: str) -> None:
    column_type = table.schema.field(name).type
    if kind_of(column_type) not in kinds:
        raise ReadError(
            f"column {name!r} of {table.name} is of type {column_type}, which {verdict}; "
            f"convert it, or leave it out with ignore=[{name!r}]"
        )
