"""Calibrated peers: alerts from the scores of any method.

In: a peer and a recording. Out: its scores of the live rows, and alerts at a threshold that depends
on the reference alone.
"""

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from benchmarks.alerts.measures import JOIN_ROWS, FoundAlert
from benchmarks.real.peers.contract import Blames, Peer
from benchmarks.real.series import Series
from smkc.decide import Calibration, find_alerts
from smkc.errors import InputError

__all__ = ["alert_calibration", "decide"]

# False alerts allowed per row.
BUDGET_PER_ROW = 1 / 1000

# To set the threshold, a peer is fitted on this share of the reference and scores the rest.
FITTED_SHARE = 0.6

# Number of rows before the explained row that a peer is given when it names causes.
BLAME_ROWS = 200


def decide(
    make: Callable[[], Peer], series: Series, most_names: int
) -> tuple[NDArray[np.float64], list[FoundAlert]]:
    """Return (T,) scores of the live rows, and alerts at the budget of false alerts.

    The threshold comes from a peer that was fitted on the first part of the reference and scored
    the rest; the scores come from a peer that was fitted on the whole reference.
    """
    cut = int(FITTED_SHARE * len(series.reference))
    first, rest = series.reference.rows(0, cut), series.reference.rows(cut)
    calibration = alert_calibration(make().fit(first.canonical()).score(rest.canonical()))
    threshold = calibration.threshold(JOIN_ROWS * BUDGET_PER_ROW)
    peer = make().fit(series.reference)
    scores = peer.score(series.test)
    alerts = find_alerts(
        scores, series.test.times, calibration, threshold, threshold, join=JOIN_ROWS - 1
    )
    found = []
    for alert in alerts:
        peak = alert.first_row + int(np.nanargmax(scores[alert.first_row : alert.last_row + 1]))
        found.append(
            FoundAlert(alert.first_row, alert.last_row, _blamed(peer, series, peak)[:most_names])
        )
    return scores, found


def alert_calibration(null: NDArray[np.float64]) -> Calibration:
    """Return the calibration of blocks of rows, from (n,) scores of normal rows.

    Marked rows up to JOIN_ROWS apart are one alert, so the calibration uses the largest score of
    each block of JOIN_ROWS rows: a budget of one false alert per 1,000 rows is a rate of
    JOIN_ROWS / 1000 per block.

    Examples
    --------
    >>> alert_calibration(np.arange(1000.0)).n_independent
    50
    """
    n_blocks = max(1, len(null) // JOIN_ROWS)
    blocks = [block[~np.isnan(block)] for block in np.array_split(null, n_blocks)]
    largest = np.sort([block.max() for block in blocks if len(block)])
    if not len(largest):
        raise InputError(
            f"none of the last {len(null)} reference rows has a score; give a longer reference"
        )
    return Calibration(largest, n_independent=len(largest))


def _blamed(peer: Peer, series: Series, row: int) -> tuple[str, ...]:
    """Return the variables that a peer blames for a row; () if it cannot name variables."""
    if not isinstance(peer, Blames):
        return ()
    first = max(0, row - BLAME_ROWS)
    return series.origins_of(peer.blame(series.test.rows(first, row + 1), row - first))
