"""Choices: window, block and memory, chosen from the reference, each with its reason.

In: a reference recording. Out: numbers of rows, and a sentence on the reasons.
"""

from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from smkc.errors import SettingError
from smkc.evidence.settings import SETTINGS
from smkc.recording import Recording

# Lengths of a block and of the memory in windows, and lower limit for the memory in rows.
BLOCK_WINDOWS, MEMORY_WINDOWS, MIN_MEMORY_ROWS = 8, 128, 512


@dataclass(frozen=True, kw_only=True)
class Choices:
    """The chosen numbers of rows, and the reasons.

    Parameters
    ----------
    window
        w, rows per window.
    block
        rows per scored block, after which successors of vanished variables are decided; the usual
        jumps of newcomers are updated every 2 blocks.
    memory
        number of latest rows that are remembered, so that they can be explained.
    step
        time between rows, in seconds for dates, else in units of the recording's times.
    reasons
        one sentence per choice.
    """

    window: int
    block: int
    memory: int
    step: float = 1.0
    reasons: tuple[str, ...] = field(default=(), compare=False)


def choose(reference: Recording, rows: NDArray[np.float32], window: int | str = "auto") -> Choices:
    """Return the choices for a reference with scaled rows (n, C); ``window`` may be given in rows.

    Examples
    --------
    >>> reference = Recording.from_rows(range(64), [{"cpu": t % 8} for t in range(64)])
    >>> choose(reference, np.zeros((64, 4), np.float32)).window
    8
    """
    n, n_variables = rows.shape
    reasons = []
    if window == "auto":
        # Otherwise the reference's windows are too far apart to be neighbours.
        per_entry, most = SETTINGS.rows_per_entry, SETTINGS.window_rows
        w = int(np.clip(n / (per_entry * max(n_variables, 1)), 1, most))
        reasons.append(
            f"windows of {w} rows: the reference has {n} rows for {n_variables} variables, and at "
            f"least {per_entry} rows per entry of a window are wanted, at most {most} rows"
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
