"""EvidenceFitted: what a detector has learned that joins evidences.

In: reference data. Out: scores of rows, their p-values under what was normal when each came, and
causes that name the evidence which spoke.
"""

import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from smkc import progress
from smkc.decide import ALIGNMENTS, Calibration, Cause, ScoredWindows
from smkc.errors import CalibrationWarning, InputWarning, SettingError
from smkc.evidence.checkpoints import Checkpoints, Saved, resumed
from smkc.evidence.loud import loud_rows, loudness
from smkc.evidence.reference import EvidenceScores, ReferenceEvidence
from smkc.evidence.scan import EvidenceScan
from smkc.evidence.stream import EvidenceStream
from smkc.evidence.thresholds import SurpriseThresholds
from smkc.evidence.usual import usual_band
from smkc.evidence.variables.loudest import CALM_ROWS
from smkc.evidence.wording import causes_of
from smkc.recording import Identity, Recording
from smkc.recording.rules import Rule

__all__ = ["EvidenceFitted"]

# Rows scored at a time; causes go on from where one of these parts begins.
ROWS_PER_CHECKPOINT = 512

# Reference rows are scored by evidences that were fitted on this share of them, the first.
REFERENCE_FITTED_SHARE = 0.6


@dataclass(frozen=True, kw_only=True, eq=False)
class EvidenceFitted:
    """The evidences and their reference.

    Parameters
    ----------
    align
        how a row's score is placed: ``prompt`` where it is known, ``sharp`` where its window began.
    wanted
        rows per window, or "auto".
    identity, counters
        of the scaling.
    rules
        what the user says of some variables.
    model
        what was learned; None before any data.
    """

    align: str
    wanted: int | str = "auto"
    identity: Identity | None = None
    counters: str | None = "auto"
    rules: tuple[Rule, ...] = ()
    model: ReferenceEvidence | None = None

    stride = 1
    has_independent_windows = False

    @property
    def known(self) -> ReferenceEvidence:
        """What was learned."""
        assert self.model is not None
        return self.model

    @property
    def window(self) -> int:
        """Rows a window."""
        return self.known.choices.window

    @property
    def join(self) -> int:
        """Most quiet rows between two alerts that are one."""
        return CALM_ROWS

    @property
    def seasons(self) -> Mapping[str, float]:
        """Period of each variable that has a season, in seconds for dates."""
        asked, found = self.known.asked_columns, self.known.variables.seasons
        return {asked[at]: float(p) for at, p in zip(found.columns, found.period, strict=True)}

    @property
    def of_steps(self) -> SurpriseThresholds:
        """What normal alarms of time steps look like; each row of the null says something."""
        return SurpriseThresholds(self.known.normal.n_independent * self.window)

    @property
    def of_windows(self) -> SurpriseThresholds:
        """What normal scores of windows look like."""
        return self.of_steps

    def updated(self, recording: Recording, seed: int) -> "EvidenceFitted":
        """Return what is known after more reference data; nothing in it is left to chance."""
        if self.model is not None:
            return replace(self, model=self.model.learned(recording))
        model = ReferenceEvidence.fit(
            recording,
            window=self.wanted,
            identity=self.identity,
            counters=self.counters,
            rules=self.rules,
        )
        return replace(self, model=model)

    def score(self, recording: Recording) -> ScoredWindows:
        """Score a recording's rows, each with the window that ends there."""
        self._warn_of_strangers(recording)
        parts, checkpoints = self._scored(recording)
        scores = np.concatenate([np.empty(0), *(part.scores for part in parts)])
        loudest = np.concatenate([np.empty(0), *(part.loudest for part in parts)])
        p_values = np.concatenate([np.empty(0), *(part.p_values for part in parts)])
        marks = np.concatenate([np.empty(0, np.int8), *(part.marks for part in parts)])
        names = self.known.evidence_names
        nats = np.concatenate([np.empty((0, len(names))), *(part.nats for part in parts)])
        rows = np.arange(len(recording))
        return ScoredWindows(
            prepared=recording,
            first_rows=np.maximum(rows - self.window + 1, 0),
            last_rows=rows,
            scores=scores + loudest,
            p_values=p_values,
            alarms=-np.log(p_values),
            marks=marks,
            held=scores,
            prompt=loudest,
            by_evidence=dict(zip(names, nats.T, strict=True)),
            checkpoints=checkpoints,
        )

    def step_scores(self, scored: ScoredWindows, align: str) -> NDArray[np.float64]:
        """(T,) a score for each time step: a window's, at its last row or at its first.

        What single variables add belongs to the row itself, however windows are aligned.
        """
        if align not in ALIGNMENTS:
            raise SettingError(f"align={align!r} is not known; use one of {', '.join(ALIGNMENTS)}")
        if align == "prompt" or not len(scored.scores):
            return scored.scores.copy()
        ahead = min(self.window - 1, len(scored.held))
        begun = np.concatenate([scored.held[ahead:], np.full(ahead, scored.held[-1])])
        return begun + scored.prompt

    def step_alarms(self, scored: ScoredWindows) -> NDArray[np.float64]:
        """(T,) how surprising each time step is, in nats; known as soon as the row is."""
        return scored.alarms.copy()

    def threshold(self, rate: float) -> float:
        """Return the score of a time step that reference data exceed at most so often."""
        self.of_steps.threshold(rate)  # which warns of rates that the data cannot show
        normal = self.known.normal
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", CalibrationWarning)
            return Calibration(np.sort(normal.totals), normal.n_independent).threshold(rate)

    def causes(self, scored: ScoredWindows, numbers: Sequence[int]) -> list[list[Cause]]:
        """Return the causes of some windows, asked of the evidences at that moment."""
        recording = scored.prepared
        wanted = sorted(set(numbers))
        found: dict[int, list[Cause]] = {}
        nats = list(scored.by_evidence.values())
        state, at = self.known.start(), 0
        checkpoints: Mapping[int, Saved] = scored.checkpoints
        with progress.task("explaining alerts", len(wanted)) as advance:
            for number in wanted:
                end = int(scored.last_rows[number]) + 1
                nearest = max((row for row in checkpoints if row < end), default=0)
                if nearest > at:
                    state, at = resumed(self.known, checkpoints[nearest]), nearest
                state.push_rows(recording.rows(at, end))
                at = end
                # A surprise is held for two windows; the loud rows among them made it.
                oldest = max(0, end - 2 * self.window + 1)
                loud = {row: loudness(said[row] for said in nats) for row in range(oldest, end)}
                first, last = loud_rows(loud, oldest, end - 1)
                rows = recording.rows(max(0, first - self.window + 1), last + 1)
                found[number] = causes_of(state.blame(first, last + 1), rows, self.known)
                advance(1)
        return [found[number] for number in numbers]

    def reference_steps(
        self, reference: Recording
    ) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """(T,) scores and alarms of the last rows of the reference by the first; NaN for those."""
        cut = int(REFERENCE_FITTED_SHARE * len(reference))
        ours = replace(self, model=None).updated(reference.rows(0, cut), 0)
        scored = ours.score(reference.rows(cut, len(reference)))
        unknown = np.full(cut, np.nan)
        return (
            np.concatenate([unknown, ours.step_scores(scored, self.align)]),
            np.concatenate([unknown, ours.step_alarms(scored)]),
        )

    def kernel_images(
        self, scored: ScoredWindows, numbers: Sequence[int]
    ) -> NDArray[np.float32] | None:
        """Return None: no kernel image is behind these scores."""
        return None

    def usual_band(
        self, variable: str, times: NDArray[Any]
    ) -> tuple[NDArray[np.float64], NDArray[np.float64]] | None:
        """(R,) lower and (R,) upper end of what is usual at some times; None if nobody can say."""
        return usual_band(self.known, variable, times)

    def scan(self) -> EvidenceScan:
        """Return a scan that has seen no row yet."""
        return EvidenceScan(self.known)

    def stream(self) -> EvidenceStream:
        """Return a stream that has seen no row yet."""
        return EvidenceStream(self)

    def _warn_of_strangers(self, recording: Recording) -> None:
        """Warn if the reference knows no variable of a recording, and no family of any."""
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

    def _scored(self, recording: Recording) -> tuple[list[EvidenceScores], dict[int, Saved]]:
        """Push all rows through one state, some at a time."""
        state = self.known.start()
        checkpoints, parts = Checkpoints(), []
        with progress.task("scoring rows", len(recording)) as advance:
            for first in range(0, len(recording), ROWS_PER_CHECKPOINT):
                part = recording.rows(first, min(first + ROWS_PER_CHECKPOINT, len(recording)))
                before = checkpoints.save(state) if first else None
                parts.append(state.push_rows(part))
                if before is not None:
                    checkpoints.keep(first, before, -float(np.log(parts[-1].p_values.min())))
                advance(len(part))
        return parts, checkpoints.by_row()

    # ------------------------------------------------------------------ saving

    def to_arrays(self) -> tuple[dict[str, NDArray[Any]], dict[str, Any]]:
        """Return arrays and a JSON-able header for the model file."""
        arrays, header = self.known.to_arrays()
        return arrays, {"evidence": header}

    def restored(
        self, arrays: Mapping[str, NDArray[Any]], header: Mapping[str, Any]
    ) -> "EvidenceFitted":
        """Return this (empty) state with what :meth:`to_arrays` gave."""
        return replace(
            self, model=ReferenceEvidence.restored(arrays, header["evidence"], self.rules)
        )
