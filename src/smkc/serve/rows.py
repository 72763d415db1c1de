"""Rows: one time step of a lane, and the verdict on it.

In: what was observed. Out: plain records that the store keeps and everybody reads.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from smkc.decide import Cause

__all__ = ["LATEST_TIME", "AlertRecord", "Row", "Verdict"]

LATEST_TIME = 2**63 // 1_000_000 - 1
"""Latest time of a row and of a sample, in milliseconds (the year 2262); the earliest is 0.

Times are kept as nanoseconds in 64 bits.
"""


@dataclass(frozen=True, kw_only=True, eq=False)
class Row:
    """What a lane observed at one step of its grid.

    Parameters
    ----------
    time
        milliseconds since 1970, UTC: the end of the step.
    names
        (n,) variables, each once.
    values
        (n,) float32, all finite.
    """

    time: int
    names: tuple[str, ...]
    values: NDArray[np.float32]


@dataclass(frozen=True, kw_only=True)
class Verdict:
    """What is said of a row.

    Parameters
    ----------
    number
        of the row: counts a lane's rows from its first ever, 0.
    time
        of the row.
    score, p_value
        of the detector.
    anomaly
        the p-value's logarithm over that of the rate asked for: more than 1 is anomalous.
    cardinality, appeared, vanished
        variables in the row; how many of them the row before lacked; how many of that are gone.
    evidences
        nats of each evidence; those with nothing to say are left out.
    """

    number: int
    time: int
    score: float
    p_value: float
    anomaly: float
    cardinality: int
    appeared: int
    vanished: int
    evidences: Mapping[str, float]


@dataclass(frozen=True, kw_only=True)
class AlertRecord:
    """An alert of a lane as it stands.

    Parameters
    ----------
    id
        16 hexadecimal digits, the same after a replay: made from lane and start.
    watch, entity
        whose it is; the entity is empty where a watch is not split.
    start, end, peak
        times in milliseconds: first row past the threshold, latest row in which the trouble shows,
        worst row.
    first_row, last_row, peak_row
        numbers of the rows at start and peak, and of the latest row past the release: means over
        several rows may stay unusual for some rows after the end.
    anomaly, p_value
        of the peak.
    is_open
        whether it goes on.
    evidences
        nats of each evidence at the peak.
    causes_at, causes_row, causes_anomaly
        time, number and anomaly of the row that was explained: that at the start, then a far worse
        one, or the peak by then once a window has passed.
    told_anomaly
        the anomaly that was told last.
    causes
        of the row that was explained, most guilty first.
    labels, severity
        labels of the variable that was most guilty when the alert opened, and how severe it was
        then, "warning" or "critical"; they stay, since receivers tell alerts apart by them.
    """

    id: str
    watch: str
    entity: str
    start: int
    end: int
    peak: int
    first_row: int
    last_row: int
    peak_row: int
    anomaly: float
    p_value: float
    is_open: bool
    evidences: Mapping[str, float]
    causes_at: int
    causes_row: int
    causes_anomaly: float
    told_anomaly: float
    causes: tuple[Cause, ...] = ()
    labels: Mapping[str, str] = field(default_factory=dict)
    severity: str = ""
