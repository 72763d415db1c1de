"""False alarms of the default detector: the rate asked for beside the rate that normal rows get.

In: real recordings, found through ``SMKC_DATA``. Out: a page for ``results/``. Run it with
``python -m benchmarks.claims.default_alarms --out results/default_alarms.md``.
"""

import argparse
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from benchmarks.provenance import circumstances
from benchmarks.real.churn import add_churn
from benchmarks.real.datasets import dataset_names
from benchmarks.real.load import each_series
from benchmarks.real.series import Series
from smkc.detector import Detector

RATES = (0.05, 0.01, 0.002)
ASKED = 0.01

LEARNED_SHARE = 0.6
CHURN = ("none", "full")
FEWEST_ROWS = 60

PREFACE = """\
How often the default detector marks normal rows, beside how often it was asked to.
Nothing is wrong in these data as far as anybody knows, so every mark is a false alarm.
"""

ROWS = """\
Percent of rows marked, of a dataset the mean of its recordings. What each dataset offers as
reference is cut in two: the first {learned:.0%} of it is learned from, the rest is judged, as it is
and with full churn (see `results/real`). Rows of such a reference may hold faults that nobody
labelled, and the later part of a short one may differ from the earlier: skab's recordings learn
from some 240 rows, cloudmon's from 150 and 261. "all rows" counts each row once, "mean" each
dataset; the last column says how many recordings lie between 0.5% and 2% at {asked:.0%}, and what
the worst one has.
"""


def normal_series(dataset: str) -> Iterator[Series]:
    """Yield a dataset's references, each split into a part to learn from and a part to judge."""
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


def rows_table(churn: str) -> Iterator[str]:
    """Yield the lines of the table of datasets."""
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
    """Yield the lines of the page for ``results/``."""
    yield "# False alarms of the default detector: asked for and delivered"
    yield ""
    where = circumstances("python -m benchmarks.claims.default_alarms")
    yield from (f"- {key}: {value}" for key, value in where.items())
    yield ""
    yield PREFACE
    yield ROWS.format(learned=LEARNED_SHARE, asked=ASKED)
    for churn in CHURN:
        yield f"## Churn: {churn}"
        yield ""
        yield from rows_table(churn)
        yield ""


def main() -> None:
    """Measure, print the page, and write it to a file if ``--out`` is given."""
    parser = argparse.ArgumentParser(prog="benchmarks.claims.default_alarms", description=__doc__)
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
