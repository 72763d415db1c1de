"""Buffer of observations, held until their rows are complete.

In: observations of one entity, nearly in order of time. Out: recordings of complete rows, strictly
in order of time, aligned to a grid if requested. An observation that comes too late is an error.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from smkc.errors import ReadError
from smkc.recording import Recording
from smkc.recording.gather import Piece, ordered
from smkc.recording.grid import on_grid
from smkc.recording.notes import Notes
from smkc.recording.times import show_time
from smkc.scale.source import Batch


def by_entity(batch: Batch) -> Iterator[tuple[str | None, Piece]]:
    """Yield each entity's rows of a batch, in the batch's order; None without entities."""
    piece = batch.piece
    if piece.entities is None:
        yield None, piece
        return
    order = np.argsort(piece.entities, kind="stable")
    place = np.empty(len(order), np.int64)
    place[order] = np.arange(len(order))
    rows = place[piece.rows]  # where each observation's row is, in that order
    by_row = np.argsort(rows, kind="stable")
    rows, codes, values = rows[by_row], piece.codes[by_row], piece.values[by_row]
    times, entities = piece.times[order], piece.entities[order]
    edges = np.flatnonzero(np.diff(entities)) + 1
    for first, last in zip([0, *edges], [*edges, len(entities)], strict=True):
        a, b = np.searchsorted(rows, [first, last])
        own = replace(
            piece,
            times=times[first:last],
            rows=rows[a:b] - first,
            codes=codes[a:b],
            values=values[a:b],
            entities=None,
        )
        yield batch.entities[entities[first]], own


class Held:
    """Buffer of the rows of one entity that are not complete yet.

    ``step`` is the grid to align rows to; None keeps their times.
    """

    def __init__(self, step: Any = None) -> None:
        self._step = step
        self._pieces: list[tuple[Piece, Sequence[str]]] = []  # with the names of variables
        self._last: Any = None  # the latest time, as read, of the rows returned so far
        self.size = 0  # number of observations plus rows that are held

    def add(self, part: Piece, names: Sequence[str], place: str) -> None:
        """Add observations; codes index ``names``, ``place`` names their origin in messages."""
        if not len(part.times):
            return
        known = self._pieces[0][0].times if self._pieces else self._last
        if known is not None and known.dtype.kind != part.times.dtype.kind:
            raise ReadError(
                f"times of {place} are {part.times.dtype}, those before it {known.dtype}; write "
                "them in the same form, or give their unit with time_unit"
            )
        late = part.times.min()
        if self._last is not None and not self._row_time(late) > self._row_time(self._last):
            raise ReadError(
                f"{place} has a row at {show_time(late)}, but rows up to {show_time(self._last)} "
                "have been scored: the source is not sorted by time well enough to be read in "
                "pieces. Sort it by time (within each entity), name files so that they sort by "
                "time, or hold more rows back with --held"
            )
        self._pieces.append((part, names))
        self.size += len(part.times) + len(part.values)

    def complete(self, keep: float) -> Recording | None:
        """Return rows in order of time, and keep the latest ones: the share ``keep`` of all held.

        At least the latest row is kept, since it may be incomplete. None if there are no rows to
        return.
        """
        if not self._pieces:
            return None
        recording = self._ordered()
        wanted = int(np.ceil(keep * recording.n_observations))
        n_done = int(
            np.searchsorted(recording.indptr[1:], recording.n_observations - wanted, side="right")
        )
        n_done = min(n_done, len(recording) - 1)
        if self._step is not None and n_done:
            n_done = self._whole_steps(recording.times, n_done)
        self._keep(recording.rows(n_done))
        return self._aligned(recording.rows(0, n_done)) if n_done else None

    def rest(self) -> Recording | None:
        """Return all rows that are left, after the last observation; None if there are none."""
        if not self._pieces:
            return None
        recording = self._ordered()
        self._keep(recording.rows(len(recording)))
        return self._aligned(recording)

    # ------------------------------------------------------------------ inside

    def _row_time(self, time: Any) -> Any:
        """Return the time of the row that an observation at ``time`` belongs to."""
        if self._step is None:
            return time
        return on_grid(_empty_rows(np.array([time])), self._step).times[0]

    def _whole_steps(self, times: NDArray[Any], n_done: int) -> int:
        """Return the number of rows in grid steps before the step of row ``n_done``."""
        start = self._row_time(times[n_done])
        if times.dtype.kind == "M":
            return int(np.searchsorted(times, start, side="left"))
        bins = np.floor_divide(times[: n_done + 1], self._step)
        return int(np.searchsorted(bins, bins[-1], side="left"))

    def _aligned(self, recording: Recording) -> Recording:
        """Align complete rows to the grid, continued from the last row returned."""
        before, self._last = self._last, recording.times[-1]
        if self._step is None:
            return recording
        if before is None:
            return on_grid(recording, self._step)
        anchor = _empty_rows(np.array([before]))
        return on_grid(Recording.concat([anchor, recording]), self._step).rows(1)

    def _ordered(self) -> Recording:
        """Join all pieces: one row per time; the last of duplicate observations is kept."""
        code_of: dict[str, int] = {}
        rows, codes, n_times = [], [], 0
        for part, names in self._pieces:
            used, compact = _distinct(part.codes, len(names))
            own = [code_of.setdefault(names[code], len(code_of)) for code in used]
            codes.append(np.array(own, np.int32)[compact])
            rows.append(part.rows + n_times)
            n_times += len(part.times)
        return ordered(
            np.concatenate([part.times for part, _ in self._pieces]),
            np.concatenate(rows),
            np.concatenate(codes),
            np.concatenate([part.values for part, _ in self._pieces]),
            tuple(code_of),
            Notes(),
        )

    def _keep(self, recording: Recording) -> None:
        self._pieces, self.size = [], 0
        if len(recording):
            piece = Piece(
                times=recording.times.copy(),
                rows=recording.row_numbers,
                codes=recording.codes.copy(),
                values=recording.values.copy(),
                entities=None,
                notes=recording.notes,
            )
            self._pieces = [(piece, recording.names)]
            self.size = len(piece.times) + len(piece.values)

    # ------------------------------------------------------------------ saving

    def to_arrays(self) -> tuple[dict[str, NDArray[Any]], dict[str, Any]]:
        """Return arrays and a JSON-able header from which :meth:`restore` continues exactly."""
        arrays: dict[str, NDArray[Any]] = {}
        header: dict[str, Any] = {}
        if self._last is not None:
            last = np.array([self._last])
            arrays["last"], header["time_type"] = last.view(np.int64), last.dtype.str
        if self._pieces:
            held = self._ordered()
            self._keep(held)
            arrays |= {"indptr": held.indptr, "codes": held.codes, "values": held.values}
            arrays["times"], header["held_type"] = held.times.view(np.int64), held.times.dtype.str
            header["names"] = list(held.names)
        return arrays, header

    def restore(self, arrays: Mapping[str, NDArray[Any]], header: Mapping[str, Any]) -> None:
        """Restore what :meth:`to_arrays` returned."""
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
    """Return the codes that occur, and (N,) the index among them of each observation's code."""
    if n_names > len(codes):  # few observations, many names: avoid a table of all names
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
