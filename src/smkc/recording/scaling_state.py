"""State of the scaling at one moment of a recording, advanced row by row.

In: rows in order of time. Out: the same rows with scaled values, which depend on that row and the
rows before it only.
"""

from collections.abc import Mapping, Sequence
from math import isfinite
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from smkc.errors import InputError, ModelFileError
from smkc.recording._loops import KNOWN, scale_rows
from smkc.recording.counters import clock
from smkc.recording.recording import Recording

if TYPE_CHECKING:
    from smkc.recording.scaling import Scaling

KEPT_AFTER_FORGETTING = 0.75  # share of max_variables; forgetting many at once costs less
SLOTS_A_VARIABLE = 2  # slots in use, per max_variables, above which unused ones are dropped

_OF_ALL = ("last_value", "last_clock", "seen")
_OF_FOLLOWED = ("count", "centre", "spread")


class Newcomer(NamedTuple):
    """What is assumed about an unsettled variable before its first observation."""

    prior: float  # the family's spread, 0 if not known
    is_counter: bool


class ScalingState:
    """State of the scaling at one moment; made by :meth:`smkc.recording.Scaling.start`.

    It remembers at most ``max_variables`` unsettled variables; above that, the least recently seen
    are forgotten, except those of the latest row. Variables last seen in the same row are forgotten
    together.
    """

    def __init__(self, scaling: "Scaling") -> None:
        self._scaling = scaling
        self._n_settled = len(scaling.names)
        self._table = _forgotten(np.zeros(self._n_settled, KNOWN))
        self._table["settled"] = True
        self._table["centre"] = scaling.centre
        self._table["spread"] = scaling.spread
        self._table["counter"] = scaling.counter
        self._slot_of = {name: slot for slot, name in enumerate(scaling.names)}  # in order
        self._dated = scaling.dated
        self._max_variables = scaling.max_variables
        self._n_followed = 0
        self._tick = 0
        self._origin: int | float | None = None

    def scale(self, recording: Recording) -> Recording:
        """Scale a recording's rows in order, and advance the state past its last row.

        A counter's first reading has no rate: that observation is left out.
        """
        return self.scale_both(recording)[0]

    def scale_both(self, recording: Recording) -> tuple[Recording, NDArray[np.float32]]:
        """Scale a recording's rows; also return (N,) unscaled values, counters as rates."""
        if len(recording) == 0:
            return recording, recording.values
        clocks = self._clocks(recording.times)
        slot_of = self._slots(recording.names)
        scaled = np.empty(recording.n_observations, np.float32)
        plain = np.empty(recording.n_observations, np.float32)
        row = 0
        while row < len(recording):
            next_row, newcomers = scale_rows(
                self._table,
                clocks,
                recording.indptr,
                recording.codes,
                slot_of,
                recording.values,
                row,
                self._tick,
                self._scaling.clip,
                self._max_variables - self._n_followed,
                scaled,
                plain,
            )
            self._advance(next_row - row, newcomers)
            row = next_row
        self._release()
        return recording.with_values(scaled), plain[~np.isnan(scaled)]

    def _slots(self, names: Sequence[str]) -> NDArray[np.int64]:
        """Return the slot of each variable, new ones for unknown variables."""
        try:
            return np.fromiter(map(self._slot_of.__getitem__, names), np.int64, len(names))
        except KeyError:
            pass
        unknown = [name for name in dict.fromkeys(names) if name not in self._slot_of]
        n_slots = len(self._slot_of) + len(unknown)
        if n_slots > len(self._table):
            n_more = max(n_slots, 2 * len(self._table), 64) - len(self._table)
            self._table = np.append(self._table, _forgotten(np.zeros(n_more, KNOWN)))
        priors, counters = self._table["prior"], self._table["counter"]
        for name in unknown:
            slot = self._slot_of[name] = len(self._slot_of)
            priors[slot], counters[slot] = self._scaling.newcomer(name)
        return np.fromiter(map(self._slot_of.__getitem__, names), np.int64, len(names))

    # ------------------------------------------------------------------ saving

    def to_arrays(self) -> tuple[dict[str, NDArray[Any]], dict[str, Any]]:
        """Return arrays and a JSON-able header from which :meth:`restore` continues exactly."""
        followed = self._followed()
        slots = np.concatenate([np.arange(self._n_settled), followed])
        arrays = {key: self._table[key][slots] for key in _OF_ALL}
        arrays |= {key: self._table[key][followed] for key in _OF_FOLLOWED}
        names = list(self._slot_of)
        header = {
            "settled": self._n_settled,
            "names": [names[slot] for slot in followed],
            "tick": self._tick,
            "origin": self._origin,
            "dated": self._dated,
        }
        return arrays, header

    def restore(self, arrays: Mapping[str, NDArray[Any]], header: Mapping[str, Any]) -> None:
        """Restore what :meth:`to_arrays` returned; only on a state that has scaled nothing yet."""
        _require(self._tick == 0, "this state has already scaled rows")
        try:
            names, tick, origin = header["names"], header["tick"], header["origin"]
            same = header["settled"] == self._n_settled and header["dated"] == self._dated
            columns = {key: np.asarray(arrays[key]) for key in _OF_ALL + _OF_FOLLOWED}
        except (KeyError, TypeError) as error:
            _require(False, f"it lacks {error}")
        _require(same, "it was saved by another model")
        _require(_are_new_names(names, self._slot_of), "its variables do not fit this model")
        _require(isinstance(tick, int) and tick >= 0, f"{tick!r} is no number of rows")
        _require(_is_number(origin) or (origin is None and tick == 0), f"{origin!r} is no time")
        slots = self._slots(names)
        all_slots = np.concatenate([np.arange(self._n_settled), slots])
        for key, column in columns.items():
            n_slots = len(all_slots) if key in _OF_ALL else len(slots)
            _require(
                column.shape == (n_slots,) and column.dtype == KNOWN[key],
                f"{key} is {column.dtype} {column.shape}, not {KNOWN[key]} ({n_slots},)",
            )
            finite = np.isfinite(column) | (key == "last_clock")
            _require(bool(finite.all()), f"{key} is not finite")
        seen, spread = columns["seen"], columns["spread"]
        _require(bool((seen < max(tick, 1)).all()), "a variable was seen in the future")
        _require(bool((seen[self._n_settled :] >= 0).all()), "a variable was never seen")
        _require(
            bool((spread >= 0).all() and (columns["count"] >= 0).all()), "a spread is negative"
        )
        for key, column in columns.items():
            self._table[key][all_slots if key in _OF_ALL else slots] = column
        self._n_followed, self._tick, self._origin = len(names), tick, origin

    # ------------------------------------------------------------------ inside

    def _clocks(self, times: NDArray[Any]) -> NDArray[np.float64]:
        if (times.dtype.kind == "M") != self._dated:
            ours, theirs = ("dates", "plain numbers") if self._dated else ("plain numbers", "dates")
            raise InputError(
                f"the reference data had {ours} as times, these rows have {theirs}, so rates "
                "cannot be compared; read both with the same time_unit"
            )
        if self._origin is None:
            first = times[:1].astype("datetime64[ns]").astype(np.int64) if self._dated else times
            self._origin = first[0].item()
        assert self._origin is not None
        origin = np.datetime64(int(self._origin), "ns") if self._dated else self._origin
        return clock(times, origin)

    def _advance(self, n_rows: int, newcomers: int) -> None:
        self._tick += n_rows
        self._n_followed += newcomers
        if self._n_followed > self._max_variables:
            self._forget()

    def _followed(self) -> NDArray[np.int64]:
        """Return the slots of the unsettled variables that are remembered."""
        return np.flatnonzero(~self._table["settled"] & (self._table["seen"] >= 0))

    def _forget(self) -> None:
        """Forget the least recently seen unsettled variables, but none of the latest row."""
        followed = self._followed()
        seen = self._table["seen"][followed]
        n_forgotten = len(followed) - int(KEPT_AFTER_FORGETTING * self._max_variables)
        newest = int(np.partition(seen, n_forgotten - 1)[n_forgotten - 1])
        latest_row = self._tick - 1
        forgotten = followed[seen <= min(newest, latest_row - 1)]
        self._table[forgotten] = _forgotten(self._table[forgotten])
        self._n_followed -= len(forgotten)

    def _release(self) -> None:
        """Drop forgotten variables if there are too many; the slots of the others change."""
        n_unsettled = len(self._slot_of) - self._n_settled
        if n_unsettled <= SLOTS_A_VARIABLE * self._max_variables:
            return
        is_kept = self._table["settled"] | (self._table["seen"] >= 0)
        kept = [name for name, slot in self._slot_of.items() if is_kept[slot]]
        self._table = self._table[is_kept]
        self._slot_of = {name: slot for slot, name in enumerate(kept)}


def _require(holds: bool, what: str) -> None:
    if not holds:
        raise ModelFileError(
            f"the scaling state cannot be restored: {what}; start the stream afresh"
        )


def _is_number(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and isfinite(value)


def _are_new_names(names: object, known: Mapping[str, int]) -> bool:
    return (
        isinstance(names, list)
        and all(isinstance(name, str) and name not in known for name in names)
        and len(set(names)) == len(names)
    )


def _forgotten(table: NDArray[Any]) -> NDArray[Any]:
    """Reset the table to the state before the first observation of its variables."""
    table["count"] = 0
    table["last_clock"] = np.nan
    table["seen"] = -1
    return table
