"""False alarms of the evidences: the rate asked for beside the rate that normal data get.

In: the benchmark's worlds, and real recordings where ``SMKC_DATA`` has them. Out: a page for
``results/``. Run it with ``python -m benchmarks.claims.evidence_alarms --out
results/evidence_alarms.md`` (some five minutes on 2 cores).
"""

import argparse
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from benchmarks.protocols import CARDINALITIES, Sizes, Splits, find_protocol
from benchmarks.provenance import circumstances
from benchmarks.real.churn import add_churn
from benchmarks.real.datasets import dataset_names
from benchmarks.real.load import each_series
from benchmarks.real.series import Series
from benchmarks.single_window import WindowEvidence
from benchmarks.world import WORLDS
from smkc.detector import Detector

RATES = (0.05, 0.01, 0.001)
ASKED = 0.01

# Seeds that no table and no choice was made with.
SEEDS = range(300, 303)
SIZES = Sizes(test=2_000)

LEARNED_SHARE = 0.6
CHURN = ("none", "full")
FEWEST_ROWS = 60

PREFACE = """\
How often the default detector's evidences mark normal data, beside how often they were asked to.
Nothing is wrong in these data as far as anybody knows, so every mark is a false alarm.
"""

WINDOWS = """\
## Windows of the synthetic benchmark, {asked:.0%} asked for

Percent of normal windows marked, {seeds} seeds that nothing was chosen with, {windows:,} windows
each. Learned from 400 windows of each of 1, 2, 4 and 8 variables; those of 3, 6, 12 and 16 were
never seen. The variables tested are never those learned from, unless the world says so.
"""

ROWS = """\
## Rows of real recordings

Percent of rows marked, of a dataset the mean of its recordings. What each dataset offers as
reference is cut in two: the first {learned:.0%} of it is learned from, the rest is judged, as it is
and with full churn (see `results/real`). Rows of such a reference may hold faults that nobody
labelled, and the later part of a short one may differ from the earlier: skab's recordings learn
from some 240 rows, cloudmon's from 150 and 261. "all rows" counts each row once, "mean" each
dataset; the last column says how many recordings lie between 0.5% and 2% at {asked:.0%}, and what
the worst one has.

Over all rows the rate that was asked for is about the one delivered; for a single recording it need
not be. Where normal changes right after the reference, most rows are marked until the new state has
lasted long enough to be believed.
"""


def marked_windows(world: str) -> NDArray[np.float64]:
    """(cardinalities,) share of a world's normal windows with a p-value below what was asked."""
    shares = np.zeros((len(SEEDS), len(CARDINALITIES)))
    for i, seed in enumerate(SEEDS):
        splits = Splits(seed=seed, world=WORLDS[world], sizes=SIZES)
        evidence = WindowEvidence().fit(splits.train(find_protocol("holdout_C")).with_gaps)
        for j, cardinality in enumerate(CARDINALITIES):
            normal = splits.test(cardinality, rate=0.0).with_gaps
            shares[i, j] = (evidence.ask(normal).p_value < ASKED).mean()
    means: NDArray[np.float64] = shares.mean(axis=0)
    return means


def normal_series(dataset: str) -> Iterator[Series]:
    """Yield a dataset's references, each cut into one to learn from and one to judge."""
    for series in each_series(dataset):
        cut = int(LEARNED_SHARE * len(series.reference))
        judged = series.reference.rows(cut).canonical()
        if len(judged) < FEWEST_ROWS:
            continue
        yield replace(
            series,
            reference=series.reference.rows(0, cut).canonical(),
            test=judged,
            labels=np.zeros(len(judged), bool),
            events=(),
        )


def marked_rows(dataset: str, churn: str) -> list[NDArray[np.float64]]:
    """Return the p-values of each recording's judged rows."""
    p_values = []
    for normal in normal_series(dataset):
        series = normal if churn == "none" else add_churn(normal, churn, seed=0)
        stream = Detector().fit(series.reference).stream()
        p_values.append(stream.push_rows(series.test).p_values)
    return p_values


def windows_table() -> Iterator[str]:
    """Write the table of worlds, line by line."""
    yield "| world | " + " | ".join(f"C = {c}" for c in CARDINALITIES) + " |"
    yield "| --- |" + " ---: |" * len(CARDINALITIES)
    for world in WORLDS:
        shares = marked_windows(world)
        yield f"| {world} | " + " | ".join(f"{100 * share:.2f}" for share in shares) + " |"


def rows_table(churn: str) -> Iterator[str]:
    """Write the table of datasets, line by line."""
    headings = ["dataset", "recordings", "rows", *(f"{100 * rate:g}%" for rate in RATES)]
    yield "| " + " | ".join([*headings, f"recordings at {ASKED:.0%}"]) + " |"
    yield "| --- |" + " ---: |" * (len(headings) - 1) + " --- |"
    shares, everything = [], []
    for dataset in dataset_names():
        p_values = marked_rows(dataset, churn)
        each = np.array([[(p < rate).mean() for rate in RATES] for p in p_values])
        together = np.concatenate(p_values)
        everything.append(together)
        shares.append(each.mean(axis=0))
        at_one = each[:, RATES.index(ASKED)]
        within = int(((at_one >= 0.005) & (at_one <= 0.02)).sum())
        yield _row(
            dataset,
            [f"{len(each)}", f"{len(together):,}"],
            shares[-1],
            f"{within} within, largest {100 * at_one.max():.1f}",
        )
    pooled = np.concatenate(everything)
    sizes = ["", f"{len(pooled):,}"]
    yield _row("**all rows**", sizes, [(pooled < rate).mean() for rate in RATES], "")
    yield _row("mean", ["", ""], np.mean(shares, axis=0), "")


def _row(name: str, sizes: list[str], shares: list[float] | NDArray[np.float64], last: str) -> str:
    cells = [name, *sizes, *(f"{100 * share:.2f}" for share in shares), last]
    return "| " + " | ".join(cells) + " |"


def page() -> Iterator[str]:
    """Write the page that is kept in ``results/``, line by line."""
    yield "# False alarms of the evidences: asked for and delivered"
    yield ""
    where = circumstances("python -m benchmarks.claims.evidence_alarms")
    yield from (f"- {key}: {value}" for key, value in where.items())
    yield ""
    yield PREFACE
    yield WINDOWS.format(asked=ASKED, seeds=len(SEEDS), windows=SIZES.test)
    yield from windows_table()
    yield ""
    yield ROWS.format(learned=LEARNED_SHARE, asked=ASKED)
    for churn in CHURN:
        yield f"### Churn: {churn}"
        yield ""
        yield from rows_table(churn)
        yield ""


def main() -> None:
    """Measure, print line by line, and write the page where asked."""
    parser = argparse.ArgumentParser(prog="benchmarks.claims.evidence_alarms", description=__doc__)
    parser.add_argument("--out", type=Path, metavar="FILE", help="write the page as Markdown")
    options = parser.parse_args()
    lines = []
    for line in page():
        lines.append(line)
        print(line, flush=True)
    if options.out is not None:
        options.out.parent.mkdir(parents=True, exist_ok=True)
        options.out.write_text("\n".join(lines).rstrip() + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
