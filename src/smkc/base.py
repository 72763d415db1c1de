"""BaseDetector: what every detector does, from a recording to scores, alerts and reasons.

In: reference data, then recordings to judge. Out: scores, p-values, alerts, causes. A detector is a
dataclass of its settings, and knows how to turn them into a state that has learned nothing yet.
"""

import warnings
from abc import ABC, abstractmethod
from copy import deepcopy
from dataclasses import asdict, fields
from difflib import get_close_matches
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
from smkc.sklearn_tags import outlier_tags
from smkc.stream import Stream

__all__ = ["BaseDetector", "check_choice", "check_whole"]

compiling.announce()

# What other libraries call settings that detectors have under another name.
OTHER_NAMES = {
    "contamination": "false_alarm_rate, which is the rate of false alerts and not of anomalies",
    "n_neighbors": "neighbours",
    "random_state": "seed",
    "window_size": "window",
}

# This may be changed without fitting again.
CHANGEABLE = ("false_alarm_rate",)


class BaseDetector(ABC):
    """A detector: settings by name, and what was learned from reference data."""

    kind: ClassVar[str]
    """Its name on the command line and in model files."""

    learns_apart: ClassVar[bool] = False
    """Whether parts of the reference data can be learned by themselves and joined."""

    identity: Identity | None
    false_alarm_rate: float
    align: str

    _fitted: Fitted
    _learned: Learned | None
    _reference: Aligned | None
    _reference_steps: tuple[NDArray[np.float64], NDArray[np.float64]] | None

    def __new__(cls, *_: Any, **settings: Any) -> Self:
        """Refuse settings that do not exist, with the one that was probably meant."""
        cls._refuse_unknown(settings)
        return super().__new__(cls)

    @classmethod
    def setting_names(cls) -> tuple[str, ...]:
        """Return the names of its settings."""
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
        """Check the settings and return what they describe before any data."""

    def place(self, device: str | None) -> None:  # noqa: B027 (most have one place only)
        """Choose where a detector read from a file scores; None leaves it to the detector."""

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

        Variables that are new get a scaling of their own; what was learned about others stays. A
        trained detector cannot learn on: fit it again.
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
        """Seed of what is left to chance in learning, for detectors that have any."""
        return int(getattr(self, "seed", 0))

    def _take(
        self, fitted: Fitted, learned: Learned | None, reference: Aligned | None = None
    ) -> None:
        """Take over what was learned, and from what, with the settings as they are."""
        self._fitted = fitted
        self._learned = learned
        self._fitted_with = deepcopy(self.get_params())
        self._reference = reference
        self._reference_steps = None

    # ------------------------------------------------------------------ judging

    def score(self, recording: Any) -> Scored:
        """Score a recording once: scores, p-values, evidences, alerts and their causes.

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
        """Say what windows lack that get no score, and what would help."""
        return "hold too few observations to be scored (NaN); a coarser step would score them"

    def decision_function(self, recording: Any, align: str | None = None) -> NDArray[np.float64]:
        """(T,) one score per time step, higher = more anomalous; NaN where there is none.

        A wide table in memory gets one score for each of its rows, in their order, shuffled or
        repeated as they may be; by :meth:`p_values` and :meth:`predict` too.
        """
        scored = self.score(recording)
        return scored.given.per_row(scored.scores_aligned(align or self.align))

    def p_values(self, recording: Any) -> NDArray[np.float64]:
        """(T,) p-values, under what was normal when each row came; NaN where there is none."""
        scored = self.score(recording)
        return scored.given.per_row(scored.p_values)

    def predict(self, recording: Any) -> NDArray[np.int64]:
        """(T,) 1 in the time steps of :meth:`alerts`, else 0."""
        scored = self.score(recording)
        return scored.given.per_row(scored.is_alert)

    def score_windows(self, recording: Any) -> WindowScores:
        """Scores and p-values of all windows, in order of time."""
        return self.score(recording).windows

    def alerts(self, recording: Any, explain: bool = True) -> list[Alert]:
        """Intervals of time steps past the threshold, in order of time, with their causes."""
        return self.score(recording).alerts(explain)

    def explain(self, recording: Any, start: Any, end: Any = None) -> list[Cause]:
        """Causes of the most anomalous window between two times, most guilty first.

        Parameters
        ----------
        recording
            the whole recording, from its beginning: scaling depends on the past.
        start, end
            times in the recording's own unit, both inclusive; without ``end``, one moment.
        """
        return self.score(recording).explain(start, end)

    def stream(self, resume: str | Path | None = None) -> Stream:
        """Return a stream: the same window scores, one time step at a time.

        ``resume`` is a file that :meth:`smkc.stream.Stream.save` wrote: the stream goes on there.
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
        """Score of a time step that reference data exceed as often as the false-alarm rate says."""
        return self.fitted_.threshold(self.false_alarm_rate)

    @property
    def decision_scores_(self) -> NDArray[np.float64]:
        """(T,) scores of the reference data, of rows that were not learned from.

        The paper's detectors leave the block of rows around each window out of the reference set,
        trained ones score the rows held out from training; the default scores the later rows by
        what the first ones teach. NaN for the others. Worked out when first asked for, and kept.
        """
        return self._scored_reference()[0].copy()

    @property
    def labels_(self) -> NDArray[np.int64]:
        """(T,) 1 where the reference data themselves would raise an alert, else 0."""
        alarms = self._scored_reference()[1]
        with np.errstate(invalid="ignore"):
            marked = alarms > self.fitted_.of_steps.threshold(self.false_alarm_rate)
        return marked.astype(np.int64)

    def _scored_reference(self) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """(T,) scores and (T,) alarms of the reference data."""
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
        """Which rows were learned from; None if a model file of an older version does not say."""
        return self._learned if self.fitted_ else None

    @property
    def fitted_(self) -> Fitted:
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

    # ------------------------------------------------------------------ settings

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """Return the settings by name, as scikit-learn asks for them."""
        return {name: getattr(self, name) for name in self.setting_names()}

    def set_params(self, **settings: Any) -> Self:
        """Change settings by name."""
        self._refuse_unknown(settings)
        for name, value in settings.items():
            setattr(self, name, value)
        return self

    def __sklearn_tags__(self) -> Any:
        return outlier_tags()

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
            header["learned"] = self._learned.to_dict()
        model_file.write(path, arrays, {"kind": "detector", "settings": settings, **header})


def check_choice(name: str, value: Any, known: tuple[Any, ...]) -> None:
    """Refuse a value that is none of those that a setting can have."""
    if value not in known:
        raise SettingError(f"{name}={value!r} is not known; use {' or '.join(map(repr, known))}")


def check_whole(name: str, value: Any, smallest: int) -> None:
    """Refuse what is not a whole number, or too small a one."""
    if not isinstance(value, int) or isinstance(value, bool) or value < smallest:
        raise SettingError(f"{name}={value!r}: give a whole number from {smallest} up")
