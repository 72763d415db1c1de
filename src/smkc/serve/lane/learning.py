"""Learning: the time left until a lane's first model, and settings that would shorten it.

In: a watch's settings and the number of rows so far. Out: a sentence.
"""

from smkc.serve.config import WatchConfig, show_duration

# Steps, in milliseconds, that are proposed instead of a longer one.
STEPS = (1_000, 2_000, 5_000, 10_000, 15_000, 30_000, 60_000, 300_000)

# A min_rows below this is not proposed.
MIN_ROWS_PROPOSED = 60


def time_left(watch: WatchConfig, rows: int, needed: int) -> str:
    """Describe the time left until the fit at ``needed`` rows, and what would shorten it.

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
    if finer and is_pulled and watch.has_own_step:  # otherwise it is the scrape interval already
        sooner.append(f'step = "{show_duration(finer)}": {_when(needed * finer - held)}')
    hints = f"; {', '.join(sooner)}" if sooner else ""
    return f"about {about(left)} more{why}{hints}"


def about(milliseconds: int) -> str:
    """Format a duration in seconds, minutes or hours.

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
