"""Now: the variables that are most unusual by themselves in one row, whether it alerts or not.

In: the surprises of variables in the row, the row, and what the reference taught. Out: the loudest
variables, each with what is unusual about it, its value and its usual band.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from math import exp

import numpy as np

from smkc.evidence.reference import ReferenceEvidence
from smkc.evidence.usual import usual_band
from smkc.evidence.wording import KIND_OF_EVIDENCE, detail_of
from smkc.recording import Recording

__all__ = ["LoudVariable", "loudest_of"]


@dataclass(frozen=True, kw_only=True)
class LoudVariable:
    """A variable that is unusual by itself.

    Parameters
    ----------
    variable
        its identifier.
    kind
        what is unusual about it, as of a :class:`smkc.decide.Cause`.
    p_value
        how often it is as unusual as this while all is normal, for this variable and this question
        alone: of many variables some always are.
    value
        in the row; None if it is not there.
    lower, upper
        between which values it usually is at that time; None for counters and newcomers.
    detail
        the same in words.
    """

    variable: str
    kind: str
    p_value: float
    value: float | None = None
    lower: float | None = None
    upper: float | None = None
    detail: str = ""


def loudest_of(
    by_question: Mapping[str, Mapping[str, float]],
    row: Recording,
    known: ReferenceEvidence,
    n: int,
) -> tuple[LoudVariable, ...]:
    """Return at most n variables of one row, the loudest first.

    Parameters
    ----------
    by_question
        nats of each variable, by what it was asked.
    row
        the row alone.
    """
    loud: dict[str, tuple[float, str]] = {}
    for question, nats in by_question.items():
        for name, much in nats.items():
            loud[name] = max(loud.get(name, (0.0, "")), (much, question))
    ranked = sorted(loud, key=lambda name: (-loud[name][0], name))[:n]
    place = {row.names[code]: at for at, code in enumerate(row.codes.tolist())}
    found = []
    for name in ranked:
        nats_of, question = loud[name]
        value = float(row.values[place[name]]) if name in place else None
        band = usual_band(known, name, row.times)
        lower, upper = (None, None) if band is None else (float(end[0]) for end in band)
        found.append(
            LoudVariable(
                variable=name,
                kind=KIND_OF_EVIDENCE.get(question, question),
                p_value=exp(-nats_of),
                value=value,
                lower=_finite(lower),
                upper=_finite(upper),
                detail=detail_of(name, row, known),
            )
        )
    return tuple(found)


def _finite(value: float | None) -> float | None:
    return value if value is not None and np.isfinite(value) else None
