"""Lines for growth: how our time grows with rows, window length and number of variables.

In: nothing. Out: lines of the table with fitted exponents; an exponent of 1 is linear growth.
"""

from collections.abc import Callable, Iterator

from benchmarks.speed.data import telemetry
from benchmarks.speed.timing import Line, growth
from benchmarks.speed.windows import len_of
from smkc.paper.kernel import Representation, map_features, window_starts
from smkc.paper.sketch import Sketch
from smkc.recording import Recording

ROUNDS = 7

# Linear growth, plus a margin for the noise of a fit over a few sizes.
STRAIGHT = 1.1

ROWS = (8_000, 16_000, 32_000, 64_000)
WINDOWS = (64, 128, 256, 512)
VARIABLES = (8, 16, 32, 64, 128)


def lines() -> Iterator[Line]:
    """Measure the 3 exponents."""
    yield line("growth with T, sliding, L = 64", ROWS, [sliding(rows) for rows in ROWS])
    yield line(
        "growth with L, independent windows, w = 8", WINDOWS, [apart(length) for length in WINDOWS]
    )
    yield line("growth with C, sliding, L = 64", VARIABLES, [sliding(8_000, c) for c in VARIABLES])


def line(work: str, sizes: tuple[int, ...], works: list[Callable[[], object]]) -> Line:
    """Fit one exponent; return a line that includes the measured times."""
    exponent, times = growth(sizes, works, ROUNDS)
    shown = ", ".join(
        f"{size:,}: {time * 1e3:.1f} ms" for size, time in zip(sizes, times, strict=True)
    )
    return Line(
        work=f"{work} ({shown})",
        unit="exponent",
        figure=f"exponent {exponent:.2f}",
        target=f"<= {STRAIGHT:g}",
        passed=exponent <= STRAIGHT,
    )


def sliding(n_rows: int, n_variables: int = 16) -> Callable[[], object]:
    """Return a function that computes band features of every window of a recording."""
    return scan(telemetry(n_rows, n_variables, seed=5).recording, 64, 1)


def apart(length: int, n_windows: int = 256) -> Callable[[], object]:
    """Return a function that computes band features of ``n_windows`` consecutive windows."""
    return scan(telemetry(n_windows * length, 16, seed=6).recording, length, length)


def scan(recording: Recording, length: int, stride: int) -> Callable[[], object]:
    """Return a function that makes one pass over a recording, block by block."""
    starts = window_starts(len(recording), length, stride)
    representation, sketch = Representation.parse("log3 band(8)"), Sketch()

    def work() -> None:
        for _ in map_features(len_of, recording, starts, length, representation, sketch):
            pass

    return work
