"""ScalingState: what scaling knows at one moment of a recording, advanced row by row.

In: rows in order of time, as a recording or one at a time. Out: the same rows with scaled values;
a row's values depend on that row and the rows before it alone.
"""

from collections.abc import Callable, Mapping, Sequence
from math import isfinite
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from smkc.errors import InputError, ModelFileError
from smkc.recording._loops import KNOWN, scale_row, scale_rows
from smkc.recording.counters import clock
from smkc.recording.recording import Recording

__all__ = ["Newcomer", "ScalingState"]

KEPT_AFTER_FORGETTING = 0.75  # of max_variables: forgetting costs little a variable
SLOTS_A_VARIABLE = 2  # forgotten variables keep their slots until there are this many

_OF_ALL = ("last_value", "last_clock", "seen")
_OF_FOLLOWED = ("count", "centre", "spread")


class Newcomer(NamedTuple):
    """What is assumed of a variable that the reference data did not settle."""

    prior: float  # the family's spread, 0 if not known
    is_counter: bool


class ScalingState:
    """What scaling knows at one moment; made by :meth:`smkc.recording.Scaling.start`.

    Parameters
    ----------
    settled
        (S,) table of the variables that the reference data settled.
    names
        (S,) their identifiers.
    newcomer
        what is assumed of any other variable.
    dated
        whether times are dates (rates are then a second) or plain numbers.
    clip
        the largest scaled value.
    max_variables
        how many unsettled variables are remembered; past that, the least recently seen are
        forgotten, whole rows at a time. Those of the latest row are never forgotten.

    Examples
    --------
    >>> from smkc.recording import Scaling
    >>> reference = Recording.from_rows(range(64), [{"cpu": t % 8} for t in range(64)])
    >>> state = Scaling.fit(reference).start()
    >>> slots = state.slots(["cpu", "mem"])
    >>> state.scale_row(64, slots, np.array([3.5, 0.7]))
    array([0., 0.], dtype=float32)
    """

    def __init__(
        self,
        settled: NDArray[Any],
        names: Sequence[str],
        newcomer: Callable[[str], Newcomer],
        *,
        dated: bool,
        clip: float,
        max_variables: int,
    ) -> None:
        self._table = settled.copy()
        self._n_settled = len(settled)
        self._names: list[str | None] = list(names)  # by slot, None where a slot is free
        self._slot_of: dict[str, int] = {name: slot for slot, name in enumerate(names)}
        self._free: list[int] = []
        self._newcomer = newcomer
        self._dated = dated
        self._clip = float(clip)
        self._max_variables = max_variables
        self._n_followed = 0
        self._tick = 0
        self._origin: int | float | None = None
        self._generation = 0

    # ------------------------------------------------------------------ whole recordings

    def scale(self, recording: Recording) -> Recording:
        """Scale a recording's rows in order; the state then stands after its last row.

        A counter's first reading has no rate: that observation is left out.
        """
        return self.scale_both(recording)[0]

    def scale_both(self, recording: Recording) -> tuple[Recording, NDArray[np.float32]]:
        """Scale a recording's rows; also return (N,) the values before, counters as rates."""
        if len(recording) == 0:
            return recording, recording.values
        clocks = self._clocks(recording.times)
        slot_of = self.slots(recording.names)
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
                self._clip,
                self._max_variables - self._n_followed,
                scaled,
                plain,
            )
            self._advance(next_row - row, newcomers)
            row = next_row
        self._release()
        return _with_values(recording, scaled), plain[~np.isnan(scaled)]

    # ------------------------------------------------------------------ one row at a time

    @property
    def generation(self) -> int:
        """A number that changes when a scaled row made slots given out before it invalid."""
        return self._generation

    def slots(self, names: Sequence[str]) -> NDArray[np.int64]:
        """Return the slot of each variable; unknown ones get one. Valid for one generation."""
        try:
            return np.fromiter(map(self._slot_of.__getitem__, names), np.int64, len(names))
        except KeyError:
            pass
        unknown = [name for name in dict.fromkeys(names) if name not in self._slot_of]
        self._grow(len(unknown) - len(self._free))
        for name in unknown:
            self._add(name)
        return np.fromiter(map(self._slot_of.__getitem__, names), np.int64, len(names))

    def scale_row(
        self, time: Any, slots: NDArray[np.int64], values: NDArray[np.floating[Any]]
    ) -> NDArray[np.float32]:
        """Scale one row, each slot at most once; NaN for what counts as not observed.

        ``time`` is a datetime64[ns] or a number, as the recording's times are; ``values`` are
        rounded to float32 first, as in a recording, and not observed where not finite.
        """
        scaled = np.empty(len(slots), np.float32)
        at = self._clock(time)
        newcomers = scale_row(self._table, at, slots, values, self._tick, self._clip, scaled)
        self._advance(1, newcomers)
        self._release()
        return scaled

    # ------------------------------------------------------------------ saving

    def to_arrays(self) -> tuple[dict[str, NDArray[Any]], dict[str, Any]]:
        """Return arrays and a JSON-able header from which :meth:`restore` goes on exactly."""
        followed = self._followed()
        slots = np.concatenate([np.arange(self._n_settled), followed])
        arrays = {key: self._table[key][slots] for key in _OF_ALL}
        arrays |= {key: self._table[key][followed] for key in _OF_FOLLOWED}
        header = {
            "settled": self._n_settled,
            "names": [self._names[slot] for slot in followed],
            "tick": self._tick,
            "origin": self._origin,
            "dated": self._dated,
        }
        return arrays, header

    def restore(self, arrays: Mapping[str, NDArray[Any]], header: Mapping[str, Any]) -> None:
        """Take over what :meth:`to_arrays` gave; only on a state that has scaled nothing yet."""
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
        slots = self.slots(names)
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

    def _clock(self, time: Any) -> float:
        if isinstance(time, np.datetime64) != self._dated:
            raise self._other_times()
        number = time.astype("datetime64[ns]").astype(np.int64).item() if self._dated else time
        if self._origin is None:
            self._origin = number.item() if isinstance(number, np.generic) else number
        elapsed = float(number - self._origin)
        return elapsed / 1e9 if self._dated else elapsed

    def _clocks(self, times: NDArray[Any]) -> NDArray[np.float64]:
        if (times.dtype.kind == "M") != self._dated:
            raise self._other_times()
        if self._origin is None:
            self._clock(times[0])
        assert self._origin is not None
        origin = np.datetime64(int(self._origin), "ns") if self._dated else self._origin
        return clock(times, origin)

    def _other_times(self) -> InputError:
        ours, theirs = ("dates", "plain numbers") if self._dated else ("plain numbers", "dates")
        return InputError(
            f"the reference data had {ours} as times, these rows have {theirs}, so rates cannot "
            "be compared; read both with the same time_unit"
        )

    def _advance(self, n_rows: int, newcomers: int) -> None:
        self._tick += n_rows
        self._n_followed += newcomers
        if self._n_followed > self._max_variables:
            self._forget()

    def _followed(self) -> NDArray[np.int64]:
        """Slots of the unsettled variables that are remembered."""
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
        """Free the slots of forgotten variables once there are many."""
        n_unsettled = len(self._slot_of) - self._n_settled
        if n_unsettled <= SLOTS_A_VARIABLE * self._max_variables:
            return
        unused = ~self._table["settled"] & (self._table["seen"] < 0)
        for slot in np.flatnonzero(unused[: len(self._names)]).tolist():
            name = self._names[slot]
            if name is not None:
                del self._slot_of[name]
                self._names[slot] = None
                self._free.append(slot)
        self._generation += 1

    def _grow(self, n_more: int) -> None:
        needed = len(self._names) + n_more
        if needed > len(self._table):
            table = _empty_table(max(needed, 2 * len(self._table), 64))
            table[: len(self._table)] = self._table
            self._table = table

    def _add(self, name: str) -> None:
        prior, is_counter = self._newcomer(name)
        if self._free:
            slot = self._free.pop()
            self._names[slot] = name
        else:
            slot = len(self._names)
            self._names.append(name)
        self._slot_of[name] = slot
        self._table[slot]["prior"] = prior
        self._table[slot]["counter"] = is_counter


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


def _empty_table(n_slots: int) -> NDArray[Any]:
    return _forgotten(np.zeros(n_slots, KNOWN))


def _forgotten(table: NDArray[Any]) -> NDArray[Any]:
    """Return the table as before the first observation of its variables."""
    table["count"] = 0
    table["last_clock"] = np.nan
    table["seen"] = -1
    return table


def _with_values(recording: Recording, values: NDArray[np.float32]) -> Recording:
    """Return the same observations with other values, without those that are NaN."""
    kept = ~np.isnan(values)
    if kept.all():
        return recording.with_values(values)
    counts = np.concatenate([[0], np.cumsum(kept, dtype=np.int64)])
    return Recording(
        recording.times,
        counts[recording.indptr],
        recording.codes[kept],
        values[kept],
        recording.names,
        recording.notes,
    )
