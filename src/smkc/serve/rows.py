"""Rows: records of one time step of a lane, the verdict on it, and alerts.

In: observations. Out: dataclasses that the store keeps and other modules read.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from smkc.decide import Cause

LATEST_TIME = 2**63 // 1_000_000 - 1
"""Latest time of a row and of a sample, in milliseconds (the year 2262); the earliest is 0.

Times are kept as nanoseconds in 64 bits.
"""


@dataclass(frozen=True, kw_only=True, eq=False)
class Row:
    """Observations of a lane at one step of its grid.

    ``time`` is the end of the step in milliseconds since 1970, ``names`` are (n,) distinct
    variables and ``values`` their (n,) finite float32 values.
    """

    time: int
    names: tuple[str, ...]
    values: NDArray[np.float32]


@dataclass(frozen=True, kw_only=True)
class Verdict:
    """Result of judging a row; the API's ``VerdictAnswer`` describes the fields.

    ``anomaly`` is log(p_value) / log(rate), where the rate is the p-value below which a row raises
    an alert. Evidences without a contribution are omitted.
    """

    number: int
    time: int
    score: float
    p_value: float
    cardinality: int
    evidences: Mapping[str, float]
    anomaly: float = 0.0
    appeared: int = 0
    vanished: int = 0


@dataclass(frozen=True, kw_only=True)
class AlertRecord:
    """Current state of an alert of a lane; times are milliseconds.

    The id is derived from lane and start, so that a replay gives the same id. The rows at ``start``
    and ``peak`` are the first past the threshold and the most anomalous. ``last_row`` is the last
    past the release threshold; ``end`` is earlier if that row is an echo, in which only averages
    over earlier rows are unusual. ``anomaly``, ``p_value`` and ``evidences`` (in nats) are those of
    the peak.

    ``causes`` are those of the row ``causes_row``, largest share first: at first the row at the
    start; then each far worse row at once, and any other peak after a few rows or when the alert
    closes. ``told_anomaly`` is the anomaly in the last message on opening or getting far worse.
    ``labels`` (of the first cause) and ``severity`` do not change after the opening, since
    receivers identify alerts by them.
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
