"""Counts of planted faults: which alerts find one, and which are false.

In: the alerts of live rows, and the rows and variables of the fault. Out: a count that can be saved
as JSON and added to others.
"""

import warnings
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from benchmarks.alerts.measures import ROWS_AFTER, ROWS_BEFORE
from smkc.decide import Alert
from smkc.detector import Detector
from smkc.errors import CalibrationWarning, UnscoredWarning

__all__ = ["Count", "alerts_of", "fitted", "judged", "n_false_alerts"]


@dataclass(frozen=True, kw_only=True)
class Count:
    """What was found in one part of a case.

    Parameters
    ----------
    case, part
        the case, and the part of it: a seed, a dataset or a recording.
    found, of
        number of faults found, and of faults planted.
    named
        number of faults whose alert names a variable of the fault first; None if not asked.
    false_alerts, rows
        number of false alerts, and of rows in which an alert would be false; None if not counted.
    """

    case: str
    part: str
    found: int
    of: int
    named: int | None = None
    false_alerts: int | None = None
    rows: int | None = None


def fitted(reference: Any) -> Detector:
    """Return the default detector, fitted; short references raise no warning."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", CalibrationWarning)
        return Detector().fit(reference)


def alerts_of(detector: Detector, live: Any, *, explain: bool = True) -> list[Alert]:
    """Return the alerts of live rows; short references raise no warning."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", CalibrationWarning)
        warnings.simplefilter("ignore", UnscoredWarning)
        return list(detector.alerts(live, explain=explain))


def judged(
    alerts: Sequence[Alert], first: int, stop: int, variables: Collection[str]
) -> tuple[bool, bool, int]:
    """Return whether a fault was found, whether it was named first, and the false alerts.

    A fault in rows ``first`` to ``stop``, the latter not included, is found by an alert that begins
    in its rows or at most 2 rows before. An alert that ends more than 2 rows before the fault, or
    begins more than 10 rows after it, is false.
    """
    before = first - ROWS_BEFORE
    finding = [one for one in alerts if before <= one.first_row < stop and one.last_row >= first]
    false = [one for one in alerts if one.last_row < before or one.first_row >= stop + ROWS_AFTER]
    return bool(finding), any(_names_first(one, variables) for one in finding[:1]), len(false)


def n_false_alerts(alerts: Sequence[Alert], is_near: NDArray[np.bool_]) -> int:
    """Return the number of alerts in unchanged rows that meet none of the (T,) rows near events."""
    return sum(not is_near[one.first_row : one.last_row + 1].any() for one in alerts)


def _names_first(alert: Alert, variables: Collection[str]) -> bool:
    """Return whether the first cause of an alert is one of these variables."""
    causes = alert.causes
    return bool(causes) and bool({causes[0].variable, *causes[0].joint_with} & set(variables))
