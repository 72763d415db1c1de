"""The default detector: from a recording to scores, alerts and causes.

In: reference data, then recordings to score. Out: scores, p-values, alerts, causes.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from smkc.base import BaseDetector, check_choice, check_whole
from smkc.errors import SettingError
from smkc.evidence.fitted import EvidenceFitted
from smkc.evidence.stream import EvidenceStream
from smkc.evidence.variables import Calendar
from smkc.recording import Identity
from smkc.recording.rules import read_rules


@dataclass(kw_only=True, eq=False)
class Detector(BaseDetector):
    """Detector of anomalies in recordings whose variables come and go; needs no labels.

    Each row is compared with the reference data in several ways, called evidences, which are
    joined into one score. The detector adapts as normal behaviour changes. Its results are
    deterministic. The paper's detectors are in :mod:`smkc.paper`.

    Parameters
    ----------
    window
        rows per window; ``auto`` chooses a number that suits the reference data.
    counters
        ``auto`` turns counters into rates; None takes all values as they are.
    identity
        rule for the family of a variable; by default its metric name.
    rules
        what is known about some variables, such as ``{"match": "latency_.*", "only": "up"}``.
        ``match`` is a regular expression for the whole name or the metric of a variable; the first
        rule that matches applies. ``only`` (``up`` or ``down``) is the direction that matters,
        ``at_least`` the smallest distance from the usual value that matters, in the variable's own
        unit; ``never=True`` leaves the variable out. A value beyond ``alert_above`` or
        ``alert_below`` is certain trouble, however usual it is: ``{"match": "up", "alert_below":
        1}``.
    time_zone
        name of the IANA time zone whose clock daily and weekly seasons follow, such as
        ``Europe/Berlin``, so that 09:00 stays 09:00 when clocks change; UTC by default.
    holidays
        local dates that are like Sundays, such as ``["2026-12-25"]``; this matters to variables
        with a weekly season.
    false_alarm_rate
        accepted rate of false alerts, per time step of normal data: 2 per 1,000 by default.
    align
        the rows that the score of a row reflects beside itself: the latest ones before it with
        ``prompt``, those on either side with ``sharp``, which is known 24 rows later.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> reference = {"time": np.arange(600), "cpu": rng.normal(size=600)}
    >>> live = {"time": np.arange(200), "cpu": rng.normal(size=200), "new": rng.normal(size=200)}
    >>> det = Detector(false_alarm_rate=0.01).fit(reference)
    >>> det.decision_function(live).shape
    (200,)
    """

    kind = "evidence"

    window: int | str = "auto"
    counters: str | None = "auto"
    identity: Identity | None = None
    rules: Sequence[Mapping[str, Any]] = ()
    time_zone: str = "UTC"
    holidays: Sequence[str] = ()
    false_alarm_rate: float = 0.002
    align: str = "sharp"

    if TYPE_CHECKING:

        @property
        def fitted_(self) -> EvidenceFitted:
            """Everything that was learned."""

        def stream(self, resume: str | Path | None = None) -> EvidenceStream:
            """Return a stream, which computes bit-identical scores one time step at a time."""

    @classmethod
    def _refuse_unknown(cls, settings: dict[str, Any]) -> None:
        others = settings.keys() - set(cls.setting_names())
        if others:
            from smkc.paper.detectors import EnsembleDetector, KnnDetector

            for name in sorted(others):
                for known in (KnnDetector, EnsembleDetector):
                    if name in known.setting_names():
                        raise SettingError(
                            f"Detector has no setting {name!r}, which is one of the paper's "
                            f"detectors; leave it out, or use smkc.paper.{known.__name__} "
                            f"(--detector {known.kind})"
                        )
        super()._refuse_unknown(settings)

    def _empty(self) -> EvidenceFitted:
        self._check_common()
        check_choice("counters", self.counters, ("auto", None))
        if self.window != "auto":
            check_whole("window", self.window, 1)
        return EvidenceFitted(
            align=self.align,
            wanted=self.window,
            identity=self.identity,
            counters=self.counters,
            rules=read_rules(self.rules),
            calendar=Calendar(time_zone=self.time_zone, holidays=self.holidays),
        )

    def evidences(self, recording: Any) -> dict[str, NDArray[np.float64]]:
        """Return, by name of the evidence, (T,) its surprise at each row, in nats.

        A surprise is minus the natural logarithm of a p-value; NaN where the evidence has none.
        """
        scored = self.score(recording)
        per_row = scored.given.per_row
        return {name: per_row(nats) for name, nats in scored.evidences.items()}
