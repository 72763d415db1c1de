"""Detector: the rooms in order, from a recording to scores, alerts and reasons.

In: reference data, then recordings to judge. Out: scores, p-values, alerts, causes.
"""

import warnings
from copy import deepcopy
from dataclasses import asdict, dataclass, fields, replace
from difflib import get_close_matches
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from smkc import compiling, model_file
from smkc.decide import Alert, Cause, WindowScores, find_alerts
from smkc.errors import NotFittedError, SettingError, UnscoredWarning, WindowError
from smkc.fitted import EvidenceFitted, Fitted, Judged
from smkc.recording import Aligned, Identity, Recording, Scaling, aligned
from smkc.settings import ONLY_LEARNED, empty_fitted
from smkc.sklearn_tags import outlier_tags
from smkc.stream import EvidenceStream, Stream

__all__ = ["Detector"]

compiling.announce()

# An alert goes on while scores stay above the threshold of a rate so many times higher.
RELEASE_RATE = 10.0

# What other libraries call settings that Detector has under another name.
OTHER_NAMES = {
    "contamination": "false_alarm_rate, which is the rate of false alerts and not of anomalies",
    "n_neighbors": "neighbours",
    "random_state": "seed",
    "window_size": "window",
}

# This may be changed without fitting again.
CHANGEABLE = ("false_alarm_rate",)


@dataclass(kw_only=True, eq=False)
class Detector:
    """Finds anomalies in recordings whose variables come and go, without labels.

    Parameters
    ----------
    detector
        ``evidence``: several questions asked of each row against the reference data, joined; it
        follows what is normal. ``knn``: the paper's training-free detector. ``recon``,
        ``prediction`` and their ``ensemble`` are the paper's trained ones: they need torch (extra
        ``deep``), minutes instead of seconds, and more reference data, of which they hold out a
        fifth.
    window, stride
        rows a window, and rows from one window to the next. ``auto`` lets ``evidence`` find its
        window from the reference data, and is 64 for the others.
    representation
        how a window becomes features; see :class:`smkc.paper.kernel.Representation`. Trained
        detectors read the whole image, by default with all its channels.
    buckets, presence, saturate, normalise
        settings of the sketch; see :class:`smkc.paper.sketch.Sketch`.
    components
        numbers that remain after the random projection, which only ``knn`` has.
    neighbours
        how many nearest reference windows a score averages over.
    reference_size
        how many reference windows are kept at most. From 100,000 kept on, ``knn`` seeks a window's
        neighbours by an index that misses a few, if faiss is installed (extra ``ann``).
    scaling
        ``robust`` brings variables to a common measure; None takes values as they are.
    counters
        ``auto`` turns counters into rates (only with scaling); None does not.
    identity
        rule for the family of a variable; by default its metric name.
    false_alarm_rate
        false alerts per time step that normal data may raise: one per 1,000 by default.
    least_filled
        share of a window's rows that must hold an observation for it to be scored.
    align
        how windows' scores become time steps' scores: ``sharp`` or ``prompt``; see
        :func:`smkc.decide.step_scores` for what each costs.
    seed
        of the projection and of the choice of reference windows, or of training.
    device
        where ``knn`` and trained detectors learn and score: ``cpu`` or ``cuda`` (extra ``deep``).
    epochs
        passes over the training windows, at most; None for the default.
    learn
        further options of training by name, such as ``{"width": 64, "batch_size": 32}``; all of
        them are in :data:`smkc.paper.learn.options.OPTIONS`.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> reference = {"time": np.arange(600), "cpu": rng.normal(size=600)}
    >>> live = {"time": np.arange(200), "cpu": rng.normal(size=200), "new": rng.normal(size=200)}
    >>> det = Detector(false_alarm_rate=0.01).fit(reference)
    >>> det.decision_function(live).shape
    (200,)
    """

    detector: str = "evidence"
    window: int | str = "auto"
    stride: int = 1
    representation: str = "log3 band(8)"
    buckets: int = 128
    presence: bool = True
    saturate: bool = True
    normalise: bool = True
    components: int = 256
    neighbours: int = 20
    reference_size: int = 4096
    scaling: str | None = "robust"
    counters: str | None = "auto"
    identity: Identity | None = None
    false_alarm_rate: float = 0.002
    least_filled: float = 0.5
    align: str = "sharp"
    seed: int = 0
    device: str = "cpu"
    epochs: int | None = None
    learn: dict[str, Any] | None = None

    def __new__(cls, *_: Any, **settings: Any) -> "Detector":
        """Refuse settings that do not exist, with the one that was probably meant."""
        for name in settings.keys() - {field.name for field in fields(cls)}:
            close = get_close_matches(name, [field.name for field in fields(cls)], n=1)
            meant = OTHER_NAMES.get(name) or (close[0] if close else None)
            hint = f"use {meant}" if meant else "help(smkc.Detector) lists the settings"
            raise SettingError(f"Detector has no setting {name!r}; {hint}")
        return super().__new__(cls)

    # ------------------------------------------------------------------ learning

    def fit(self, reference: Any, y: Any = None) -> "Detector":
        """Learn what is normal from reference data; ``y`` is ignored.

        Parameters
        ----------
        reference
            a recording, or anything that :func:`smkc.read` takes.
        """
        given = aligned(reference)
        recording = given.recording
        empty = self._empty()
        if isinstance(empty, Fitted) and self.scaling is not None:
            scaling = Scaling.fit(recording, self.identity, self.counters)  # type: ignore[arg-type]
            empty = replace(empty, scaling=scaling)
        self._fitted: Fitted | EvidenceFitted = empty.learned(recording, self.seed)
        self._fitted_with = deepcopy(self.get_params())
        self._reference: Aligned | None = given
        return self

    def partial_fit(self, reference: Any, y: Any = None) -> "Detector":
        """Learn from more reference data, in bounded memory.

        The reference set stays a uniform sample of all windows offered so far. Variables that are
        new get a scaling of their own; what was learned about others stays. A trained detector
        cannot learn on: fit it again.
        """
        if not self.is_fitted:
            return self.fit(reference)
        before = self.fitted_
        recording = aligned(reference).recording
        if isinstance(before, Fitted) and before.scaling is not None:
            before = replace(before, scaling=before.scaling.update(recording))
        self._fitted = before.learned(recording, self.seed)
        self._reference = None
        return self

    # ------------------------------------------------------------------ judging

    def decision_function(self, recording: Any, align: str | None = None) -> NDArray[np.float64]:
        """(T,) a score a time step, higher = more anomalous; NaN where there is none.

        A wide table in memory gets one score for each of its rows, in their order, shuffled or
        repeated as they may be; by :meth:`p_values`, :meth:`predict`, :meth:`evidences` too.
        """
        given = aligned(recording)
        judged = self._judged(given.recording)
        return given.per_row(self.fitted_.step_scores(judged, align or self.align))

    def p_values(self, recording: Any) -> NDArray[np.float64]:
        """(T,) a p-value a time step, under what was normal when it came; NaN where it has none."""
        given, learned = aligned(recording), self.fitted_
        judged = self._judged(given.recording)
        return given.per_row(learned.of_steps.p_values(learned.step_alarms(judged)))

    def predict(self, recording: Any) -> NDArray[np.int64]:
        """(T,) 1 in the time steps of :meth:`alerts`, else 0."""
        given = aligned(recording)
        marked = np.zeros(len(given.recording), np.int64)
        for alert in self._alerts(self._judged(given.recording), given.recording):
            marked[alert.first_row : alert.last_row + 1] = 1
        return given.per_row(marked)

    def score_windows(self, recording: Any) -> WindowScores:
        """Scores and p-values of all windows, in order of time."""
        given = aligned(recording)
        times, judged = given.recording.times, self._judged(given.recording)
        return WindowScores(
            first_row=judged.first_rows,
            last_row=judged.last_rows,
            start=times[judged.first_rows],
            end=times[judged.last_rows],
            score=judged.scores,
            p_value=judged.p_values,
            labels=given.labels_at(judged.last_rows),
            zone=given.zone,
        )

    def evidences(self, recording: Any) -> dict[str, NDArray[np.float64]]:
        """By name, (T,) how surprised each evidence was by each row as it came, in nats.

        That is minus the logarithm of a p-value; NaN where it had nothing to say. Only
        ``evidence`` has any.
        """
        given = aligned(recording)
        judged = self._judged(given.recording)
        if not judged.by_evidence:
            raise SettingError(
                f"detector={self.detector!r} has no evidences; choose detector='evidence'"
            )
        return {name: given.per_row(nats) for name, nats in judged.by_evidence.items()}

    def alerts(self, recording: Any, explain: bool = True) -> list[Alert]:
        """Intervals of time steps past the threshold, in order of time, with their causes."""
        recording = aligned(recording).recording
        judged = self._judged(recording)
        alerts = self._alerts(judged, recording)
        if not explain:
            return alerts
        worst = [self._worst(judged, alert.first_row, alert.last_row) for alert in alerts]
        causes = self.fitted_.causes(judged, worst)
        return [alert.with_causes(found) for alert, found in zip(alerts, causes, strict=True)]

    def explain(self, recording: Any, start: Any, end: Any = None) -> list[Cause]:
        """Causes of the most anomalous window between two times, most guilty first.

        Parameters
        ----------
        recording
            the whole recording, from its beginning: scaling depends on the past.
        start, end
            times in the recording's own unit, both inclusive; without ``end``, one moment.
        """
        recording = aligned(recording).recording
        first = recording.row_at(start)
        last = first if end is None else recording.row_at(end)
        if first >= len(recording) or last < first:
            raise WindowError(
                f"no row between {start!r} and {start if end is None else end!r}; choose times "
                f"between {recording.times[0]} and {recording.times[-1]}"
            )
        judged = self._judged(recording)
        return self.fitted_.causes(judged, [self._worst(judged, first, last)])[0]

    def stream(self, resume: str | Path | None = None) -> Stream | EvidenceStream:
        """Return a stream: the same window scores, one time step at a time.

        ``resume`` is a file that :meth:`smkc.stream.Stream.save` wrote: the stream goes on there.
        """
        learned = self.fitted_
        made: Stream | EvidenceStream = (
            Stream(learned) if isinstance(learned, Fitted) else EvidenceStream(learned)
        )
        return made if resume is None else made.resume(resume)

    # ------------------------------------------------------------------ what was learned

    @property
    def is_fitted(self) -> bool:
        """Whether the detector has seen reference data."""
        return getattr(self, "_fitted", None) is not None

    @property
    def threshold_(self) -> float:
        """Score of a time step that reference data exceed as often as the false-alarm rate says."""
        return self.fitted_.threshold(self.false_alarm_rate)

    @property
    def decision_scores_(self) -> NDArray[np.float64]:
        """(T,) scores of the reference data, each window without the block of rows around it.

        A trained detector has them for held-out rows; NaN for those it was trained on.
        """
        given = self._kept_reference()
        return given.per_row(self.fitted_.reference_scores(given.recording))

    @property
    def labels_(self) -> NDArray[np.int64]:
        """(T,) 1 where the reference data themselves would raise an alert, else 0."""
        learned, given = self.fitted_, self._kept_reference()
        alarms = given.per_row(learned.reference_alarms(given.recording))
        with np.errstate(invalid="ignore"):
            marked = alarms > learned.of_steps.threshold(self.false_alarm_rate)
        return marked.astype(np.int64)

    def _kept_reference(self) -> Aligned:
        if self._reference is None:
            raise NotFittedError(
                "the reference data are not kept by partial_fit or in a model file; score them "
                "with decision_function"
            )
        return self._reference

    # ------------------------------------------------------------------ settings

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """Return the settings by name, as scikit-learn asks for them."""
        return {field.name: getattr(self, field.name) for field in fields(self)}

    def set_params(self, **settings: Any) -> "Detector":
        """Change settings by name."""
        known = self.get_params()
        for name, value in settings.items():
            if name not in known:
                raise SettingError(
                    f"no setting {name!r}; the settings are {', '.join(sorted(known))}"
                )
            setattr(self, name, value)
        return self

    def __sklearn_tags__(self) -> Any:
        return outlier_tags()

    def __sklearn_is_fitted__(self) -> bool:
        return self.is_fitted

    def _empty(self) -> Fitted | EvidenceFitted:
        """Check the settings and return what they describe before any data."""
        return empty_fitted(self.get_params())

    @property
    def fitted_(self) -> Fitted | EvidenceFitted:
        """All that was learned."""
        if not self.is_fitted:
            raise NotFittedError("this detector has seen no reference data; call fit first")
        for name, value in self._fitted_with.items():
            if name not in CHANGEABLE and getattr(self, name) != value:
                raise SettingError(
                    f"fitted with {name}={value!r}, now {name}={getattr(self, name)!r}: fit again, "
                    "or set it back"
                )
        return self._fitted

    # ------------------------------------------------------------------ inside

    def _judged(self, recording: Recording) -> Judged:
        judged = self.fitted_.judged(recording)
        n_unscored = int(np.isnan(judged.scores).sum())
        if n_unscored:
            warnings.warn(
                f"{n_unscored:,} of {len(judged.scores):,} windows have observations in fewer than "
                f"{self.least_filled:.0%} of their rows and get no score (NaN); a coarser step, "
                "or a lower least_filled, would score them",
                UnscoredWarning,
                stacklevel=3,
            )
        return judged

    def _alerts(self, judged: Judged, recording: Recording) -> list[Alert]:
        """Return the alerts of a recording without their causes."""
        learned = self.fitted_
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            release = learned.of_steps.threshold(min(RELEASE_RATE * self.false_alarm_rate, 0.5))
        return find_alerts(
            learned.step_alarms(judged),
            recording.times,
            learned.of_steps,
            learned.of_steps.threshold(self.false_alarm_rate),
            release,
            join=learned.join,
        )

    def _worst(self, judged: Judged, first: int, last: int) -> int:
        """Return the number of the highest window that overlaps rows first to last."""
        number = judged.worst(first, last)
        if number is None:
            raise WindowError(
                f"no window with a score covers rows {first} to {last}; choose a time at which "
                "more was observed, or before the last window's end"
            )
        return number

    # ------------------------------------------------------------------ the model file

    def save(self, path: str | Path) -> None:
        """Write the fitted detector to one file; :func:`smkc.load` reads it back exactly."""
        arrays, header = self.fitted_.to_arrays()
        settings = self.get_params()
        if self.identity is not None:
            settings["identity"] = asdict(self.identity)
        if self.detector in ("knn", "evidence"):  # which have hardly ever one of these
            settings = {k: v for k, v in settings.items() if v != ONLY_LEARNED.get(k, ...)}
        model_file.write(path, arrays, {"kind": "detector", "settings": settings, **header})
