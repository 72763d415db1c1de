"""``smkc warmup``: compile the loops in advance, so that later calls need not wait for it.

In: nothing. Out: compiled loops in Numba's cache on disk.
"""

from typing import TYPE_CHECKING, Any

import typer

from smkc.cli import options
from smkc.cli.failure import explained_failures

if TYPE_CHECKING:
    from smkc.recording import Recording

ROWS = 1_500
SEASON_ROWS = 24
STEP_SECONDS = 3_600


def warmup(quiet: options.Quiet = False, as_json: options.Json = False) -> None:
    """Compile the default detector in advance and keep the result on disk (about 15 seconds).

    Otherwise the first use compiles it. This is useful in a container image, or before measuring
    times. A second run has nothing left to compile.

    **Examples**

    - `smkc warmup`
    - `NUMBA_CACHE_DIR=/var/cache/smkc smkc warmup`
    """
    with explained_failures(quiet or as_json):
        import time

        from smkc import compiling
        from smkc.cli.printing import print_json
        from smkc.detector import Detector

        started = time.perf_counter()
        reference, live = _recordings()
        detector = Detector(false_alarm_rate=0.01).fit(reference)
        detector.score(live).alerts()
        stream = detector.stream()
        for at in range(20):
            stream.push(live.times[at], live.row(at))
        seconds = time.perf_counter() - started
        if as_json:
            print_json({"compiled": compiling.n_compiled(), "seconds": round(seconds, 1)})
        elif not quiet:
            count = compiling.n_compiled()
            done = f"Compiled {count} loops" if count else "Nothing was left to compile"
            typer.echo(f"{done} ({seconds:.0f} s).")


def _recordings() -> "tuple[Recording, Recording]":
    """Return a reference and a live recording with a season, a counter and churn."""
    import numpy as np

    from smkc.recording import Recording

    rng = np.random.default_rng(0)
    rows = np.arange(ROWS)
    day = np.sin(2 * np.pi * rows / SEASON_ROWS)
    steady = {f'load{{pod="{pod}"}}': day + rng.normal(size=ROWS) for pod in range(4)}
    steady["requests_total"] = np.cumsum(rng.poisson(20, ROWS))
    steady["temperature"] = 3 * day + 0.1 * rng.normal(size=ROWS)
    steady["state"] = (rows % 50 < 25).astype(float)
    steady["constant"] = np.full(ROWS, 7.0)
    table: list[dict[str, Any]] = [
        {name: float(series[at]) for name, series in steady.items()} for at in rows
    ]
    for at in range(1_200, ROWS):  # a pod is replaced and later jumps; a variable vanishes
        table[at]['load{pod="9"}'] = table[at].pop('load{pod="0"}') + 9 * (at > 1_300)
        if at > 1_250:
            del table[at]["temperature"]
    times = np.datetime64("2026-01-05", "ns") + rows * np.timedelta64(STEP_SECONDS, "s")
    whole = Recording.from_rows(times, table)
    return whole.rows(0, 1_100).canonical(), whole.rows(1_100).canonical()
