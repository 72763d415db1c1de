"""Following: a long fault stays anomalous to its end, a lasting change stops alarming.

In: nothing but seeds. Out: a page and a picture for ``results/``. Run it with
``python -m benchmarks.claims.following --out results/following.md`` (a minute on one core).
"""

import argparse
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from benchmarks.libraries import library
from benchmarks.provenance import circumstances
from benchmarks.report import save_png
from smkc.detector import Detector
from smkc.evidence.settings import SETTINGS

N_VARIABLES, REFERENCE_ROWS, LIVE_ROWS = 8, 3000, 2400
FIRST = 600
FAULT_WINDOWS = 20
SEEDS = 8
PART = 200

CASES = (
    "a fault of twenty windows",
    "a permanent shift",
    "noise that grows for good",
    "nothing",
)

PREFACE = """\
Eight variables, three common waves plus noise; {reference:,} reference rows, default settings. From
row {first} of {live:,} one variable is 4 higher for twenty windows of {window} rows, or for good,
or gets noise of 1.5 on top of 0.4 for good. Share of rows marked at a false-alarm rate of {rate},
over {seeds} seeds. A variable that has been loud in {lasting} rows more than quiet has a new
normal. The waves nearly repeat after 966 rows: where the default takes that for a season, they
drift away from it, and rows are marked late after the fault and where there is nothing.
"""


def recording(first: int, n_rows: int, rng: np.random.Generator, case: str) -> dict[str, Any]:
    """Return synthetic rows with a case planted; normal rows for others than the first three."""
    times = first + np.arange(n_rows)
    mixing = np.random.default_rng(1).normal(size=(3, N_VARIABLES))
    values = np.sin(times[:, None] / np.array([17.0, 31.0, 53.0])) @ mixing
    values += 0.4 * rng.normal(size=values.shape)
    if case == CASES[0]:
        values[FIRST : FIRST + FAULT_WINDOWS * 8, 2] += 4
    elif case == CASES[1]:
        values[FIRST:, 2] += 4
    elif case == CASES[2]:
        values[FIRST:, 2] += 1.5 * rng.normal(size=n_rows - FIRST)
    return {"time": times, **{f"v{j}": column for j, column in enumerate(values.T)}}


def measured() -> tuple[Detector, dict[str, NDArray[np.float64]]]:
    """Return the last seed's detector, and (SEEDS, LIVE_ROWS) p-values by case."""
    found: dict[str, list[NDArray[np.float64]]] = {case: [] for case in CASES}
    for seed in range(SEEDS):
        rng = np.random.default_rng([seed, 3])
        detector = Detector(align="prompt").fit(recording(0, REFERENCE_ROWS, rng, ""))
        for case in CASES:
            live = recording(REFERENCE_ROWS, LIVE_ROWS, rng, case)
            found[case].append(detector.p_values(live))
    return detector, {case: np.stack(rows) for case, rows in found.items()}


def page(detector: Detector, found: dict[str, NDArray[np.float64]]) -> str:
    """Return the page for ``results/``."""
    learned = detector.fitted_
    choices = learned.known.choices
    edges = range(FIRST, LIVE_ROWS, PART)
    end = FIRST + FAULT_WINDOWS * choices.window
    heading = ["case", "before", "twenty windows from its start on"]
    heading += [f"rows {edge - FIRST} to {edge - FIRST + PART}" for edge in edges]
    lines = ["# What lasts", ""]
    lines += PREFACE.format(
        reference=REFERENCE_ROWS,
        first=FIRST,
        live=LIVE_ROWS,
        window=choices.window,
        seeds=SEEDS,
        lasting=SETTINGS.lasting_rows,
        rate=detector.false_alarm_rate,
    ).splitlines()
    lines += ["", "![Surprise over time](following.png)", ""]
    lines += [f"| {' | '.join(heading)} |", f"|{' --- |' * len(heading)}"]
    for case, p_values in found.items():
        marked = p_values < detector.false_alarm_rate
        shares = [marked[:, :FIRST].mean(), marked[:, FIRST:end].mean()]
        shares += [marked[:, edge : edge + PART].mean() for edge in edges]
        lines.append(f"| {case} | {' | '.join(f'{share:.3f}' for share in shares)} |")
    facts = circumstances("python -m benchmarks.claims.following")
    lines += ["", *(f"- {key}: {value}" for key, value in facts.items())]
    return "\n".join(lines) + "\n"


def picture(found: dict[str, NDArray[np.float64]], threshold: float) -> Any:
    """Draw the median surprise over the seeds, and its interquartile range."""
    figure = library("matplotlib.figure", "matplotlib").Figure(
        figsize=(10, 7.5), layout="constrained"
    )
    for axes, (case, p_values) in zip(
        figure.subplots(len(found), sharex=True), found.items(), strict=True
    ):
        low, middle, high = np.quantile(-np.log(p_values), (0.25, 0.5, 0.75), axis=0)
        rows = np.arange(LIVE_ROWS)
        axes.fill_between(rows, low, high, alpha=0.3, linewidth=0)
        axes.plot(rows, middle, linewidth=0.8)
        axes.axhline(threshold, color="0.4", linestyle="--", linewidth=0.8)
        last = FIRST + FAULT_WINDOWS * 8 if case == CASES[0] else LIVE_ROWS
        if case != CASES[3]:
            axes.axvspan(FIRST, last, color="tab:red", alpha=0.08, linewidth=0)
        axes.set_title(case, loc="left", fontsize=10)
        axes.set_ylabel("-log p")
    axes.set_xlabel("row")
    return figure


def main() -> None:
    """Measure, write the page, save the picture beside it, and print the page."""
    parser = argparse.ArgumentParser(prog="benchmarks.claims.following", description=__doc__)
    parser.add_argument("--out", type=Path, required=True, metavar="FILE")
    out = parser.parse_args().out
    detector, found = measured()
    out.parent.mkdir(parents=True, exist_ok=True)
    out.write_text(page(detector, found), encoding="utf-8")
    save_png(picture(found, -np.log(detector.false_alarm_rate)), out.with_suffix(".png"))
    print(out.read_text(encoding="utf-8"))


if __name__ == "__main__":
    main()
