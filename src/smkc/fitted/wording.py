"""Wording: who made a row's score, as causes that people can read.

In: each evidence's shares, the rows they speak of, and how variables are scaled. Out: causes, most
guilty first.
"""

import numpy as np

from smkc.decide import Cause
from smkc.evidence.reference import Blame
from smkc.recording import Recording, Scaling
from smkc.recording.times import show_time

__all__ = ["KINDS", "causes_of"]

# What each evidence is evidence of.
KINDS = {
    "level": "level",
    "local level": "level",
    "slow level": "level",
    "pooled lags": "shape",
    "jump": "jump",
    "relation": "relation",
    "presence": "presence",
    "newcomers": "newcomer",
}

# So many causes are named, of at least this share.
MOST_NAMED, LEAST_SHARE = 64, 0.01


def causes_of(blame: Blame, rows: Recording, scaling: Scaling) -> list[Cause]:
    """Return the causes of a window: rows of the recording, its variables scaled thus."""
    named = [name for name, share in blame.variables.items() if share >= LEAST_SHARE]
    causes = []
    for name in named[:MOST_NAMED]:
        nats = {
            evidence: blame.evidences[evidence] * shares.get(name, 0.0)
            for evidence, shares in blame.by_evidence.items()
        }
        loudest = max(nats, key=lambda evidence: nats[evidence])
        causes.append(
            Cause(
                variable=name,
                share=blame.variables[name],
                kind=KINDS.get(loudest, loudest),
                detail=_detail(name, rows, scaling),
            )
        )
    return causes


def _detail(name: str, rows: Recording, scaling: Scaling) -> str:
    """Say what a variable did, in its own unit."""
    values = rows.trace(name) if name in rows.names else np.full(len(rows), np.nan)
    seen = np.flatnonzero(np.isfinite(values))
    if not len(seen):
        return f"was not seen from {show_time(rows.times[0])} to {show_time(rows.times[-1])}"
    if name not in scaling.names:
        return f"is new to the reference data; {values[seen[-1]]:.4g} at the end"
    at = scaling.names.index(name)
    centre, spread = float(scaling.centre[at]), float(scaling.spread[at])
    if scaling.counter[at]:
        return f"a counter whose usual rate is {centre:.4g}, give or take {spread:.2g}"
    farthest = seen[int(np.argmax(np.abs(values[seen].astype(np.float64) - centre)))]
    return (
        f"was {values[farthest]:.4g} at {show_time(rows.times[farthest])}; usual is "
        f"{centre:.4g}, give or take {spread:.2g}"
    )
