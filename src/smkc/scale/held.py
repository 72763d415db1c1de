"""Held: observations that may still be joined by others, until their rows are complete.

In: observations of one entity, nearly in order of time. Out: recordings of complete rows, strictly
in order of time, aligned to a grid if one is asked for; what comes too late is an error.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from smkc.errors import ReadError
from smkc.recording import Recording
from smkc.recording.grid import on_grid
from smkc.recording.times import show_time

__all__ = ["Held", "Slice"]


@dataclass(frozen=True, kw_only=True, eq=False)
class Slice:
    """Observations of one entity as they were read.

    Parameters
    ----------
    times
        (R,) when, a time for each row as read; a time may occur many times.
    rows
        (N,) the place in ``times`` that each observation belongs to.
    codes
        (N,) which variable, an index into ``names``.
    values
        (N,) what was read, finite.
    names
        (V,) names, perhaps more than occur here.
    """

    times: NDArray[Any]
    rows: NDArray[np.integer[Any]]
    codes: NDArray[np.int32]
    values: NDArray[np.float32]
    names: Sequence[str]


class Held:
    """Rows of one entity that are not complete yet.

    Parameters
    ----------
    step
        grid to align rows to; None leaves them at their times.
    """

    def __init__(self, step: Any = None) -> None:
        self._step = step
        self._slices: list[Slice] = []
        self._last: Any = None  # the latest time, as read, of what was given out
        self.size = 0  # observations, and rows as read, that are held

    def add(self, part: Slice, place: str) -> None:
        """Take more observations; ``place`` says in messages where they came from."""
        if not len(part.times):
            return
        known = self._slices[0].times if self._slices else self._last
        if known is not None and known.dtype.kind != part.times.dtype.kind:
            raise ReadError(
                f"times of {place} are {part.times.dtype}, those before it {known.dtype}; write "
                "them alike, or say what they count with time_unit"
            )
        late = part.times.min()
        if self._last is not None and not self._row_time(late) > self._row_time(self._last):
            raise ReadError(
                f"{place} has a row at {show_time(late)}, but rows up to {show_time(self._last)} "
                "have been scored: the source is not sorted by time well enough to be read in "
                "pieces. Sort it by time (within each entity), name files so that they sort by "
                "time, or hold more rows back with --held"
            )
        self._slices.append(part)
        self.size += len(part.times) + len(part.values)

    def complete(self, keep: float) -> Recording | None:
        """Give out rows in order of time, and keep the latest share of what is held.

        At least the latest row stays, which may not be complete; None if there is nothing to give.
        """
        if not self._slices:
            return None
        recording = self._ordered()
        wanted = int(np.ceil(keep * recording.n_observations))
        n_done = int(
            np.searchsorted(recording.indptr[1:], recording.n_observations - wanted, side="right")
        )
        return self._cut(recording, min(n_done, len(recording) - 1))

    def rest(self) -> Recording | None:
        """Give out all that is left; nothing comes after it."""
        if not self._slices:
            return None
        recording = self._ordered()
        self._keep(recording.rows(len(recording)))
        return self._aligned(recording)

    # ------------------------------------------------------------------ inside

    def _cut(self, recording: Recording, n_done: int) -> Recording | None:
        if self._step is not None and n_done:
            n_done = self._whole_steps(recording.times, n_done)
        self._keep(recording.rows(n_done))
        return self._aligned(recording.rows(0, n_done)) if n_done else None

    def _row_time(self, time: Any) -> Any:
        """Return the time of the row that an observation at ``time`` belongs to."""
        if self._step is None:
            return time
        return on_grid(_empty_rows(np.array([time])), self._step).times[0]

    def _whole_steps(self, times: NDArray[Any], n_done: int) -> int:
        """Return how many rows lie in steps before the one that row ``n_done`` lies in."""
        start = self._row_time(times[n_done])
        if times.dtype.kind == "M":
            return int(np.searchsorted(times, start, side="left"))
        bins = np.floor_divide(times[: n_done + 1], self._step)
        return int(np.searchsorted(bins, bins[-1], side="left"))

    def _aligned(self, recording: Recording) -> Recording:
        """Align complete rows to the grid, which goes on where it ended."""
        before, self._last = self._last, recording.times[-1]
        if self._step is None:
            return recording
        if before is None:
            return on_grid(recording, self._step)
        anchor = _empty_rows(np.array([before]))
        return on_grid(Recording.concat([anchor, recording]), self._step).rows(1)

    def _ordered(self) -> Recording:
        """Join all slices: one row for each time, the last of two like observations kept."""
        slices = self._slices
        code_of: dict[str, int] = {}
        codes = []
        for part in slices:
            used, compact = _distinct(part.codes, len(part.names))
            own = [code_of.setdefault(part.names[code], len(code_of)) for code in used]
            codes.append(np.array(own, np.int32)[compact])
        times = np.concatenate([part.times for part in slices])
        starts = np.cumsum([0] + [len(part.times) for part in slices[:-1]])
        rows = np.concatenate(
            [part.rows + start for part, start in zip(slices, starts, strict=True)]
        )
        if (times[1:] < times[:-1]).any():
            row_times, row_of = np.unique(times, return_inverse=True)
        else:
            is_new = np.ones(len(times), bool)
            is_new[1:] = times[1:] != times[:-1]
            row_times, row_of = times[is_new], np.cumsum(is_new) - 1
        return Recording.from_observations(
            row_times,
            row_of[rows],
            np.concatenate(codes),
            np.concatenate([part.values for part in slices]),
            tuple(code_of),
        )

    def _keep(self, recording: Recording) -> None:
        self._slices, self.size = [], 0
        if len(recording):
            self._slices = [
                Slice(
                    times=recording.times.copy(),
                    rows=recording.row_numbers,
                    codes=recording.codes.copy(),
                    values=recording.values.copy(),
                    names=recording.names,
                )
            ]
            self.size = len(recording.times) + len(recording.values)

    # ------------------------------------------------------------------ saving

    def to_arrays(self) -> tuple[dict[str, NDArray[Any]], dict[str, Any]]:
        """Return arrays and a JSON-able header from which :meth:`restore` goes on exactly."""
        arrays: dict[str, NDArray[Any]] = {}
        header: dict[str, Any] = {}
        if self._last is not None:
            last = np.array([self._last])
            arrays["last"], header["time_type"] = last.view(np.int64), last.dtype.str
        if self._slices:
            held = self._ordered()
            self._keep(held)
            arrays |= {"indptr": held.indptr, "codes": held.codes, "values": held.values}
            arrays["times"], header["held_type"] = held.times.view(np.int64), held.times.dtype.str
            header["names"] = list(held.names)
        return arrays, header

    def restore(self, arrays: Mapping[str, NDArray[Any]], header: Mapping[str, Any]) -> None:
        """Take over what :meth:`to_arrays` gave."""
        if "time_type" in header:
            self._last = arrays["last"].view(header["time_type"])[0]
        if "names" in header:
            self._keep(
                Recording(
                    arrays["times"].view(header["held_type"]),
                    arrays["indptr"],
                    arrays["codes"],
                    arrays["values"],
                    tuple(header["names"]),
                )
            )


def _distinct(codes: NDArray[np.int32], n_names: int) -> tuple[list[int], NDArray[Any]]:
    """Return the codes that occur, and (N,) which of them each observation has."""
    if n_names > len(codes):  # few observations of many names: a table would be larger than they
        used, compact = np.unique(codes, return_inverse=True)
        return used.tolist(), compact
    occurs = np.bincount(codes, minlength=n_names) > 0
    return np.flatnonzero(occurs).tolist(), (np.cumsum(occurs) - 1)[codes]


def _empty_rows(times: NDArray[Any]) -> Recording:
    return Recording(
        times,
        np.zeros(len(times) + 1, np.int64),
        np.empty(0, np.int32),
        np.empty(0, np.float32),
        (),
    )
