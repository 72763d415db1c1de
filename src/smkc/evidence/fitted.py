"""The fitted state of the default detector.

In: reference data, then recordings. Out: scores of rows, their p-values under what was normal when
each row came, and causes.
"""

import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from smkc import progress
from smkc.decide import ALIGNMENTS, Calibration, Cause, NewNormal, ScoredWindows
from smkc.errors import CalibrationWarning, InputWarning, SettingError
from smkc.evidence.causes.loud import loud_rows, loudness
from smkc.evidence.causes.wording import causes_of
from smkc.evidence.checkpoints import Checkpoints, Saved, resumed
from smkc.evidence.decision.thresholds import SurpriseThresholds
from smkc.evidence.model import ReferenceEvidence
from smkc.evidence.settings import SETTINGS
from smkc.evidence.state import EvidenceScores
from smkc.evidence.stream import EvidenceScan, EvidenceStream
from smkc.evidence.usual import usual_band
from smkc.evidence.variables import UTC_CALENDAR, Calendar
from smkc.recording import Identity, Recording
from smkc.recording.rules import Rule

# Rows scored at a time. A checkpoint is saved before each part, for finding causes later.
ROWS_PER_CHECKPOINT = 512


@dataclass(frozen=True, kw_only=True, eq=False)
class EvidenceFitted:
    """The settings of the default detector and the model it has learned.

    Parameters
    ----------
    align
        the rows that scores also reflect: ``prompt`` for those before, ``sharp`` for those around.
    wanted
        rows per window, or "auto".
    identity, counters
        as for :meth:`ReferenceEvidence.fit`.
    rules
        the user's rules for some variables.
    calendar
        the clock and the holidays that days and weeks are counted by.
    model
        the learned model; None before any data.
    """

    align: str
    wanted: int | str = "auto"
    identity: Identity | None = None
    counters: str | None = "auto"
    rules: tuple[Rule, ...] = ()
    calendar: Calendar = UTC_CALENDAR
    model: ReferenceEvidence | None = None

    stride = 1
    has_independent_windows = False

    @property
    def known(self) -> ReferenceEvidence:
        """The learned model."""
        assert self.model is not None
        return self.model

    @property
    def window(self) -> int:
        """Rows per window."""
        return self.known.choices.window

    @property
    def held_rows(self) -> int:
        """Rows over which a surprise is held in scores."""
        return SETTINGS.calm_rows

    @property
    def join(self) -> int:
        """Largest number of quiet rows within one alert."""
        return SETTINGS.calm_rows

    @property
    def seasons(self) -> Mapping[str, float]:
        """Period of each variable that has a season, in seconds for dates."""
        asked, found = self.known.asked_columns, self.known.variables.seasons
        return {asked[at]: float(p) for at, p in zip(found.columns, found.period, strict=True)}

    @property
    def of_steps(self) -> SurpriseThresholds:
        """Distribution of normal alarms of time steps, based on each row of the null."""
        return SurpriseThresholds(self.known.normal.n_independent * self.window)

    def updated(self, recording: Recording, seed: int) -> "EvidenceFitted":
        """Return the state after more reference data; ``seed`` is ignored, as nothing is random."""
        if self.model is not None:
            return replace(self, model=self.model.learned(recording))
        model = ReferenceEvidence.fit(
            recording,
            window=self.wanted,
            identity=self.identity,
            counters=self.counters,
            rules=self.rules,
            calendar=self.calendar,
        )
        return replace(self, model=model)

    def score(self, recording: Recording) -> ScoredWindows:
        """Score a recording's rows, each with the window that ends there."""
        self._warn_of_strangers(recording)
        parts, checkpoints, new_normals = self._scored(recording)
        held, prompt, p_values = (
            np.concatenate([np.empty(0), *(getattr(part, key) for part in parts)])
            for key in ("held", "prompt", "p_values")
        )
        marks = np.concatenate([np.empty(0, np.int8), *(part.marks for part in parts)])
        names = self.known.evidence_names
        nats = np.concatenate([np.empty((0, len(names))), *(part.nats for part in parts)])
        rows = np.arange(len(recording))
        return ScoredWindows(
            prepared=recording,
            first_rows=np.maximum(rows - self.window + 1, 0),
            last_rows=rows,
            scores=held + prompt,
            p_values=p_values,
            alarms=-np.log(p_values),
            marks=marks,
            held=held,
            prompt=prompt,
            by_evidence=dict(zip(names, nats.T, strict=True)),
            checkpoints=checkpoints,
            new_normals=new_normals,
        )

    def step_scores(self, scored: ScoredWindows, align: str) -> NDArray[np.float64]:
        """Return (T,) scores of time steps, whose held part comes from the rows before or around.

        The prompt part always belongs to the row itself.
        """
        if align not in ALIGNMENTS:
            raise SettingError(f"align={align!r} is not known; use one of {', '.join(ALIGNMENTS)}")
        if align == "prompt" or not len(scored.scores):
            return scored.scores.copy()
        ahead = min(self.held_rows - 1, len(scored.held))
        begun = np.concatenate([scored.held[ahead:], np.full(ahead, scored.held[-1])])
        return begun + scored.prompt

    def step_alarms(self, scored: ScoredWindows) -> NDArray[np.float64]:
        """Return (T,) the surprise of each time step in nats, which depends on no later row."""
        return scored.alarms.copy()

    def threshold(self, rate: float) -> float:
        """Return the score that time steps of reference data exceed at most at this rate."""
        self.of_steps.threshold(rate)  # warns if the rate is too small for the data
        normal = self.known.normal
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", CalibrationWarning)
            return Calibration(np.sort(normal.scores), normal.n_independent).threshold(rate)

    def causes(
        self, scored: ScoredWindows, numbers: Sequence[int], begun: Sequence[int]
    ) -> list[list[Cause]]:
        """Return the causes of the windows ``numbers``, from the state after each window's rows.

        ``begun`` is the row in which each trouble began, as far as known.
        """
        recording = scored.prepared
        wanted = sorted(set(zip(numbers, begun, strict=True)))
        found: dict[tuple[int, int], list[Cause]] = {}
        nats = list(scored.by_evidence.values())
        state, at = self.known.start(), 0
        checkpoints: Mapping[int, Saved] = scored.checkpoints
        with progress.task("explaining alerts", len(wanted)) as advance:
            for number, since in wanted:
                end = int(scored.last_rows[number]) + 1
                nearest = max((row for row in checkpoints if row < end), default=0)
                if nearest > at:
                    state, at = resumed(self.known, checkpoints[nearest]), nearest
                state.push_rows(recording.rows(at, end))
                at = end
                # A score is held for 2 windows; it is explained by the loud rows among them.
                n_rows = 1 if state.is_beyond(end - 1) else 2 * self.window - 1
                oldest = max(0, end - n_rows)
                loud = {
                    row: loudness(of_evidence[row] for of_evidence in nats)
                    for row in range(oldest, end)
                }
                first, last = loud_rows(loud, oldest, end - 1)
                rows = recording.rows(max(0, first - self.window + 1), last + 1)
                blame = state.blame(first, last + 1, since)
                found[number, since] = causes_of(blame, rows, self.known, state.usual)
                advance(1)
        return [found[pair] for pair in zip(numbers, begun, strict=True)]

    def reference_steps(
        self, reference: Recording
    ) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Return (T,) scores and (T,) alarms of the reference's own rows.

        The model is fitted on the first 60% of them, which have NaN.
        """
        cut = int(SETTINGS.fitted_share * len(reference))
        ours = replace(self, model=None).updated(reference.rows(0, cut), 0)
        scored = ours.score(reference.rows(cut, len(reference)))
        unknown = np.full(cut, np.nan)
        return (
            np.concatenate([unknown, ours.step_scores(scored, self.align)]),
            np.concatenate([unknown, ours.step_alarms(scored)]),
        )

    def usual_band(
        self, variable: str, times: NDArray[Any]
    ) -> tuple[NDArray[np.float64], NDArray[np.float64]] | None:
        """Return (R,) lower and (R,) upper ends of the usual values at (R,) times.

        None for counters, and for variables that the reference does not know.
        """
        return usual_band(self.known, variable, times)

    def scan(self) -> EvidenceScan:
        """Return a scan that has seen no row yet."""
        return EvidenceScan(self.known)

    def stream(self) -> EvidenceStream:
        """Return a stream that has seen no row yet."""
        return EvidenceStream(self)

    def _warn_of_strangers(self, recording: Recording) -> None:
        """Warn if the reference knows no variable of a recording, nor any of their families."""
        known = self.known.names
        if not len(recording) or not recording.names or not set(known).isdisjoint(recording.names):
            return
        family = (self.identity or Identity()).family
        if {family(name) for name in known} & {family(name) for name in recording.names}:
            return
        warnings.warn(
            f"none of the {len(recording.names):,} variables, such as {recording.names[0]!r}, is "
            f"in the reference, which has {len(known):,}, such as {known[0]!r}: nothing can be "
            "said but of their own past; give variables the same names as in the reference",
            InputWarning,
            stacklevel=4,
        )

    def _scored(
        self, recording: Recording
    ) -> tuple[list[EvidenceScores], dict[int, Saved], tuple[NewNormal, ...]]:
        """Return the scores of all rows in parts, checkpoints by the next row, and new normals."""
        state = self.known.start()
        checkpoints, parts = Checkpoints(), []
        new_normals: dict[tuple[str, int], NewNormal] = {}
        with progress.task("scoring rows", len(recording)) as advance:
            for first in range(0, len(recording), ROWS_PER_CHECKPOINT):
                part = recording.rows(first, min(first + ROWS_PER_CHECKPOINT, len(recording)))
                before = checkpoints.save(state) if first else None
                parts.append(state.push_rows(part))
                for one in state.new_normals():
                    since = recording.times[one.row]
                    new_normals[one.variable, one.row] = replace(one, since=since)
                if before is not None:
                    checkpoints.keep(first, before, -float(np.log(parts[-1].p_values.min())))
                advance(len(part))
        in_order = sorted(new_normals.values(), key=lambda one: (one.row, one.variable))
        return parts, checkpoints.by_row(), tuple(in_order)

    # ------------------------------------------------------------------ saving

    def to_arrays(self) -> tuple[dict[str, NDArray[Any]], dict[str, Any]]:
        """Return arrays and a JSON-serializable header for the model file."""
        arrays, header = self.known.to_arrays()
        return arrays, {"evidence": header}

    def restored(
        self, arrays: Mapping[str, NDArray[Any]], header: Mapping[str, Any]
    ) -> "EvidenceFitted":
        """Return a copy of these settings with the model that :meth:`to_arrays` returned."""
        return replace(
            self, model=ReferenceEvidence.restored(arrays, header["evidence"], self.rules)
        )
