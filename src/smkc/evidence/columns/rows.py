"""Rows: conversion of recordings to dense blocks of scaled values.

In: consecutive recordings. Out: blocks with fixed columns: the reference's variables in order of
their names, and separately newcomers in the order in which they were first seen.
"""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from smkc.evidence.choices import Choices
from smkc.evidence.columns.block import Block
from smkc.evidence.columns.fresh import MIN_COLUMNS, FreshColumns
from smkc.evidence.columns.roles import Members, Roles
from smkc.evidence.columns.successors import Successors
from smkc.evidence.saving import prefixed
from smkc.evidence.settings import SETTINGS
from smkc.recording import Recording, Scaling
from smkc.recording.counters import clock
from smkc.recording.rules import Rule, Rules

# Limit of scaled values for questions asked of single variables.
SCALING_CLIP = 1e6

# Rows follow the reference if they start within this many of its steps after its end.
MOST_STEPS = 5.0


class Rows:
    """Converter of consecutive recordings to blocks; scales their values.

    Parameters
    ----------
    scaling, names, roles
        of the reference.
    rules
        the user's rules for some variables.
    followed
        the reference's scaled rows and the choices, needed to recognise variables that continue
        under another name; None to take all names as they are.
    """

    def __init__(
        self,
        scaling: Scaling,
        names: tuple[str, ...],
        roles: Roles,
        rules: Sequence[Rule] = (),
        followed: tuple[NDArray[np.float32], Choices] | None = None,
    ) -> None:
        self.scaling = scaling.start()
        self.rules = Rules(rules, dict(zip(scaling.names, scaling.centre.tolist(), strict=True)))
        self.names = names
        self.members = Members(roles, names)
        self.successors: Successors | None = None
        self.fresh = FreshColumns(MIN_COLUMNS, 0, 1)
        if followed is not None:
            reference, choices = followed
            is_member = self.members.knows
            self.successors = Successors(scaling, names, reference, choices.block, is_member)
            self.fresh = FreshColumns.of(choices, len(reference))
        self.n_rows = 0
        # Codes of the farthest members in the rows of the latest recording, and names by code.
        self.farthest: list[tuple[NDArray[np.int64], tuple[str, ...]]] = []
        self._known = {name: at for at, name in enumerate(names)}
        # Columns of the latest recording's names, cached as most rows of a stream share them.
        self._of_known, self._of_fresh = Columns(), Columns()

    def begin(self) -> None:
        """Note that the first row comes right after the last row of the reference."""
        if self.successors is not None:
            self.successors.begin()

    def block(self, recording: Recording) -> Block:
        """Return the rows of the next recording as a block."""
        self.farthest = []
        recording = self.rules.kept(recording)
        if self.successors is None:
            return self._block(recording)
        blocks = []
        for piece in self.successors.pieces(recording):
            renamed = self.successors.renamed(piece)
            blocks.append(self._block(renamed))
            self.successors.take(renamed, blocks[-1].rows)
        return _concatenated(blocks)

    def _block(self, recording: Recording) -> Block:
        scaled, plain = self.scaling.scale_both(recording)
        renewed = self._meet(scaled)
        column_of = self.fresh.column_of
        beyond = self._beyond(scaled, plain)
        scaled, plain = self.rules.applied(scaled, plain)
        named = table(scaled, self._known, self._of_known)
        rows, values = clipped(named), named
        if self.members.roles.names:
            middles, apart, who_apart = self.members.in_own_unit(scaled, plain)
            of_roles, who = self.members.values(scaled)
            self.farthest.append((np.hstack([who, who_apart]), scaled.names))
            rows = np.hstack([rows, clipped(of_roles)])
            values = np.hstack([named, middles, apart])
        fresh = self._asked(table(scaled, column_of, self._of_fresh))
        in_own_unit = table(scaled.with_values(plain), column_of, self._of_fresh)
        return Block(
            rows=rows,
            fresh=clipped(fresh),
            values=values,
            fresh_values=fresh,
            fresh_plain=self._asked(in_own_unit),
            clocks=seconds(recording.times),
            beyond=beyond,
            renewed=renewed,
        )

    def _beyond(self, scaled: Recording, plain: NDArray[np.float32]) -> NDArray[np.bool_]:
        """Return (n, V + F) which variables and newcomers are beyond a bound of the rules."""
        if not self.rules.has_bounds():
            return np.zeros((len(scaled), 0), bool)
        flags = scaled.with_values(self.rules.beyond(scaled, plain).astype(np.float32))
        known = table(flags, self._known, self._of_known)
        return np.hstack([known, table(flags, self.fresh.column_of, self._of_fresh)]) > 0

    def _asked(self, fresh: NDArray[np.float32]) -> NDArray[np.float32]:
        """Return newcomers' values, NaN for members of roles that have a column for their bounds.

        Questions are asked of the roles.
        """
        if not self.rules.has_bounds():
            return fresh
        is_member = np.array([self.members.knows(name) for name in self.fresh.names], bool)
        return np.where(is_member, np.float32(np.nan), fresh)

    def names_in(self, row: int) -> dict[str, str]:
        """Return the current name of each variable that has another name in a row, by old name."""
        return {} if self.successors is None else self.successors.names_in(row)

    def _meet(self, scaled: Recording) -> NDArray[np.bool_]:
        """Give newcomers a column, in the order of their first rows, then of their names.

        Members of roles have none, as their roles are asked, unless they have bounds. Return (n, F)
        whether a newcomer takes over a column in a row.
        """
        first_row, fresh, taken = self.n_rows, self.fresh, []
        self.n_rows += len(scaled)
        is_fresh = self._of_known.of(scaled.names, self._known) < 0
        if is_fresh.any():
            here = np.flatnonzero(is_fresh[scaled.codes])
            codes, at = np.unique(scaled.codes[here], return_index=True)
            rows = scaled.row_numbers[here[at]]
            any_has_bounds = self.rules.has_bounds()
            for number in np.lexsort((codes, rows)).tolist():
                name, row = scaled.names[codes[number]], int(rows[number])
                # However many newcomers there are: one with bounds may be certain trouble.
                has_bounds = any_has_bounds and self.rules.has_bounds(name)
                if not has_bounds and self.members.knows(name):
                    continue
                if fresh.meet(name, first_row + row, share=2 if has_bounds else 1):
                    taken.append((row, fresh.column_of[name]))
            codes, at = np.unique(scaled.codes[here[::-1]], return_index=True)
            rows = scaled.row_numbers[here[::-1][at]]  # the last of each
            for code, row in zip(codes.tolist(), rows.tolist(), strict=True):
                fresh.note(scaled.names[code], first_row + row)
        if taken:
            self._of_fresh = Columns()  # a name may have another column now
        renewed = np.zeros((len(scaled), len(fresh.names)), bool)
        for row, column in taken:
            renewed[row, column] = True
        return renewed

    def to_arrays(self) -> tuple[dict[str, NDArray[Any]], dict[str, Any]]:
        """Return arrays and a JSON-serializable header from which :meth:`restore` continues."""
        arrays, header = self.scaling.to_arrays()
        arrays |= prefixed("fresh", self.fresh.to_arrays())
        header = {"scaling": header, "fresh": list(self.fresh.names), "ages": self.members.ages}
        header["n_rows"] = self.n_rows
        if self.successors is not None:
            arrays["followed"], header["successors"] = self.successors.to_arrays()
        return arrays, header

    def restore(self, arrays: Mapping[str, NDArray[Any]], header: Mapping[str, Any]) -> None:
        """Restore the state that :meth:`to_arrays` returned."""
        self.scaling.restore(arrays, header["scaling"])
        self.fresh.restore(arrays["fresh.seen"], header["fresh"])
        self.n_rows = int(header["n_rows"])
        self.members.ages = {str(name): int(age) for name, age in header["ages"].items()}
        if self.successors is not None:
            self.successors.restore(arrays["followed"], header["successors"])


def _concatenated(blocks: Sequence[Block]) -> Block:
    """Return blocks as one; newcomers are NaN in the blocks before they came."""
    if len(blocks) == 1:
        return blocks[0]
    last = blocks[-1]
    parts = [
        block._replace(
            fresh=_widened(block.fresh, last.fresh.shape[1]),
            fresh_values=_widened(block.fresh_values, last.fresh.shape[1]),
            fresh_plain=_widened(block.fresh_plain, last.fresh.shape[1]),
            beyond=_widened(block.beyond, last.beyond.shape[1]),
            renewed=_widened(block.renewed, last.fresh.shape[1]),
        )
        for block in blocks
    ]
    return Block(*(np.concatenate(arrays) for arrays in zip(*parts, strict=True)))


def _widened(table: NDArray[Any], width: int) -> NDArray[Any]:
    """Return a table with columns added at the right: NaN, or False."""
    wide = np.full((len(table), width), np.nan if table.dtype.kind == "f" else False, table.dtype)
    wide[:, : table.shape[1]] = table
    return wide


def seconds(times: NDArray[Any]) -> NDArray[np.float64]:
    """Return (n,) times as numbers: seconds since 1970 for dates."""
    return clock(times, np.datetime64(0, "ns") if times.dtype.kind == "M" else 0)


def clipped(values: NDArray[np.float32]) -> NDArray[np.float32]:
    """Clip scaled values to the limit for evidences of whole rows."""
    return np.clip(values, np.float32(-SETTINGS.clip), np.float32(SETTINGS.clip))


class Columns:
    """Cache of the columns of a recording's names, for further recordings with the same names."""

    def __init__(self) -> None:
        self._names: tuple[str, ...] | None = None
        self._n_columns = 0
        self._columns = np.empty(0, np.int64)

    def of(self, names: tuple[str, ...], column_of: Mapping[str, int]) -> NDArray[np.int64]:
        """Return (V,) the column of each name, -1 for names without one.

        Columns may be added to ``column_of`` between calls, but not changed.
        """
        if names != self._names or len(column_of) != self._n_columns:
            self._columns = np.array([column_of.get(name, -1) for name in names], np.int64)
            self._names, self._n_columns = names, len(column_of)
        return self._columns


def table(
    recording: Recording, column_of: Mapping[str, int], kept: Columns | None = None
) -> NDArray[np.float32]:
    """Return (T, C) values, one column per name, NaN where not observed; omit other variables."""
    columns = (kept or Columns()).of(recording.names, column_of)
    at = columns[recording.codes] if len(recording.codes) else np.empty(0, np.int64)
    out = np.full((len(recording), len(column_of)), np.nan, np.float32)
    is_known = at >= 0
    out[recording.row_numbers[is_known], at[is_known]] = recording.values[is_known]
    return out


def joined_rows(
    earlier: NDArray[np.float32],
    earlier_names: Sequence[str],
    later: NDArray[np.float32],
    names: Sequence[str],
) -> NDArray[np.float32]:
    """Return (n + m, C) earlier and later rows; NaN where a name was not known earlier."""
    at = {name: column for column, name in enumerate(names)}
    widened = np.full((len(earlier), len(names)), np.nan, np.float32)
    widened[:, [at[name] for name in earlier_names]] = earlier
    return np.concatenate([widened, later])


def follows_on(last_time: Any, step: float, times: NDArray[Any]) -> bool:
    """Tell whether times continue within a few steps after the reference's last time.

    Examples
    --------
    >>> follows_on(np.int64(9), 1.0, np.arange(10, 20)), follows_on(np.int64(9), 1.0, np.arange(5))
    (True, False)
    """
    if not len(times) or (np.asarray(last_time).dtype.kind == "M") != (times.dtype.kind == "M"):
        return False
    gap = float(np.asarray(times[0] - last_time).astype(np.float64))
    if times.dtype.kind == "M":
        gap /= 1e9
    return 0 < gap <= MOST_STEPS * step
