"""Lines for evidence inside windows: all evidences of a window, compared with RandProj-kNN.

In: nothing. Out: lines of the table. Times are per window, on one thread. Windows are those of the
benchmark, 32 time steps of 1, 6 and 16 variables; both methods learn from the same 1,600 reference
windows.
"""

import os
from collections.abc import Iterator

import numpy as np

from benchmarks.baselines.evidence_windows import EvidenceWindows
from benchmarks.baselines.randproj_knn import RandProjKnn
from benchmarks.protocols import PROTOCOLS, Splits
from benchmarks.speed import report
from benchmarks.speed.timing import Line, take_turns
from benchmarks.windows import Windows

LENGTH = 32
CARDINALITIES = (1, 6, 16)
WINDOWS = 256
ROUNDS = 15

# Maximum seconds for all evidences of a window of 16 variables.
LIMIT = 4e-4
LIMITED = 16


def lines() -> Iterator[Line]:
    """Measure ours and RandProj-kNN in turns; only the largest cardinality has a limit."""
    before = os.environ.get("SMKC_THREADS")
    os.environ["SMKC_THREADS"] = "1"
    try:
        splits = Splits(seed=1, length=LENGTH)
        normal = splits.train(PROTOCOLS["holdout_C"])
        evidence = EvidenceWindows().fit(normal)
        some = EvidenceWindows(doubt=(1e-3, 0.5)).fit(normal)
        neighbours = RandProjKnn(window=LENGTH).fit(normal)
        for cardinality in CARDINALITIES:
            windows = splits.test(cardinality, 0.1).take(np.arange(WINDOWS))
            yield _line("all evidences", evidence, neighbours, windows, cardinality)
        yield _line("dear ones in doubt", some, neighbours, windows, cardinality)
    finally:
        if before is None:
            del os.environ["SMKC_THREADS"]
        else:
            os.environ["SMKC_THREADS"] = before


def _line(
    work: str,
    evidence: EvidenceWindows,
    neighbours: RandProjKnn,
    windows: Windows,
    cardinality: int,
) -> Line:
    ours, anchor = take_turns(
        lambda: evidence.score(windows), lambda: neighbours.score(windows), ROUNDS
    )
    ours, anchor = ours / len(windows), anchor / len(windows)
    is_limited = cardinality == LIMITED and evidence.doubt is None
    return Line(
        work=f"{work}, L = {LENGTH}, C = {cardinality}, beside RandProj-kNN",
        ours=ours,
        anchor=anchor,
        figure=f"{ours / anchor:.1f} x the anchor's time",
        target=f"< {report.time_text(LIMIT)}" if is_limited else "",
        passed=ours < LIMIT if is_limited else None,
    )
