"""Base class of all detectors: from a recording to scores, alerts and causes.

In: reference data, then recordings to score. Out: scores, p-values, alerts, causes. A subclass is a
dataclass of its settings; its ``_empty`` method turns them into a state that has learned nothing.
"""

import warnings
from abc import ABC, abstractmethod
from copy import deepcopy
from dataclasses import asdict, fields
from difflib import get_close_matches
from importlib import import_module
from pathlib import Path
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from smkc import compiling, model_file
from smkc.decide import (
    ALIGNMENTS,
    Alert,
    Cause,
    Fitted,
    Learned,
    Scored,
    WindowScores,
    check_rate,
)
from smkc.errors import NotFittedError, SettingError, UnscoredWarning
from smkc.recording import Aligned, Identity, aligned
from smkc.stream import Stream

compiling.announce()

# Names of settings in other libraries -> the corresponding setting here.
OTHER_NAMES = {
    "contamination": "false_alarm_rate, which is the rate of false alerts and not of anomalies",
    "n_neighbors": "neighbours",
    "random_state": "seed",
    "window_size": "window",
}

# Settings that may be changed without fitting again.
CHANGEABLE = ("false_alarm_rate",)


class BaseDetector(ABC):
    """Base class of detectors: their settings, and what they learned from reference data."""

    kind: ClassVar[str]
    """Name of the detector on the command line and in model files."""

    identity: Identity | None
    false_alarm_rate: float
    align: str

    _fitted: Fitted
    _learned: Learned | None
    _reference: Aligned | None
    _reference_steps: tuple[NDArray[np.float64], NDArray[np.float64]] | None

    def __new__(cls, *_: Any, **settings: Any) -> Self:
        """Raise SettingError for an unknown setting; suggest the one that was probably meant."""
        cls._refuse_unknown(settings)
        return super().__new__(cls)

    @classmethod
    def setting_names(cls) -> tuple[str, ...]:
        """Return the names of the settings."""
        return tuple(field.name for field in fields(cls))  # type: ignore[arg-type]

    @classmethod
    def _refuse_unknown(cls, settings: dict[str, Any]) -> None:
        known = cls.setting_names()
        for name in settings.keys() - set(known):
            close = get_close_matches(name, known, n=1)
            other = OTHER_NAMES.get(name)
            meant = other if other and other.split(",")[0] in known else close[0] if close else None
            hint = f"use {meant}" if meant else f"its settings are {', '.join(known)}"
            raise SettingError(f"{cls.__name__} has no setting {name!r}; {hint}")

    @abstractmethod
    def _empty(self) -> Fitted:
        """Check the settings and return the state they describe, before any data."""

    def place(self, device: str | None) -> None:  # noqa: B027 (most have one place only)
        """Choose the device that a loaded detector scores on; None keeps the detector's choice."""

    def _check_common(self) -> None:
        """Check the settings that every detector has."""
        check_choice("align", self.align, ALIGNMENTS)
        check_rate(self.false_alarm_rate)

    # ------------------------------------------------------------------ learning

    def fit(self, reference: Any, y: Any = None) -> Self:
        """Learn what is normal from reference data; ``y`` is ignored.

        Parameters
        ----------
        reference
            a recording, or anything that :func:`smkc.read` takes.
        """
        given = aligned(reference)
        fitted = self._empty().updated(given.recording, self._seed)
        self._take(fitted, Learned.of(given.recording), given)
        return self

    def partial_fit(self, reference: Any, y: Any = None) -> Self:
        """Learn from more reference data, in bounded memory.

        New variables get a scaling of their own; the scaling of known variables does not change.
        A detector with a neural network cannot be updated: fit it again.
        """
        if not self.is_fitted:
            return self.fit(reference)
        more = aligned(reference).recording
        self._fitted = self.fitted_.updated(more, self._seed)
        self._learned = self._learned.and_then(more) if self._learned else None
        self._reference = None
        return self

    @property
    def _seed(self) -> int:
        """Random seed for learning; 0 for detectors without a ``seed`` setting."""
        return int(getattr(self, "seed", 0))

    def _take(
        self, fitted: Fitted, learned: Learned | None, reference: Aligned | None = None
    ) -> None:
        """Store what was learned and from which rows, with a copy of the current settings."""
        self._fitted = fitted
        self._learned = learned
        self._fitted_with = deepcopy(self.get_params())
        self._reference = reference
        self._reference_steps = None

    # ------------------------------------------------------------------ judging

    def score(self, recording: Any) -> Scored:
        """Score a recording; return its scores, p-values, evidences, alerts and their causes.

        Parameters
        ----------
        recording
            the whole recording, from its beginning, or anything that :func:`smkc.read` takes.
        """
        given, fitted = aligned(recording), self.fitted_
        windows = fitted.score(given.recording)
        n_unscored = int(np.isnan(windows.scores).sum())
        if n_unscored:
            warnings.warn(
                f"{n_unscored:,} of {len(windows.scores):,} windows {self._why_unscored()}",
                UnscoredWarning,
                stacklevel=3,
            )
        return Scored(
            given=given,
            windows_scored=windows,
            fitted=fitted,
            learned=self._learned,
            false_alarm_rate=self.false_alarm_rate,
            align=self.align,
            settings={"detector": self.kind, **self.get_params()},
        )

    def _why_unscored(self) -> str:
        """Return the text of the warning: why windows have no score, and what would help."""
        return "hold too few observations to be scored (NaN); a coarser step would score them"

    def decision_function(self, recording: Any, align: str | None = None) -> NDArray[np.float64]:
        """Return (T,) scores, one per time step; higher is more anomalous, NaN is unscored.

        For a wide table in memory, the result has one score per row of the table, in the table's
        order, even if its rows are not sorted or repeat a time. The same holds for
        :meth:`p_values` and :meth:`predict`.
        """
        scored = self.score(recording)
        return scored.given.per_row(scored.scores_aligned(align or self.align))

    def p_values(self, recording: Any) -> NDArray[np.float64]:
        """Return (T,) p-values under what was normal at the time of each row; NaN if unscored."""
        scored = self.score(recording)
        return scored.given.per_row(scored.p_values)

    def predict(self, recording: Any) -> NDArray[np.int64]:
        """Return (T,) 1 for the time steps of :meth:`alerts`, else 0."""
        scored = self.score(recording)
        return scored.given.per_row(scored.is_alert)

    def score_windows(self, recording: Any) -> WindowScores:
        """Return the scores and p-values of all windows, in order of time."""
        return self.score(recording).windows

    def alerts(self, recording: Any, explain: bool = True) -> list[Alert]:
        """Return intervals of time steps past the threshold, in order of time, with causes."""
        return self.score(recording).alerts(explain)

    def explain(self, recording: Any, start: Any, end: Any = None) -> list[Cause]:
        """Return the causes of the most anomalous window between two times, largest share first.

        Parameters
        ----------
        recording
            the whole recording, from its beginning: scaling depends on the past.
        start, end
            times in the recording's own unit, both inclusive; without ``end``, one moment.
        """
        return self.score(recording).explain(start, end)

    def stream(self, resume: str | Path | None = None) -> Stream:
        """Return a stream, which computes the same window scores one time step at a time.

        ``resume`` is a file that :meth:`smkc.stream.Stream.save` wrote; the stream continues from
        there.
        """
        made = self.fitted_.stream()
        return made if resume is None else made.resume(resume)

    # ------------------------------------------------------------------ what was learned

    @property
    def is_fitted(self) -> bool:
        """Whether the detector has seen reference data."""
        return getattr(self, "_fitted", None) is not None

    @property
    def threshold_(self) -> float:
        """Score that the share ``false_alarm_rate`` of the reference time steps exceeds."""
        return self.fitted_.threshold(self.false_alarm_rate)

    @property
    def decision_scores_(self) -> NDArray[np.float64]:
        """(T,) scores of the reference data, each by a model that did not learn from that row.

        The paper's detectors score each window without the block of rows around it; those with a
        neural network score the rows held out from training. The default detector learns from the
        first 60% of the rows and scores the others. Rows without a score are NaN. Computed on
        first access and cached.
        """
        return self._scored_reference()[0].copy()

    @property
    def labels_(self) -> NDArray[np.int64]:
        """(T,) 1 where the reference data themselves are above the alert threshold, else 0."""
        alarms = self._scored_reference()[1]
        with np.errstate(invalid="ignore"):
            marked = alarms > self.fitted_.of_steps.threshold(self.false_alarm_rate)
        return marked.astype(np.int64)

    def _scored_reference(self) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Return (T,) scores and (T,) alarms of the reference data."""
        fitted = self.fitted_
        if self._reference is None:
            raise NotFittedError(
                "the reference data are not kept by partial_fit or in a model file; score them "
                "with decision_function"
            )
        if self._reference_steps is None:
            given = self._reference
            scores, alarms = fitted.reference_steps(given.recording)
            self._reference_steps = given.per_row(scores), given.per_row(alarms)
        return self._reference_steps

    @property
    def learned_(self) -> Learned | None:
        """Rows that were learned from; None if unknown, as in model files of older versions."""
        return self._learned if self.fitted_ else None

    @property
    def fitted_(self) -> Fitted:
        """Everything that was learned; raises SettingError if settings have changed since."""
        if not self.is_fitted:
            raise NotFittedError("this detector has seen no reference data; call fit first")
        for name, value in self._fitted_with.items():
            if name not in CHANGEABLE and getattr(self, name) != value:
                raise SettingError(
                    f"fitted with {name}={value!r}, now {name}={getattr(self, name)!r}: fit again, "
                    "or set it back"
                )
        return self._fitted

    # ------------------------------------------------------------------ settings

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """Return the settings by name, as scikit-learn expects."""
        return {name: getattr(self, name) for name in self.setting_names()}

    def set_params(self, **settings: Any) -> Self:
        """Change settings by name."""
        self._refuse_unknown(settings)
        for name, value in settings.items():
            setattr(self, name, value)
        return self

    def __sklearn_tags__(self) -> Any:
        utils = import_module("sklearn.utils")  # only scikit-learn asks, so it is installed
        return utils.Tags(
            estimator_type="outlier_detector",
            target_tags=utils.TargetTags(required=False),
            input_tags=utils.InputTags(allow_nan=True, dict=True, string=True),
        )

    def __sklearn_is_fitted__(self) -> bool:
        return self.is_fitted

    # ------------------------------------------------------------------ the model file

    def save(self, path: str | Path) -> None:
        """Write the fitted detector to one file; :func:`smkc.load` reads it back exactly."""
        arrays, header = self.fitted_.to_arrays()
        settings = {"detector": self.kind, **self.get_params()}
        if self.identity is not None:
            settings["identity"] = asdict(self.identity)
        if self._learned is not None:
            header["learned"] = asdict(self._learned)
        model_file.write(path, arrays, {"kind": "detector", "settings": settings, **header})


def check_choice(name: str, value: Any, known: tuple[Any, ...]) -> None:
    """Raise SettingError if a setting's value is not one of the known ones."""
    if value not in known:
        raise SettingError(f"{name}={value!r} is not known; use {' or '.join(map(repr, known))}")


def check_whole(name: str, value: Any, smallest: int) -> None:
    """Raise SettingError unless a setting's value is an integer of at least ``smallest``."""
    if not isinstance(value, int) or isinstance(value, bool) or value < smallest:
        raise SettingError(f"{name}={value!r}: give a whole number from {smallest} up")
