"""Causes: what kinds of planted fault raise an alert, and whether the guilty variable comes first.

In: nothing but seeds. Out: a page for ``results/``. Run it with ``python -m
benchmarks.claims.planted_causes --out results/planted_causes.md`` (some minutes on 2 cores).
"""

import argparse
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from benchmarks.provenance import circumstances
from smkc.base import BaseDetector
from smkc.paper import KnnDetector
from smkc.recording import Recording

N_VARIABLES = 12
REFERENCE_ROWS, LIVE_ROWS = 8000, 400
FIRST, LAST = 200, 220  # rows of the fault, the latter not included
SLOW_ROWS = 150
MEMORY, NOISE = 0.95, 0.4
MISSING_SHARES = (0.05, 0.0)
SEEDS = 40

PREFACE = """\
Faults of several kinds, planted one at a time in made-up normal data: {n_variables} variables, a
mixture of two hidden factors with memory {memory:g} plus noise. One detector with default settings
(window 64, false-alarm rate 0.01 a time step) learned from {reference:,} normal rows; each fault is
planted in {live} fresh rows, {seeds} seeds a kind. All of it twice: with some values missing at
random, in reference and live data alike, and with none.

- alerted: an alert touches the fault. "nothing" is the same question with no fault planted: what
  chance alone gives.
- guilty first: `explain` over the fault's rows names a guilty variable first, alerted or not.
- guilty first if alerted: the same among the alerted ones.
- said to be: the kinds that `explain` gave the first cause, by how often.

Sizes are in standard deviations of the variable. A variable that is far from its usual level jumps
in the sketch whenever one of its samples is missing, and its gaps then look like spikes: that is
how a slow shift is seen where samples are lost.
"""


@dataclass
class Case:
    """Live data to plant a fault in: (T, C) values and presence, and the guilty variables."""

    values: NDArray[np.float64]
    seen: NDArray[np.bool_]
    guilty: NDArray[np.int64]
    deviation: NDArray[np.float64]
    rng: np.random.Generator

    def add(self, rows: slice, shape: NDArray[np.float64] | float) -> None:
        """Add a shape, in standard deviations, to some rows of the guilty variables."""
        for j in self.guilty:
            self.values[rows, j] += shape * self.deviation[j]


def mixture() -> NDArray[np.float64]:
    """Return (2, C) weights of the factors in the variables, the same in all data."""
    return np.random.default_rng(5).standard_normal((2, N_VARIABLES))


def normal(n_rows: int, rng: np.random.Generator) -> NDArray[np.float64]:
    """Return (T, C) normal values."""
    shocks = rng.standard_normal((n_rows, 2)) * np.sqrt(1 - MEMORY**2)
    factors = np.empty_like(shocks)
    factor = rng.standard_normal(2)
    for t in range(n_rows):
        factor = MEMORY * factor + shocks[t]
        factors[t] = factor
    noise = NOISE * rng.standard_normal((n_rows, N_VARIABLES))
    return np.asarray(factors @ mixture() + noise)


def recording(values: NDArray[np.float64], seen: NDArray[np.bool_]) -> Recording:
    """Return a recording of the values seen; each of 4 metrics has 3 pods of its own."""
    names = [f'm{j % 4}{{pod="p{j}"}}' for j in range(N_VARIABLES)]
    rows, codes = np.nonzero(seen)
    return Recording.from_observations(
        np.arange(len(values)), rows, codes, values[rows, codes], names
    )


def spike(case: Case) -> None:
    """Three rows, 6 standard deviations."""
    case.add(slice(FIRST, FIRST + 3), 6.0)


def jump(case: Case) -> None:
    """20 rows, 5 standard deviations."""
    case.add(slice(FIRST, LAST), 5.0)


def burst(case: Case) -> None:
    """20 rows of added noise, 3 standard deviations."""
    case.add(slice(FIRST, LAST), 3.0 * case.rng.standard_normal(LAST - FIRST))


def slow_shift(case: Case) -> None:
    """Ramp of 5 standard deviations over 150 rows; it stays there."""
    case.add(slice(FIRST, FIRST + SLOW_ROWS), np.linspace(0.0, 5.0, SLOW_ROWS))
    case.add(slice(FIRST + SLOW_ROWS, None), 5.0)


def broken_relation(case: Case) -> None:
    """20 rows in which a variable is noise of its usual size, unlike the others."""
    for j in case.guilty:
        own = case.rng.standard_normal(LAST - FIRST)
        case.values[FIRST:LAST, j] = case.deviation[j] * own


def mirrored(case: Case) -> None:
    """20 rows in which a variable goes the other way."""
    case.values[FIRST:LAST, case.guilty] *= -1.0


def vanishing(case: Case) -> None:
    """Observed no more, to the end."""
    case.seen[FIRST:, case.guilty] = False


def appearing(case: Case) -> None:
    """Not observed before."""
    case.seen[:FIRST, case.guilty] = False


def nothing(case: Case) -> None:
    """No fault."""


HEADINGS = (
    *("fault", "what", "variables hit", "alerted"),
    *("guilty first", "guilty first if alerted", "said to be"),
)

# Name and function of each fault, and the number of variables hit.
KINDS: tuple[tuple[str, Callable[[Case], None], int], ...] = (
    ("spike", spike, 1),
    ("jump", jump, 1),
    ("burst", burst, 1),
    ("slow shift", slow_shift, 1),
    ("slow shift of a third", slow_shift, N_VARIABLES // 3),
    ("broken relation", broken_relation, 1),
    ("mirrored", mirrored, 1),
    ("vanishing", vanishing, 1),
    ("vanishing of a third", vanishing, N_VARIABLES // 3),
    ("appearing", appearing, 1),
    ("appearing of a third", appearing, N_VARIABLES // 3),
    ("nothing", nothing, 1),
)


def measured(
    detector: BaseDetector,
    plant: Callable[[Case], None],
    n_guilty: int,
    missing_share: float,
    n_seeds: int,
) -> tuple[str, ...]:
    """Plant one kind of fault once per seed; return the last cells of its line."""
    alerted, first, said = [], [], []
    length = SLOW_ROWS if plant is slow_shift else LAST - FIRST
    for seed in range(n_seeds):
        rng = np.random.default_rng([seed, 1])
        case = Case(
            values=normal(LIVE_ROWS, rng),
            seen=rng.random((LIVE_ROWS, N_VARIABLES)) >= missing_share,
            guilty=rng.permutation(N_VARIABLES)[:n_guilty],
            deviation=np.sqrt((mixture() ** 2).sum(axis=0) + NOISE**2),
            rng=rng,
        )
        plant(case)
        live = recording(case.values, case.seen)
        touching = [
            alert
            for alert in detector.alerts(live, explain=False)
            if alert.last_row >= FIRST and alert.first_row < FIRST + length
        ]
        causes = detector.explain(live, FIRST, FIRST + length - 1)
        names = {f'm{j % 4}{{pod="p{j}"}}' for j in case.guilty}
        alerted.append(bool(touching))
        first.append(bool(causes) and causes[0].variable in names)
        said += [causes[0].kind] if causes else []
    kinds = sorted({kind: said.count(kind) for kind in said}.items(), key=lambda kv: -kv[1])
    both = [is_first for is_first, is_seen in zip(first, alerted, strict=True) if is_seen]
    if plant is nothing:
        return f"{np.mean(alerted):.0%}", "", "", ""
    return (
        f"{np.mean(alerted):.0%}",
        f"{np.mean(first):.0%}",
        f"{np.mean(both):.0%} of {len(both)}" if both else "none alerted",
        ", ".join(f"{kind} {count}" for kind, count in kinds),
    )


def table(missing_share: float, n_seeds: int) -> list[str]:
    """Return the table of all kinds of fault, with this share of the values missing."""
    rng = np.random.default_rng(1)
    values = normal(REFERENCE_ROWS, rng)
    detector = KnnDetector().fit(recording(values, rng.random(values.shape) >= missing_share))
    rows = [HEADINGS, ("---",) * len(HEADINGS)]
    for name, plant, n_guilty in KINDS:
        what = (plant.__doc__ or "").rstrip(".")
        found = measured(detector, plant, n_guilty, missing_share, n_seeds)
        rows.append((name, what, str(n_guilty), *found))
        print(f"{missing_share:.0%}", *rows[-1], sep="  ", flush=True)
    return ["| " + " | ".join(row) + " |" for row in rows]


def main() -> None:
    """Measure, print each line, and write the page if ``--out`` is given."""
    parser = argparse.ArgumentParser(prog="benchmarks.claims.planted_causes", description=__doc__)
    parser.add_argument("--out", type=Path, metavar="FILE", help="write the page as Markdown")
    parser.add_argument("--seeds", type=int, default=SEEDS, help=f"how many; {SEEDS} by default")
    options = parser.parse_args()
    where = circumstances(f"python -m benchmarks.claims.planted_causes --seeds {options.seeds}")
    preface = PREFACE.format(
        n_variables=N_VARIABLES,
        memory=MEMORY,
        reference=REFERENCE_ROWS,
        live=LIVE_ROWS,
        seeds=options.seeds,
    )
    parts = ["# Planted faults and their causes", ""]
    parts += [f"- {key}: {value}" for key, value in where.items()]
    parts += ["", preface]
    for share in MISSING_SHARES:
        parts += [f"## {share:.0%} of the values missing", "", *table(share, options.seeds), ""]
    if options.out is not None:
        options.out.parent.mkdir(parents=True, exist_ok=True)
        options.out.write_text("\n".join(parts), encoding="utf-8")


if __name__ == "__main__":
    main()
