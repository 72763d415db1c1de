"""Choices: window, block and memory, found from the reference, each with its reason.

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

# Windows of a block, and of the latest rows that are remembered; rows of these at least.
BLOCK_WINDOWS, MEMORY_WINDOWS, MIN_MEMORY_ROWS = 8, 128, 512


@dataclass(frozen=True, kw_only=True)
class Choices:
    """What was chosen, in rows, and why.

    Parameters
    ----------
    window
        w, rows a window.
    block
        rows between two updates of what newcomers usually do.
    memory
        rows of the recording that are remembered, so that they can be explained.
    step
        time between rows, in seconds for dates, else in units of the recording's times.
    reasons
        a sentence on each.
    """

    window: int
    block: int
    memory: int
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
        if window > n:
            raise SettingError(
                f"window={window:,} is longer than the reference of {n:,} rows; give fewer rows, "
                "or leave it out"
            )
        w = window
        reasons.append(f"windows of {w} rows, as asked for")
    else:
        raise SettingError(f"window={window!r} is no number of rows; give 1 or more, or 'auto'")
    step = _step(reference)
    unit = " s" if reference.times.dtype.kind == "M" else ""
    reasons.append(f"a step of {step:g}{unit}, the median between the reference's rows")
    memory = max(MEMORY_WINDOWS * w, MIN_MEMORY_ROWS)
    reasons.append(f"the latest {memory} rows can be explained")
    return Choices(
        window=w,
        block=BLOCK_WINDOWS * w,
        memory=memory,
        step=step,
        reasons=tuple(reasons),
    )


def _step(reference: Recording) -> float:
    if len(reference) < 2:
        return 1.0
    gaps = np.diff(reference.times)
    scale = 1e9 if reference.times.dtype.kind == "M" else 1.0
    return float(np.median(gaps.astype(np.float64))) / scale
