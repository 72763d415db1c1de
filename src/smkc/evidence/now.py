"""The variables that are most unusual by themselves in one row, whether it alerts or not.

In: the surprises of the variables, the row, and the fitted model. Out: the loudest variables, each
with the kind of its surprise, its value and its usual band.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from math import exp

import numpy as np

from smkc.evidence.causes.wording import (
    KIND_OF_EVIDENCE,
    UsualOfNewcomer,
    detail_of,
    unknown_usual,
)
from smkc.evidence.model import ReferenceEvidence
from smkc.evidence.usual import SPREADS, usual_band
from smkc.recording import Recording


@dataclass(frozen=True, kw_only=True)
class LoudVariable:
    """A variable that is unusual by itself.

    Parameters
    ----------
    variable
        its identifier.
    kind
        what is unusual about it, with the same values as in :class:`smkc.decide.Cause`.
    p_value
        how often it is at least as unusual while all is normal. It is not corrected for the number
        of variables and questions: among many variables some always have a small one.
    value
        its value in the row; None if it was not observed.
    lower, upper
        ends of its usual band at that time; None for counters, and for newcomers that are not
        residents.
    detail
        description in words.
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
    usual: UsualOfNewcomer = unknown_usual,
) -> tuple[LoudVariable, ...]:
    """Return at most n variables of one row, the loudest first.

    Parameters
    ----------
    by_question
        surprise of each variable in nats, by question.
    row
        a recording of that row only.
    known
        the fitted model.
    n
        largest number of variables.
    usual
        the usual values of newcomers that stayed.
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
        of_resident = usual(name, row.times[0])
        lower, upper = (None, None) if band is None else (float(end[0]) for end in band)
        if of_resident is not None:
            middle, reach = of_resident.middle, SPREADS * of_resident.spread
            lower, upper = middle - reach, middle + reach
        found.append(
            LoudVariable(
                variable=name,
                kind=KIND_OF_EVIDENCE.get(question, question),
                p_value=exp(-nats_of),
                value=value,
                lower=_finite(lower),
                upper=_finite(upper),
                detail=detail_of(name, row, known, usual),
            )
        )
    return tuple(found)


def _finite(value: float | None) -> float | None:
    return value if value is not None and np.isfinite(value) else None
