"""Lines for evidence against a reference: rows of 38 variables, compared with other detectors.

In: nothing. Out: lines of the table. Times are processor seconds per row, on one thread; each row
ends its own window.
"""

from collections.abc import Iterator, Sequence
from functools import partial
from time import process_time

import numpy as np

from benchmarks.real.peers import make_peer
from benchmarks.speed import report
from benchmarks.speed.timing import Line, one_thread, take_turns
from smkc.detector import Detector
from smkc.evidence.model import ReferenceEvidence
from smkc.recording import Recording

VARIABLES = 38
REFERENCE_ROWS, ROWS = 20_000, 4_096
ROUNDS = 7
PEERS = ("windowed kNN", "PCA", "isolation forest")

# Rows that are pushed one at a time.
PUSHED_VARIABLES, PUSHED_ROWS = 50, 512

# Maximum seconds per row for all evidences (20,000 windows per second), and per push.
LIMIT, PUSH_LIMIT = 5e-5, 4e-4


def lines() -> Iterator[Line]:
    """Measure ours and each peer in turns; the limit applies to ours only."""
    with one_thread():
        rng = np.random.default_rng(0)
        reference, live = recording(0, REFERENCE_ROWS, rng), recording(REFERENCE_ROWS, ROWS, rng)
        model = ReferenceEvidence.fit(reference)
        for number, name in enumerate(PEERS):
            peer = make_peer(name).fit(reference)
            ours, anchor = take_turns(
                lambda: model.start().push_rows(live),
                partial(peer.score, live),
                ROUNDS,
                process_time,
            )
            ours, anchor = ours / ROWS, anchor / ROWS
            yield Line(
                work=f"all evidences, {VARIABLES} variables, beside {name}",
                ours=ours,
                anchor=anchor,
                figure=f"{1 / ours:,.0f} rows per second, {ours / anchor:.1f} x the anchor's time",
                target=f"< {report.time_text(LIMIT)}" if number == 0 else "",
                passed=ours < LIMIT if number == 0 else None,
            )
        yield pushed(rng)


def pushed(rng: np.random.Generator) -> Line:
    """Measure rows that are pushed one at a time, compared with the same rows in one batch."""
    reference = recording(0, REFERENCE_ROWS, rng, PUSHED_VARIABLES)
    live = recording(REFERENCE_ROWS, PUSHED_ROWS, rng, PUSHED_VARIABLES)
    detector = Detector().fit(reference)
    rows = [live.row(number) for number in range(len(live))]

    def one_by_one() -> None:
        stream = detector.stream()
        for time, row in zip(live.times, rows, strict=True):
            stream.push(time, row)

    ours, anchor = take_turns(one_by_one, lambda: detector.score(live), ROUNDS, process_time)
    ours, anchor = ours / PUSHED_ROWS, anchor / PUSHED_ROWS
    return Line(
        work=f"a push of {PUSHED_VARIABLES} variables, beside a row of a batch",
        ours=ours,
        anchor=anchor,
        figure=f"{1 / anchor:,.0f} rows per second in a batch, {ours / anchor:.1f} x that by row",
        target=f"< {report.time_text(PUSH_LIMIT)}",
        passed=ours < PUSH_LIMIT,
    )


def recording(
    first: int,
    n_rows: int,
    rng: np.random.Generator,
    n_variables: int = VARIABLES,
    names: Sequence[str] | None = None,
) -> Recording:
    """Return synthetic rows: common waves plus noise."""
    times = first + np.arange(n_rows)
    mixing = np.random.default_rng(1).normal(size=(4, n_variables))
    values = np.sin(times[:, None] / np.array([11.0, 29.0, 83.0, 211.0])) @ mixing
    values += 0.5 * rng.normal(size=values.shape)
    rows, codes = np.nonzero(np.isfinite(values))
    names = names or [f"v{j:02d}" for j in range(n_variables)]
    return Recording.from_observations(times, rows, codes, values[rows, codes], names)
