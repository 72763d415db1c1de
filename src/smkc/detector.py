"""Detector: the default, from a recording to scores, alerts and reasons.

In: reference data, then recordings to judge. Out: scores, p-values, alerts, causes.
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
from smkc.recording import Identity
from smkc.recording.rules import read_rules

__all__ = ["Detector"]

# The paper's detectors, by the names that ``Detector(detector=...)`` knew them by.
CLASS_OF_KIND = {
    "knn": "KnnDetector",
    "recon": "ReconDetector",
    "prediction": "PredictionDetector",
    "ensemble": "EnsembleDetector",
}


@dataclass(kw_only=True, eq=False)
class Detector(BaseDetector):
    """Finds anomalies in recordings whose variables come and go, without labels.

    Several questions are asked of each row against the reference data, and joined; the detector
    follows what is normal. Nothing in it is left to chance. The paper's detectors are in
    :mod:`smkc.paper`.

    Parameters
    ----------
    window
        rows per window; ``auto`` finds them from the reference data.
    counters
        ``auto`` turns counters into rates; None does not.
    identity
        rule for the family of a variable; by default its metric name.
    rules
        what you know of some variables: tables such as ``{"match": "latency_.*", "only": "up"}``.
        ``match`` is a regular expression for the whole name or the metric, and the first that fits
        counts. ``only`` (up or down) says which way is trouble, ``at_least`` how far from usual a
        value must be to matter, in its own unit, ``never`` that the variable is left out.
    false_alarm_rate
        false alerts per time step that normal data may raise: 2 per 1,000 by default.
    align
        where a window's score is placed: ``prompt`` at its last row, where it is known, ``sharp``
        at its first.

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
    false_alarm_rate: float = 0.002
    align: str = "sharp"

    if TYPE_CHECKING:

        @property
        def fitted_(self) -> EvidenceFitted:
            """All that was learned."""

    @classmethod
    def _refuse_unknown(cls, settings: dict[str, Any]) -> None:
        if "detector" in settings:
            kind = settings["detector"]
            if kind in CLASS_OF_KIND:
                raise SettingError(
                    f"detector={kind!r} is a class of its own: smkc.paper.{CLASS_OF_KIND[kind]}()"
                )
            raise SettingError(
                f"detector={kind!r}: Detector is the default and has no such setting; leave it "
                f"out, or use {' or '.join(f'smkc.paper.{one}' for one in CLASS_OF_KIND.values())}"
            )
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
        )

    def evidences(self, recording: Any) -> dict[str, NDArray[np.float64]]:
        """By name, (T,) how surprised each evidence was by each row as it came, in nats.

        That is minus the logarithm of a p-value; NaN where it had nothing to say.
        """
        scored = self.score(recording)
        per_row = scored.given.per_row
        return {name: per_row(nats) for name, nats in scored.evidences.items()}

    def stream(self, resume: str | Path | None = None) -> EvidenceStream:
        """Return a stream: the same scores, one time step at a time, to the bit.

        ``resume`` is a file that :meth:`smkc.stream.Stream.save` wrote: the stream goes on there.
        """
        made = self.fitted_.stream()
        return made if resume is None else made.resume(resume)
