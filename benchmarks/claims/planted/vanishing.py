"""Variables that vanish, one alone or half of them, in quiet rows of real recordings.

In: datasets of the alert benchmark, found through ``SMKC_DATA``. Out: counts of faults found by the
default detector, and its false alerts in the unchanged rows.
"""

import numpy as np
from numpy.typing import NDArray

from benchmarks.alerts.columns import each_recording, truth_about
from benchmarks.claims.planted.counts import Count, alerts_of, fitted, judged, n_false_alerts
from benchmarks.real.datasets import dataset
from benchmarks.real.plan import Column
from benchmarks.real.series import Series
from smkc.recording import Recording

__all__ = ["quiet_places", "vanished", "vanished_in", "without"]

# Rows that variables stay away, and rows before that are quiet too. A fault is judged on 500 rows
# before it, because a variable that vanishes alone must be the only one in 200 rows.
VANISHED_ROWS, QUIET_ROWS, JUDGED_BEFORE = 100, 50, 500
VANISHED_LIVE_ROWS = 20_000
MOST_RECORDINGS = 8  # per dataset
FEW_RECORDINGS = 4
PLACES, PLACES_IF_FEW = 3, 6

VANISHED = ("one vanishes", "half vanish")


def vanished(part: str) -> list[Count]:
    """Let one variable vanish, and half of them, in quiet rows of a dataset's recordings."""
    n_recordings = len(dataset(part).series)
    chosen = set(
        np.linspace(0, n_recordings - 1, min(n_recordings, MOST_RECORDINGS)).astype(int).tolist()
    )
    n_places = PLACES_IF_FEW if n_recordings <= FEW_RECORDINGS else PLACES
    counts = [
        one
        for number, series in enumerate(each_recording(Column(part)))
        if number in chosen
        for one in vanished_in(series, n_places, np.random.default_rng([number, 5]))
    ]
    return [_total([one for one in counts if one.case == case], part) for case in VANISHED]


def vanished_in(series: Series, n_places: int, rng: np.random.Generator) -> list[Count]:
    """Let one variable vanish, and half of them, at quiet places of one recording."""
    live = series.test.rows(0, VANISHED_LIVE_ROWS).canonical()
    is_near = truth_about(series).is_near[: len(live)]
    detector = fitted(series.reference)
    untouched = alerts_of(detector, live, explain=False)
    is_quiet = ~is_near
    for one in untouched:
        is_quiet[one.first_row : one.last_row + 1] = False
    known = set(series.reference.names)
    found = {case: [0, 0] for case in VANISHED}
    n_planted = 0
    for first in quiet_places(is_quiet, n_places, rng):
        stop = first + VANISHED_ROWS
        able = rng.permutation(_always_there(live, first - QUIET_ROWS, stop, known))
        if not len(able):
            continue
        n_planted += 1
        begin = max(0, first - JUDGED_BEFORE)
        for case, share in zip(VANISHED, (0.0, 0.5), strict=True):
            gone = able[: max(1, round(share * len(able)))]
            changed = without(live, gone, first, stop).rows(begin, stop).canonical()
            names = [live.names[code] for code in gone.tolist()]
            alerts = alerts_of(detector, changed)
            is_found, is_named, _ = judged(alerts, first - begin, stop - begin, names)
            found[case][0] += is_found
            found[case][1] += is_named
    return [
        Count(
            case=case,
            part=series.key,
            found=n_found,
            of=n_planted,
            named=n_named,
            false_alerts=n_false_alerts(untouched, is_near),
            rows=int(np.count_nonzero(~is_near)),
        )
        for case, (n_found, n_named) in found.items()
    ]


def quiet_places(is_quiet: NDArray[np.bool_], n_places: int, rng: np.random.Generator) -> list[int]:
    """Return first rows of faults: (T,) rows are quiet from 50 before to the end of the fault."""
    loud = np.concatenate([[0], np.cumsum(~is_quiet)])
    starts = np.arange(QUIET_ROWS, len(is_quiet) - VANISHED_ROWS + 1)
    is_able = loud[starts + VANISHED_ROWS] == loud[starts - QUIET_ROWS]
    parts = np.array_split(starts[is_able], n_places)
    return [int(part[rng.integers(len(part))]) for part in parts if len(part)]


def without(recording: Recording, codes: NDArray[np.int64], first: int, stop: int) -> Recording:
    """Return a copy in which some variables are not observed from row ``first`` to ``stop``."""
    rows = recording.row_numbers
    is_kept = ~(np.isin(recording.codes, codes) & (rows >= first) & (rows < stop))
    return Recording.from_observations(
        recording.times,
        rows[is_kept],
        recording.codes[is_kept].astype(np.int64),
        recording.values[is_kept],
        recording.names,
    )


def _always_there(live: Recording, first: int, stop: int, known: set[str]) -> NDArray[np.int64]:
    """Return the known variables that are observed in every row from first to stop."""
    rows = live.row_numbers
    codes = live.codes[(rows >= first) & (rows < stop)]
    counts = np.bincount(codes, minlength=len(live.names))
    return np.array(
        [
            code
            for code, name in enumerate(live.names)
            if counts[code] == stop - first and name in known
        ],
        np.int64,
    )


def _total(counts: list[Count], part: str) -> Count:
    """Return the sum of counts of one case."""

    def total(field: str) -> int:
        return int(sum(getattr(one, field) for one in counts))

    names = ("found", "of", "named", "false_alerts", "rows")
    return Count(case=counts[0].case, part=part, **{name: total(name) for name in names})
