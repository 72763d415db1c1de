"""Wording: the causes of a row's score, described for people.

In: the contribution of each variable, the rows concerned, and the fitted model. Out: causes, the
largest share first.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from smkc.decide import Cause
from smkc.decide.words import EVIDENCES, figure
from smkc.evidence.blame import Blame
from smkc.evidence.causes.movement import movements
from smkc.evidence.model import ReferenceEvidence
from smkc.evidence.peers import Peers
from smkc.evidence.settings import SETTINGS
from smkc.evidence.variables import QUESTIONS, Usual
from smkc.recording import Recording
from smkc.recording.counters import clock, rates
from smkc.recording.times import show_time

# Name of a further reason for a cause: how far a variable went from its own normal.
MOVEMENT = "movement"

# Kind of cause that each evidence, and each question asked of single variables, indicates.
KIND_OF_EVIDENCE = {
    **{name: words.kind for name, words in EVIDENCES.items()},
    "apart from peers": "peers",
    **{question.name: question.kind for question in QUESTIONS},
    MOVEMENT: "level",
}

# Largest number of causes, and smallest share of a cause.
MAX_CAUSES, MIN_CAUSE_SHARE = 64, 0.01

# Share given to variables that fell silent at once, if a large share of all did.
SILENT_SHARE = 0.9

# Values within this many spreads of the middle are called usual.
USUAL_SPREADS = 2.0

# Said of a newcomer, whose usual value is that of others of its role.
AMONG_PEERS = " for its peers"

# Spread of a variable that is constant in the reference, and of any that hardly moves.
CONSTANT_SPREAD = 1e-30


# Returns the usual value of a newcomer at a time, if one is known.
UsualOfNewcomer = Callable[[str, Any], Usual | None]


def unknown_usual(name: str, time: Any) -> Usual | None:
    """Return None: nothing is known of newcomers."""
    return None


def causes_of(
    blame: Blame,
    rows: Recording,
    known: ReferenceEvidence,
    usual: UsualOfNewcomer = unknown_usual,
) -> list[Cause]:
    """Return the causes of a score, the largest share first.

    If a large share of the variables fell silent at once, they are 1 cause, the first.

    Parameters
    ----------
    blame
        the contribution of each variable.
    rows
        the rows of the recording that the details describe.
    known
        the fitted model.
    usual
        the usual values of newcomers that stayed.
    """
    causes = _causes_of_values(blame, rows, known, usual)
    if not blame.silent:
        return causes
    first, *others = blame.silent
    silent = Cause(
        variable=first,
        share=SILENT_SHARE,
        kind="presence",
        joint_with=tuple(others),
        detail=f"{len(blame.silent)} of {blame.n_usual} series fell silent at once"
        if others
        else "fell silent; none did in the reference",
    )
    rest = [replace(cause, share=(1.0 - SILENT_SHARE) * cause.share) for cause in causes]
    return [silent, *rest]


def _causes_of_values(
    blame: Blame, rows: Recording, known: ReferenceEvidence, usual: UsualOfNewcomer
) -> list[Cause]:
    """Return the causes by the values of variables, the largest share first.

    A variable's share is the mean, weighted by the settings, of its share in three sums: the nats
    that the evidences attribute to variables, the nats of variables that are loud by themselves,
    and how far variables moved. The second has the largest weight, as it is mostly what raises
    alerts.
    """
    far = movements(rows, known)
    moved = {name: much for name, much in far.items() if name not in blame.unchanged}
    sources = blame.by_evidence, blame.by_question, {MOVEMENT: moved}
    shares: dict[str, dict[str, float]] = {}
    weights = SETTINGS.evidence_weight, SETTINGS.loud_weight, 1.0
    for source, weight in zip(sources, weights, strict=True):
        whole = sum(sum(by_name.values()) for by_name in source.values())
        for reason, by_name in source.items():
            for name, much in by_name.items():
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
            kind=KIND_OF_EVIDENCE.get(reason, reason),
            detail=detail_of(name, rows, known, usual),
            reason=reason,
        )
        for name, reason in ((name, _reason(shares[name])) for name in ranked[:MAX_CAUSES])
        if totals[name] >= MIN_CAUSE_SHARE * whole
    ]


def _reason(by_reason: Mapping[str, float]) -> str:
    """Return the reason with the largest share; movement only if there is no other."""
    reasons = [reason for reason in by_reason if reason != MOVEMENT] or [MOVEMENT]
    return max(reasons, key=lambda reason: by_reason[reason])


def detail_of(
    name: str,
    rows: Recording,
    known: ReferenceEvidence,
    usual_of_newcomer: UsualOfNewcomer = unknown_usual,
) -> str:
    """Describe in words what a variable did in these rows, in its own unit."""
    scaling = known.scaling
    values = rows.trace(name) if name in rows.names else np.full(len(rows), np.nan)
    seen = np.flatnonzero(np.isfinite(values))
    if not len(seen):
        return f"was not seen {_when(rows.times)}"
    if name not in scaling.names:
        return _detail_of_newcomer(name, values[seen], rows.times[seen], known, usual_of_newcomer)
    at = scaling.names.index(name)
    centre, spread = float(scaling.centre[at]), float(scaling.spread[at])
    if scaling.counter[at]:
        return _detail_of_counter(values[seen], rows.times[seen], centre, spread)
    always = Usual(middle=centre, spread=spread, when="")
    usual = [known.usual(name, rows.times[row]) or always for row in seen]
    return _farthest_from(usual, values[seen], rows.times[seen])


def _detail_of_newcomer(
    name: str,
    values: NDArray[Any],
    times: NDArray[Any],
    known: ReferenceEvidence,
    usual_of_newcomer: UsualOfNewcomer,
) -> str:
    """Compare a newcomer with its own past if it stayed, or else with its peers if it has any."""
    stayed = [one for one in (usual_of_newcomer(name, time) for time in times) if one is not None]
    if len(stayed) == len(times):
        return _farthest_from(stayed, values, times, " since it came")
    peers = Peers.of(name, known)
    if peers is None:
        low, high = figure(values.min()), figure(values.max())
        was = low if low == high else f"between {low} and {high}"
        return f"is new since the reference; was {was} {_when(times)}"
    if peers.are_counters:
        return _detail_of_counter(values, times, peers.middle, peers.spread, AMONG_PEERS)
    return _farthest_from([peers.usual_at(time) for time in times], values, times, AMONG_PEERS)


def _when(times: NDArray[Any]) -> str:
    first, last = show_time(times[0]), show_time(times[-1])
    return f"at {first}" if first == last else f"from {first} to {last}"


def _farthest_from(
    usual: Sequence[Usual], values: NDArray[Any], times: NDArray[Any], since: str = ""
) -> str:
    """Describe the value that is farthest from the usual one at its time."""
    middles = np.array([one.middle for one in usual])
    farthest = int(np.argmax(np.abs(values.astype(np.float64) - middles)))
    was = f"was {figure(values[farthest])} at {show_time(times[farthest])}"
    found = usual[farthest]
    if not found.when:
        return f"{was}; usual{since} is {_usual(found.middle, found.spread)}"
    low, high = (found.middle + sign * USUAL_SPREADS * found.spread for sign in (-1, 1))
    return f"{was}; usual {found.when}{since} is {figure(low)} to {figure(high)}"


def _detail_of_counter(
    values: NDArray[Any], times: NDArray[Any], centre: float, spread: float, among: str = ""
) -> str:
    """Describe how fast a counter grew where that was least usual."""
    usual = _usual(centre, spread)
    grown = rates(np.zeros(len(values), int), values.astype(np.float64), clock(times, times[0]))
    if np.isnan(grown).all():
        return f"a counter whose usual rate{among} is {usual}"
    farthest = int(np.nanargmax(np.abs(grown - centre)))
    unit = " per second" if times.dtype.kind == "M" else ""
    grew = f"grew by {figure(grown[farthest])}{unit} at {show_time(times[farthest])}"
    return f"{grew}; usual{among} is {usual}"


def _usual(centre: float, spread: float) -> str:
    """Describe the usual values of a variable.

    Examples
    --------
    >>> _usual(0.25, 0.012), _usual(3.0, 1e-60)
    ('0.25, give or take 0.012', 'always 3')
    """
    if spread <= CONSTANT_SPREAD:
        return f"always {figure(centre)}"
    return f"{figure(centre)}, give or take {figure(spread, digits=2)}"
