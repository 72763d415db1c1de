"""False alarms: the rate that was asked for beside the rate that normal data get.

In: nothing but seeds. Out: a page for ``results/``. Run it with
``python -m benchmarks.claims.false_alarms --out results/false_alarms.md`` (some ten
minutes on 2 cores).
"""

import argparse
import warnings
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, cast

import numpy as np
from numpy.typing import NDArray

from benchmarks.provenance import circumstances
from smkc.errors import CalibrationWarning
from smkc.fleet import make_fleet
from smkc.paper import KnnDetector
from smkc.paper.fitted import KernelFitted
from smkc.recording import Recording

RATES = (0.05, 0.01, 0.001)
MEMORIES = (0.5, 0.95, 0.99)
CARDINALITIES = (3, 6, 30)
REFERENCE_ROWS = (1500, 3000, 8000, 20_000)
LIVE_ROWS = 12_000
SEEDS = 16
MISSING_SHARE = 0.05

# What is counted: windows (at stride 1 the time steps of align="prompt"), and time steps of
# align="sharp".
COUNTED = ("windows", "steps")

PREFACE = """\
How often the detector marks normal data, beside how often it was asked to. Nothing is wrong in
these data, so every mark is a false alarm. Each cell is the mean over the seeds, and in brackets
the 10th and the 90th percentile over the seeds: what one user, with one reference recording, may
meet. Settings are the defaults (window 64, stride 1). "windows" counts windows past the threshold;
at stride 1 these are also the time steps of `align="prompt"`. "steps" counts time steps of
`align="sharp"`, where one odd moment marks up to 2 x 63 + 1 of them: few, long runs, so that the
last columns scatter widely from seed to seed even where the mean is right.

How many neighbouring scores count as one independent score (`INDEPENDENT_AFTER` in
`smkc/paper/fitted.py`) was chosen on stationary data of the kind below, so these tables confirm
that choice on fresh seeds; they do not prove it for other kinds of data.
"""

MADE_UP = """\
## Made-up stationary data

Two hidden factors with memory a (f_t = a f_(t-1) + noise), a random mixture of them a variable,
noise on each, {missing:.0%} of the values missing. Reference and judged data are drawn afresh for
each of {seeds} seeds; {live:,} rows are judged. "variables" and "a" name the kind of data,
"reference rows" what the detector learned from.
"""

AVERAGED = """\
Kinds with little memory get fewer marks than asked for and kinds with long memory more, most of
all with short reference data; this table averages over both, so look at the kinds too.
"""

FLEET = """\
## Made-up fleet with churn

`smkc.fleet.make_fleet(seed, with_incidents=False)`: two days of reference, one day judged, a row
every 30 s; rollouts, renames, scaling and scrape gaps, but no incident. {seeds} seeds. A day's
load has its own rhythm and the live day has routine changes that the reference days do not have,
so these data are not drawn from the very source that was learned from.
"""


@dataclass(frozen=True, kw_only=True)
class Line:
    """One row of a table: the kind of data, and (seeds, rates) shares marked of what is counted."""

    kind: tuple[str, ...]
    marked: dict[str, NDArray[np.float64]]


def stationary(n_rows: int, n_variables: int, memory: float, seed: list[int]) -> Recording:
    """Return noisy mixtures of two factors with memory; the mixture is the same for all seeds."""
    mixture = np.random.default_rng(5).standard_normal((2, n_variables))
    rng = np.random.default_rng(seed)
    shocks = rng.standard_normal((n_rows, 2)) * np.sqrt(1 - memory**2)
    factors = np.empty_like(shocks)
    factor = rng.standard_normal(2)
    for t in range(n_rows):
        factor = memory * factor + shocks[t]
        factors[t] = factor
    values = factors @ mixture + 0.4 * rng.standard_normal((n_rows, n_variables))
    rows, codes = np.nonzero(rng.random(values.shape) >= MISSING_SHARE)
    names = [f"v{j}" for j in range(n_variables)]
    return Recording.from_observations(np.arange(n_rows), rows, codes, values[rows, codes], names)


def marked(reference: Recording, live: Recording) -> NDArray[np.float64]:
    """Return (2, rates) shares of normal windows and of normal steps past the threshold."""
    detector = KnnDetector().fit(reference)
    learned = cast(KernelFitted, detector.fitted_)
    scores = {
        "windows": (learned.of_windows, detector.score_windows(live).score),
        "steps": (learned.of_steps, detector.decision_function(live)),
    }
    shares = np.empty((len(COUNTED), len(RATES)))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", CalibrationWarning)
        for i, what in enumerate(COUNTED):
            calibration, found = scores[what]
            found = found[np.isfinite(found)]
            for j, rate in enumerate(RATES):
                shares[i, j] = (found > calibration.threshold(rate)).mean()
    return shares


def stationary_lines(n_seeds: int) -> Iterator[Line]:
    """Judge synthetic stationary data; yield a line per kind and length of reference data."""
    for memory in MEMORIES:
        for n_variables in CARDINALITIES:
            for n_rows in REFERENCE_ROWS:
                shares = [
                    marked(
                        stationary(n_rows, n_variables, memory, [seed, 0]),
                        stationary(LIVE_ROWS, n_variables, memory, [seed, 1]),
                    )
                    for seed in range(n_seeds)
                ]
                kind = (f"{memory:g}", str(n_variables), f"{n_rows:,}")
                yield _line(kind, shares)


def fleet_line(n_seeds: int) -> Line:
    """Judge the synthetic fleet without incidents."""
    fleets = (make_fleet(seed, with_incidents=False) for seed in range(n_seeds))
    return _line(("fleet",), [marked(fleet.reference, fleet.live) for fleet in fleets])


def _line(kind: tuple[str, ...], shares: list[NDArray[np.float64]]) -> Line:
    stacked = np.stack(shares)
    return Line(kind=kind, marked={what: stacked[:, i] for i, what in enumerate(COUNTED)})


def pooled(lines: list[Line]) -> list[Line]:
    """Pool all kinds of data, one line per length of reference data."""
    together = []
    for n_rows in REFERENCE_ROWS:
        alike = [line for line in lines if line.kind[2] == f"{n_rows:,}"]
        together.append(
            Line(
                kind=(f"{n_rows:,}",),
                marked={
                    what: np.concatenate([line.marked[what] for line in alike]) for what in COUNTED
                },
            )
        )
    return together


def table(lines: list[Line], headings: tuple[str, ...]) -> list[str]:
    """Return lines as a Markdown table."""
    columns = [f"{what}, {rate:g}" for what in COUNTED for rate in RATES]
    rows = [(*headings, *columns), ("---",) * (len(headings) + len(columns))]
    rows += [(*line.kind, *cells(line)) for line in lines]
    return ["| " + " | ".join(row) + " |" for row in rows]


def cells(line: Line) -> list[str]:
    """Return one line's shares as text: mean (10th to 90th percentile over the seeds)."""
    texts = []
    for what in COUNTED:
        for j in range(len(RATES)):
            shares = line.marked[what][:, j]
            low, high = np.quantile(shares, (0.1, 0.9))
            texts.append(f"{shares.mean():.2g} ({low:.2g}-{high:.2g})")
    return texts


def page(lines: list[Line], fleet: Line, n_seeds: int, where: dict[str, Any]) -> str:
    """Return the page for ``results/``."""
    parts = [
        "# False alarms: asked for and delivered",
        "",
        *[f"- {key}: {value}" for key, value in where.items()],
        "",
        PREFACE,
        MADE_UP.format(missing=MISSING_SHARE, seeds=n_seeds, live=LIVE_ROWS),
        f"All {len(MEMORIES) * len(CARDINALITIES)} kinds together:",
        "",
        *table(pooled(lines), ("reference rows",)),
        "",
        AVERAGED,
        "Kind by kind:",
        "",
        *table(lines, ("a", "variables", "reference rows")),
        "",
        FLEET.format(seeds=n_seeds),
        *table([fleet], ("data",)),
        "",
    ]
    return "\n".join(parts)


def main() -> None:
    """Measure, print each line, and write the page if ``--out`` is given."""
    parser = argparse.ArgumentParser(prog="benchmarks.claims.false_alarms", description=__doc__)
    parser.add_argument("--out", type=Path, metavar="FILE", help="write the page as Markdown")
    parser.add_argument("--seeds", type=int, default=SEEDS, help=f"how many; {SEEDS} by default")
    options = parser.parse_args()
    where = circumstances(f"python -m benchmarks.claims.false_alarms --seeds {options.seeds}")
    fleet = fleet_line(options.seeds)
    print(*fleet.kind, *cells(fleet), sep="  ", flush=True)
    lines = []
    for line in stationary_lines(options.seeds):
        lines.append(line)
        print(*line.kind, *cells(line), sep="  ", flush=True)
    text = page(lines, fleet, options.seeds, where)
    if options.out is not None:
        options.out.parent.mkdir(parents=True, exist_ok=True)
        options.out.write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
