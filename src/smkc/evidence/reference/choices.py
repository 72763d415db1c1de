"""Choices: window, block, quarantine and memory, found from the reference, each with its reason.

In: a reference recording. Out: numbers of rows, and a sentence on each.
"""

from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from smkc.errors import SettingError
from smkc.recording import Recording

__all__ = ["Choices", "choose"]

# A window of w rows over C variables has w C entries; the reference should have twice as many rows,
# or its windows are too far apart to be neighbours. Longer than 8 rows brought nothing.
ROWS_AN_ENTRY = 2
LONGEST = 8

# The rest is measured in windows. A block is the delay after which normal rows join; a state that
# lasts as long as the quarantine is no fault; the memory is some quarantines long.
BLOCK, QUARANTINE, MEMORY = 8, 50, 128
LEAST_MEMORY = 512

# A season is looked for among lags up to a third of the reference; a peak of the autocorrelation
# below this is none.
LEAST_SEASONS, LEAST_CORRELATION = 3, 0.3


@dataclass(frozen=True, kw_only=True)
class Choices:
    """What was chosen, in rows, and why.

    Parameters
    ----------
    window
        w, rows a window.
    block
        rows between two updates of what is normal, and the delay after which a row joins.
    quarantine
        rows that a new state must last before it counts as normal.
    memory
        rows of the recording that are remembered.
    season
        the period found, in rows; 0 if none was.
    step
        time between rows, in seconds for dates, else in units of the recording's times.
    reasons
        a sentence on each.
    """

    window: int
    block: int
    quarantine: int
    memory: int
    season: int = 0
    step: float = 1.0
    reasons: tuple[str, ...] = field(default=(), compare=False)


def choose(reference: Recording, rows: NDArray[np.float32], window: int | str = "auto") -> Choices:
    """Choose from a reference and its scaled rows (n, C); a window in rows may be given.

    Examples
    --------
    >>> reference = Recording.from_rows(range(64), [{"cpu": t % 8} for t in range(64)])
    >>> choose(reference, np.zeros((64, 4), np.float32)).window
    8
    """
    n, n_variables = rows.shape
    reasons = []
    if window == "auto":
        w = int(np.clip(n / (ROWS_AN_ENTRY * max(n_variables, 1)), 1, LONGEST))
        reasons.append(
            f"windows of {w} rows: the reference has {n} rows for {n_variables} variables, and at "
            f"least {ROWS_AN_ENTRY} rows an entry of a window are wanted, at most {LONGEST} rows"
        )
    elif isinstance(window, int) and window >= 1:
        w = window
        reasons.append(f"windows of {w} rows, as asked for")
    else:
        raise SettingError(f"window={window!r} is no number of rows; give 1 or more, or 'auto'")
    step = _step(reference)
    season = _season(rows)
    unit = " s" if reference.times.dtype.kind == "M" else ""
    reasons.append(f"a step of {step:g}{unit}, the median between the reference's rows")
    quarantine = QUARANTINE * w
    if season:
        reasons.append(f"a season of {season} rows, the highest peak of the autocorrelation")
    reasons.append(
        f"quarantine of {quarantine} rows: {QUARANTINE} windows, longer than faults should last"
    )
    memory = max(MEMORY * w, LEAST_MEMORY)
    reasons.append(f"a memory of {memory} rows beside the reference")
    return Choices(
        window=w,
        block=max(BLOCK * w, BLOCK),
        quarantine=quarantine,
        memory=memory,
        season=season,
        step=step,
        reasons=tuple(reasons),
    )


def _step(reference: Recording) -> float:
    if len(reference) < 2:
        return 1.0
    gaps = np.diff(reference.times)
    scale = 1e9 if reference.times.dtype.kind == "M" else 1.0
    return float(np.median(gaps.astype(np.float64))) / scale


def _season(rows: NDArray[np.float32]) -> int:
    """Return the period that most variables share, 0 if there is none."""
    n = len(rows)
    if n < 4 * LEAST_SEASONS:
        return 0
    filled = np.nan_to_num(rows.astype(np.float64))
    filled -= filled.mean(axis=0)
    moving = filled[:, filled.std(axis=0) > 1e-6]
    if not moving.shape[1]:
        return 0
    spectrum = np.abs(np.fft.rfft(moving, 1 << (2 * n).bit_length(), axis=0)) ** 2
    covariance = np.fft.irfft(spectrum, axis=0)[: n // LEAST_SEASONS + 1]
    counted = n / (n - np.arange(len(covariance)))  # products at a lag become fewer
    correlation = np.median(covariance / covariance[0], axis=1) * counted
    # Past the first fall below zero: before that the lag is short, not a period.
    below = np.flatnonzero(correlation < 0)
    if not len(below):
        return 0
    first = int(below[0])
    at = first + int(np.argmax(correlation[first:]))
    is_inside = first < at < len(correlation) - 1
    return at if is_inside and correlation[at] >= LEAST_CORRELATION else 0
