"""Layout: which column of a table plays which part, as the caller says or as the names tell.

In: a table and the caller's wishes. Out: the parts, complete and checked.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Literal

import pyarrow as pa

from smkc.errors import ReadError, SettingError
from smkc.recording.columns import holds_numbers, kind_of
from smkc.recording.stamps import looks_like_dates
from smkc.recording.tables import Table, listed

__all__ = ["Layout", "LongParts", "WideParts", "Wishes", "find_parts"]

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
"""What pandas calls an index without a name when it writes files."""

SAMPLE_ROWS = 1000


@dataclass(frozen=True, kw_only=True)
class Wishes:
    """What the caller of ``read`` said about the columns; None where nothing was said."""

    layout: Layout = "auto"
    time: str | None = None
    variable: str | None = None
    value: str | None = None
    labels: tuple[str, ...] | None = None
    entity: str | None = None
    ignore: tuple[str, ...] = ("label",)

    def __post_init__(self) -> None:
        if self.layout not in ("auto", "long", "wide"):
            raise SettingError(f"layout={self.layout!r} is unknown; say 'auto', 'long' or 'wide'")
        if self.layout == "wide" and self.speaks_of_long:
            raise SettingError(
                "variable, value and labels belong to the long layout; "
                "leave them out or say layout='long'"
            )

    @property
    def speaks_of_long(self) -> bool:
        """Whether the caller named a column that only the long layout has."""
        return any(part is not None for part in (self.variable, self.value, self.labels))

    @property
    def named(self) -> tuple[str, ...]:
        """Every column that the caller gave a part."""
        single = (self.time, self.variable, self.value, self.entity)
        return tuple(name for name in single if name is not None) + (self.labels or ())


@dataclass(frozen=True, kw_only=True)
class LongParts:
    """The part that each column of a long table plays: a row is one observation."""

    time: str
    variable: str
    value: str
    labels: tuple[str, ...] = ()
    entity: str | None = None
    ignored: tuple[str, ...] = ()


@dataclass(frozen=True, kw_only=True)
class WideParts:
    """The part that each column of a wide table plays: ``variables`` hold one variable each."""

    time: str
    variables: tuple[str, ...]
    entity: str | None = None
    ignored: tuple[str, ...] = ()


def find_parts(table: Table, wishes: Wishes) -> LongParts | WideParts:
    """Find the part of every column, or say which cannot be found and how to name it."""
    names = table.schema.names
    for name in wishes.named:
        if name not in names:
            raise ReadError(f"{table.name} has no column {name!r}; its columns are {listed(names)}")
    if twice := [name for name in set(wishes.named) if wishes.named.count(name) > 1]:
        raise SettingError(f"column {twice[0]!r} was given two parts; give each column one")
    for name in (wishes.variable, *(wishes.labels or ()), wishes.entity):
        if name is not None and kind_of(table.schema.field(name).type) == "other":
            raise ReadError(
                f"column {name!r} of {table.name} is of type {table.schema.field(name).type}, "
                "which cannot name anything; convert it to text"
            )
    ignored = [name for name in names if name in wishes.ignore and name not in wishes.named]
    free = [name for name in names if name not in {*ignored, *wishes.named}]
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
        variable = wishes.variable or _find_variable(table, free)
        value = wishes.value or _find_value(table, [name for name in free if name != variable])
        is_long = wishes.layout == "long" or wishes.speaks_of_long
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
            )
        if is_long:
            missing = "variable" if variable is None else "value"
            raise ReadError(
                f"{table.name} has no column that is known to hold the {missing} of a long "
                f"table; its columns are {listed(names)}. Say which one does with {missing}='...'"
            )
    if not free:
        raise ReadError(
            f"{table.name} has no column beside {listed([time, *ignored])} that could be a "
            f"variable; its columns are {listed(names)}"
        )
    for name in free:
        _require_readable(table, name)
    return WideParts(time=time, variables=tuple(free), entity=wishes.entity, ignored=tuple(ignored))


def _find_time(table: Table, free: Sequence[str]) -> str | None:
    if (named := _first_named(free, TIME_NAMES)) is not None:
        return named
    dates = [name for name in free if kind_of(table.schema.field(name).type) == "time"]
    if len(dates) == 1:
        return dates[0]
    if free and free[0] in (*INDEX_NAMES, "index"):
        return free[0]
    return free[0] if free and looks_like_dates(_sample(table, free[0])) else None


def _find_variable(table: Table, free: Sequence[str]) -> str | None:
    candidates = [name for name in free if name.strip().lower() in VARIABLE_NAMES]
    texts = [name for name in candidates if _holds_text(table, name)]
    return _first_named(texts, VARIABLE_NAMES)


def _find_value(table: Table, free: Sequence[str]) -> str | None:
    return _first_named(free, VALUE_NAMES)


def _find_labels(
    table: Table, rest: Sequence[str], asked: tuple[str, ...] | None
) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Split what remains of a long table into labels and columns left out."""
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
    """Return the name that comes first in ``wanted``, upper and lower case alike."""
    ranked = [
        (wanted.index(key), name) for name in names if (key := name.strip().lower()) in wanted
    ]
    return min(ranked)[1] if ranked else None


def _holds_text(table: Table, name: str) -> bool:
    kind = kind_of(table.schema.field(name).type)
    return kind == "nothing" or (kind == "text" and not holds_numbers(_sample(table, name)))


def _sample(table: Table, name: str) -> pa.Array:
    for batch, _ in table.batches([name], SAMPLE_ROWS):
        if batch.num_rows:
            return batch.column(0).slice(0, SAMPLE_ROWS)
    return pa.array([], pa.string())


def _require_readable(table: Table, name: str) -> None:
    column_type = table.schema.field(name).type
    if kind_of(column_type) in ("other", "time"):
        raise ReadError(
            f"column {name!r} of {table.name} is of type {column_type}, which is not a number; "
            f"convert it, or leave it out with ignore=[{name!r}]"
        )
