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
from smkc.decide import ALIGNMENTS, Cause
from smkc.errors import InputWarning, SettingError
from smkc.evidence.reference import EvidenceScores, ReferenceEvidence
from smkc.evidence.reference.nulls import JoinedNull
from smkc.evidence.variables.loudest import CALM_ROWS
from smkc.fitted.contract import Judged
from smkc.fitted.in_nats import InNats
from smkc.fitted.wording import causes_of
from smkc.recording import Identity, Recording

__all__ = ["EvidenceFitted"]

# Rows are scored so many at a time; in between, progress is shown.
ROWS_AT_A_TIME = 2_048

# Reference rows are scored by evidences that were fitted on this share of them, the first.
FITTED_SHARE = 0.6


@dataclass(frozen=True, kw_only=True, eq=False)
class EvidenceFitted:
    """The evidences and their reference.

    Parameters
    ----------
    align
        how a row's score is placed: ``prompt`` where it is known, ``sharp`` where its window began.
    wanted
        rows a window, or "auto".
    identity, counters
        of the scaling.
    model
        what was learned; None before any data.
    """

    align: str
    wanted: int | str = "auto"
    identity: Identity | None = None
    counters: str | None = "auto"
    model: ReferenceEvidence | None = None

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
        """Alerts at most so many quiet rows apart are one."""
        return CALM_ROWS

    @property
    def seasons(self) -> Mapping[str, float]:
        """Period of each variable that has a season, in seconds for dates."""
        asked, found = self.known.asked_columns, self.known.variables.seasons
        return {asked[at]: float(p) for at, p in zip(found.columns, found.period, strict=True)}

    @property
    def of_steps(self) -> InNats:
        """What normal alarms of time steps look like; each row of the null says something."""
        return InNats(self.known.normal.n_independent * self.window)

    @property
    def of_windows(self) -> InNats:
        """What normal scores of windows look like."""
        return self.of_steps

    def learned(self, recording: Recording, seed: int) -> "EvidenceFitted":
        """Return what is known after more reference data; nothing in it is left to chance."""
        if self.model is not None:
            return replace(self, model=self.model.learned(recording))
        model = ReferenceEvidence.fit(
            recording, window=self.wanted, identity=self.identity, counters=self.counters
        )
        return replace(self, model=model)

    def judged(self, recording: Recording) -> Judged:
        """Score a recording's rows, each with the window that ends there."""
        self._warn_of_strangers(recording)
        parts = self._scored(recording)
        scores = np.concatenate([np.empty(0), *(part.scores for part in parts)])
        loudest = np.concatenate([np.empty(0), *(part.loudest for part in parts)])
        p_values = np.concatenate([np.empty(0), *(part.p_values for part in parts)])
        names = self.known.evidence_names
        nats = np.concatenate([np.empty((0, len(names))), *(part.nats for part in parts)])
        rows = np.arange(len(recording))
        return Judged(
            prepared=recording,
            first_rows=np.maximum(rows - self.window + 1, 0),
            last_rows=rows,
            scores=scores + loudest,
            p_values=p_values,
            alarms=-np.log(p_values),
            held=scores,
            prompt=loudest,
            by_evidence=dict(zip(names, nats.T, strict=True)),
        )

    def step_scores(self, judged: Judged, align: str) -> NDArray[np.float64]:
        """(T,) a score for each time step: a window's, at its last row or at its first.

        What single variables add belongs to the row itself, however windows are aligned.
        """
        if align not in ALIGNMENTS:
            raise SettingError(f"align={align!r} is not known; use one of {', '.join(ALIGNMENTS)}")
        if align == "prompt" or not len(judged.scores):
            return judged.scores.copy()
        ahead = min(self.window - 1, len(judged.held))
        begun = np.concatenate([judged.held[ahead:], np.full(ahead, judged.held[-1])])
        return begun + judged.prompt

    def step_alarms(self, judged: Judged) -> NDArray[np.float64]:
        """(T,) how surprising each time step is, in nats; known as soon as the row is."""
        return judged.alarms.copy()

    def threshold(self, rate: float) -> float:
        """Return the score of a time step that reference data exceed at most so often."""
        self.of_steps.threshold(rate)  # which warns of rates that the data cannot show
        normal = self.known.normal
        return JoinedNull(np.sort(normal.totals), normal.n_independent).score_at(rate)

    def causes(self, judged: Judged, numbers: Sequence[int]) -> list[list[Cause]]:
        """Return the causes of some windows, asked of the evidences at that moment."""
        recording = judged.prepared
        wanted = sorted(set(numbers))
        found: dict[int, list[Cause]] = {}
        state, at = self.known.start(), 0
        with progress.task("explaining alerts", len(wanted)) as advance:
            for number in wanted:
                end = int(judged.last_rows[number]) + 1
                state.push_rows(recording.rows(at, end))
                at = end
                # A surprise is held for two windows; the rows of one more made it.
                first = max(0, end - 2 * self.window + 1)
                rows = recording.rows(max(0, first - self.window + 1), end)
                found[number] = causes_of(state.blame(first, end), rows, self.known)
                advance(1)
        return [found[number] for number in numbers]

    def reference_scores(self, reference: Recording) -> NDArray[np.float64]:
        """(T,) scores of the last rows of the reference by the first; NaN for those."""
        cut, ours, judged = self._reference_judged(reference)
        return np.concatenate([np.full(cut, np.nan), ours.step_scores(judged, self.align)])

    def reference_alarms(self, reference: Recording) -> NDArray[np.float64]:
        """(T,) alarms of the last rows of the reference by the first; NaN for those."""
        cut, ours, judged = self._reference_judged(reference)
        return np.concatenate([np.full(cut, np.nan), ours.step_alarms(judged)])

    def _reference_judged(self, reference: Recording) -> tuple[int, "EvidenceFitted", Judged]:
        cut = int(FITTED_SHARE * len(reference))
        ours = replace(self, model=None).learned(reference.rows(0, cut), 0)
        return cut, ours, ours.judged(reference.rows(cut, len(reference)))

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

    def _scored(self, recording: Recording) -> list[EvidenceScores]:
        """Push all rows through one state, some at a time."""
        state = self.known.start()
        parts = []
        with progress.task("scoring rows", len(recording)) as advance:
            for first in range(0, len(recording), ROWS_AT_A_TIME):
                part = recording.rows(first, min(first + ROWS_AT_A_TIME, len(recording)))
                parts.append(state.push_rows(part))
                advance(len(part))
        return parts

    # ------------------------------------------------------------------ saving

    def to_arrays(self) -> tuple[dict[str, NDArray[Any]], dict[str, Any]]:
        """Return arrays and a JSON-able header for the model file."""
        arrays, header = self.known.to_arrays()
        return arrays, {"evidence": header}

    def restored(
        self, arrays: Mapping[str, NDArray[Any]], header: Mapping[str, Any]
    ) -> "EvidenceFitted":
        """Return this (empty) state with what :meth:`to_arrays` gave."""
        return replace(self, model=ReferenceEvidence.restored(arrays, header["evidence"]))
