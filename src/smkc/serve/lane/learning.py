"""Learning: how long a lane takes yet until its first model, and what would shorten that.

In: a watch's settings and how many rows there are. Out: a sentence.
"""

from smkc.serve.config import WatchConfig, show_duration

__all__ = ["about", "time_left"]

# Steps that are proposed instead of a longer one, in milliseconds.
STEPS = (1_000, 2_000, 5_000, 10_000, 15_000, 30_000, 60_000, 300_000)

# Fewer rows to learn from are not proposed.
MIN_ROWS_PROPOSED = 60


def time_left(watch: WatchConfig, rows: int, needed: int) -> str:
    """Say how long it takes until there are rows enough, and with which settings it takes less.

    Parameters
    ----------
    watch
        whose settings hold.
    rows, needed
        how many there are, and at how many a model is fitted.

    Examples
    --------
    >>> watch = WatchConfig(name="shop", query="up", step=15_000)
    >>> time_left(watch, 60, 240)
    'about 45 min more, as Prometheus holds only 15 min; min_rows = 120: 15 min, step = "5s": 5 min'
    >>> time_left(watch, 240, 240)
    ''
    """
    held, left = rows * watch.step, (needed - rows) * watch.step
    if left <= 0:
        return ""
    is_pulled = watch.source == "prometheus"
    why = f", as Prometheus holds only {about(held)}" if is_pulled and rows else ""
    sooner = []
    fewer = needed // 2
    if needed == watch.min_rows and fewer >= MIN_ROWS_PROPOSED:
        sooner.append(f"min_rows = {fewer}: {_when((fewer - rows) * watch.step)}")
    finer = max((step for step in STEPS if 2 * step <= watch.step), default=0)
    if finer and is_pulled and watch.has_own_step:  # else it is that of the scrapes already
        sooner.append(f'step = "{show_duration(finer)}": {_when(needed * finer - held)}')
    hints = f"; {', '.join(sooner)}" if sooner else ""
    return f"about {about(left)} more{why}{hints}"


def about(milliseconds: int) -> str:
    """Write how long something takes: seconds, then minutes, then hours.

    Examples
    --------
    >>> about(15_000), about(180_000), about(36_000_000)
    ('15 s', '3 min', '10 h')
    """
    for unit, size in (("h", 3_600_000), ("min", 60_000)):
        if milliseconds >= 2 * size:
            return f"{round(milliseconds / size)} {unit}"
    return f"{max(1, round(milliseconds / 1000))} s"


def _when(milliseconds: int) -> str:
    return about(milliseconds) if milliseconds > 0 else "at once"
