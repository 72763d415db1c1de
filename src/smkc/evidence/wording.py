"""Wording: who made a row's score, as causes that people can read.

In: each evidence's shares, the rows they speak of, and how variables are scaled. Out: causes, most
guilty first.
"""

from collections.abc import Mapping
from dataclasses import replace
from math import sqrt
from typing import Any

import numpy as np
from numpy.typing import NDArray

from smkc.decide import Cause
from smkc.decide.words import EVIDENCES
from smkc.evidence.movement import movements
from smkc.evidence.reference import Blame, ReferenceEvidence
from smkc.evidence.variables import QUESTIONS
from smkc.recording import Recording
from smkc.recording.counters import clock, rates
from smkc.recording.times import show_time

__all__ = ["KIND_OF_EVIDENCE", "causes_of", "detail_of"]

# How far a variable went from its own normal.
MOVEMENT = "movement"

# What each evidence, and each question asked of single variables, is evidence of.
KIND_OF_EVIDENCE = {
    **{name: words.kind for name, words in EVIDENCES.items()},
    "apart from peers": "peers",
    **{question.name: question.kind for question in QUESTIONS},
    MOVEMENT: "level",
}

# How much evidences, variables loud by themselves, and movements count.
WEIGHTS = (1.0, 2.0, 1.0)

# So many causes are named, of at least this share.
MAX_CAUSES, MIN_CAUSE_SHARE = 64, 0.01

# The part of an alert that is given to a large share of variables that fell silent at once.
SILENT_SHARE = 0.9

# Values up to so many spreads from the middle are usual.
USUAL_SPREADS = 2.0


def causes_of(blame: Blame, rows: Recording, known: ReferenceEvidence) -> list[Cause]:
    """Return the causes of a window: rows of the recording, and what the reference taught.

    Variables that fell silent at once are one cause, the first.
    """
    causes = _causes_of_values(blame, rows, known)
    if not blame.silent:
        return causes
    first, *others = blame.silent
    silent = Cause(
        variable=first,
        share=SILENT_SHARE,
        kind="presence",
        joint_with=tuple(others),
        detail=f"{len(blame.silent)} of {blame.n_usual} series fell silent at once",
    )
    rest = [replace(cause, share=(1.0 - SILENT_SHARE) * cause.share) for cause in causes]
    return [silent, *rest]


def _causes_of_values(blame: Blame, rows: Recording, known: ReferenceEvidence) -> list[Cause]:
    """Return the causes, most guilty first.

    Three voices count: what the evidences blame, what variables said that were loud by themselves,
    and how far variables moved. The second counts twice: it is what alerts are raised by. The
    square root keeps one that moved a hundred times its reach from outvoting the others.
    """
    voices: list[dict[str, dict[str, float]]] = [
        {
            evidence: {name: blame.evidences[evidence] * share for name, share in shares.items()}
            for evidence, shares in blame.by_evidence.items()
        },
        {question: dict(nats) for question, nats in blame.by_question.items()},
        {MOVEMENT: {name: sqrt(far) for name, far in movements(rows, known).items()}},
    ]
    shares: dict[str, dict[str, float]] = {}
    for voice, weight in zip(voices, WEIGHTS, strict=True):
        whole = sum(sum(said.values()) for said in voice.values())
        for reason, said in voice.items():
            for name, much in said.items():
                if much > 0:
                    by_reason = shares.setdefault(name, {})
                    by_reason[reason] = by_reason.get(reason, 0.0) + weight * much / whole
    totals = {name: sum(by_reason.values()) for name, by_reason in shares.items()}
    whole = sum(totals.values())
    ranked = sorted(totals, key=lambda name: (-totals[name], name))
    return [
        Cause(
            variable=name,
            share=totals[name] / whole,
            kind=_kind(shares[name]),
            detail=detail_of(name, rows, known),
        )
        for name in ranked[:MAX_CAUSES]
        if totals[name] >= MIN_CAUSE_SHARE * whole
    ]


def _kind(by_reason: Mapping[str, float]) -> str:
    """Return the kind of the reason that counts most; that it moved says least of how."""
    reasons = [reason for reason in by_reason if reason != MOVEMENT] or [MOVEMENT]
    most = max(reasons, key=lambda reason: by_reason[reason])
    return KIND_OF_EVIDENCE.get(most, most)


def detail_of(name: str, rows: Recording, known: ReferenceEvidence) -> str:
    """Say what a variable did, in its own unit."""
    scaling = known.scaling
    values = rows.trace(name) if name in rows.names else np.full(len(rows), np.nan)
    seen = np.flatnonzero(np.isfinite(values))
    if not len(seen):
        return f"was not seen from {show_time(rows.times[0])} to {show_time(rows.times[-1])}"
    if name not in scaling.names:
        middle = float(np.median(values[seen].astype(np.float64)))
        top = seen[int(np.argmax(np.abs(values[seen] - middle)))]
        return (
            f"is new to the reference data; was {values[top]:.4g} at "
            f"{show_time(rows.times[top])}, {middle:.4g} in the middle"
        )
    at = scaling.names.index(name)
    centre, spread = float(scaling.centre[at]), float(scaling.spread[at])
    if scaling.counter[at]:
        return _detail_of_counter(values[seen], rows.times[seen], centre, spread)
    usual = [known.usual(name, rows.times[row]) for row in seen]
    middles = np.array([centre if one is None else one.middle for one in usual])
    farthest = int(np.argmax(np.abs(values[seen].astype(np.float64) - middles)))
    was = f"was {values[seen[farthest]]:.4g} at {show_time(rows.times[seen[farthest]])}"
    season = usual[farthest]
    if season is None:
        return f"{was}; usual is {centre:.4g}, give or take {spread:.2g}"
    low, high = (season.middle + sign * USUAL_SPREADS * season.spread for sign in (-1, 1))
    return f"{was}; usual {season.when} is {low:.4g} to {high:.4g}"


def _detail_of_counter(
    values: NDArray[Any], times: NDArray[Any], centre: float, spread: float
) -> str:
    """Say how fast a counter grew where that was least usual."""
    usual = f"{centre:.4g}, give or take {spread:.2g}"
    grown = rates(np.zeros(len(values), int), values.astype(np.float64), clock(times, times[0]))
    if np.isnan(grown).all():
        return f"a counter whose usual rate is {usual}"
    farthest = int(np.nanargmax(np.abs(grown - centre)))
    unit = " per second" if times.dtype.kind == "M" else ""
    return f"grew by {grown[farthest]:.4g}{unit} at {show_time(times[farthest])}; usual is {usual}"
