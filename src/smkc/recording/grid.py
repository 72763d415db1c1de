"""Grid: a recording -> the same recording in steps of equal length.

In: a recording and a step. Out: a recording with one row per step from the first to the last; a
row holds each variable's last value in the step, and is empty if nothing was observed.
"""

import re
from dataclasses import replace
from datetime import timedelta
from typing import Any

import numpy as np

from smkc.errors import SettingError
from smkc.recording.recording import Recording
from smkc.recording.times import show_time

Step = str | int | float | timedelta | np.timedelta64

MAX_GRID_ROWS = 20_000_000
"""Maximum number of rows. More are refused as a mistake in the step; 20 million take 320 MB."""

NANOSECONDS = {
    **{"ns": 1, "us": 10**3, "ms": 10**6, "s": 10**9},
    **{"m": 60 * 10**9, "min": 60 * 10**9, "h": 3600 * 10**9, "d": 86_400 * 10**9},
}
DURATION = re.compile(r"\s*(\d+(?:\.\d+)?)\s*(ns|us|ms|s|min|m|h|d)\s*")


def on_grid(recording: Recording, step: Step) -> Recording:
    """Align a recording to multiples of a step.

    An observation at time t goes to the row at ``floor(t / step) * step``; if a row gets several
    of one variable, the latest is kept.

    Examples
    --------
    >>> rec = Recording.from_rows([1, 4, 6, 17], [{"a": 1}, {"a": 2}, {"b": 3}, {"a": 4}])
    >>> grid = on_grid(rec, 5)
    >>> grid.times, [grid.row(t) for t in range(len(grid))]
    (array([ 0,  5, 10, 15]), [{'a': 2.0}, {'b': 3.0}, {}, {'a': 4.0}])
    """
    times = recording.times
    width = _width(step, times.dtype)
    if not len(times):
        return recording
    ticks = times.view(np.int64) if times.dtype.kind == "M" else times
    with np.errstate(over="ignore", invalid="ignore"):
        bins = np.floor_divide(ticks, width)
    first, last = bins[0], bins[-1]
    n_rows = float(last) - float(first) + 1
    if not n_rows <= MAX_GRID_ROWS:
        raise SettingError(
            f"step={step!r} from {show_time(times[0])} to {show_time(times[-1])} makes "
            f"{n_rows:.4g} rows, more than {MAX_GRID_ROWS:,}; choose a longer step, read a shorter "
            "part, or leave out times that are far from the others"
        )
    rows = (bins - first).astype(np.int64)
    steps = np.arange(int(n_rows), dtype=bins.dtype)
    grid: Any = (steps + first) * width
    if times.dtype.kind == "M":
        grid = grid.view(times.dtype)
    aligned = Recording.from_observations(
        grid, rows[recording.row_numbers], recording.codes, recording.values, recording.names
    )
    return replace(aligned, notes=recording.notes)


def _width(step: Step, dtype: np.dtype[Any]) -> Any:
    """Return the step in the unit of the times: nanoseconds, or plain numbers."""
    if dtype.kind != "M":
        if isinstance(step, str | timedelta | np.timedelta64 | bool):
            raise SettingError(
                f"step={step!r} is a duration, but the times are plain numbers; give a number, "
                "or say what the times count with time_unit='s', 'ms', 'us' or 'ns'"
            )
        _require_positive(step, float(step))
        is_whole = dtype.kind == "i" and float(step).is_integer()
        return np.int64(step) if is_whole else np.float64(step)
    if isinstance(step, str) and (found := DURATION.fullmatch(step)):
        nanoseconds = float(found[1]) * NANOSECONDS[found[2]]
    elif isinstance(step, np.timedelta64):
        nanoseconds = float(step / np.timedelta64(1, "ns"))
    elif isinstance(step, timedelta):
        nanoseconds = float(step / timedelta(microseconds=1)) * 1e3
    else:
        raise SettingError(
            f"step={step!r} is no duration, but the times are dates; "
            "write it like '15s', '500ms', '1m', '2h' or '1d', or give a timedelta"
        )
    _require_positive(step, nanoseconds)
    return np.int64(max(1, round(nanoseconds)))


def _require_positive(step: Step, width: float) -> None:
    if not 0 < width < 2**62:
        raise SettingError(f"step={step!r} is not above 0 or too long; choose another")
