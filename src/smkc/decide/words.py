"""Wording of causes, evidences and values, shared by terminal, report and dashboard.

In: values. Out: the text shown for them, and for each kind of cause and each evidence.
"""

import math
from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType


@dataclass(frozen=True, kw_only=True)
class KindWords:
    """Wording of a kind of cause."""

    phrase: str  # what the variable did; shown after its name
    title: str  # the same, as the heading of an alert


@dataclass(frozen=True, kw_only=True)
class EvidenceWords:
    """Wording of an evidence."""

    kind: str  # kind of cause that it points to, one of KINDS
    sentence: str  # what a high surprise of it means


KINDS: Mapping[str, KindWords] = MappingProxyType(
    {
        "level": KindWords(phrase="its values are unusual", title="unusual values"),
        "jump": KindWords(phrase="it changed faster than it does", title="sudden change"),
        "relation": KindWords(
            phrase="it moves unlike the others", title="moving unlike the others"
        ),
        "presence": KindWords(phrase="it appeared or vanished", title="came or went"),
        "newcomer": KindWords(
            phrase="it is new and did not stay as it came", title="new and unsettled"
        ),
        "frozen": KindWords(phrase="it repeats one value", title="standing still"),
        "peers": KindWords(
            phrase="it stands apart from the others of its kind", title="apart from its peers"
        ),
    }
)

# Wording of kinds that are not in KINDS.
OTHER_KIND = KindWords(phrase="it behaves differently", title="unlike before")

EVIDENCES: Mapping[str, EvidenceWords] = MappingProxyType(
    {
        "level": EvidenceWords(kind="level", sentence="No normal window is near this one."),
        "slow level": EvidenceWords(
            kind="level",
            sentence="No normal stretch is near this one in the mean over some windows.",
        ),
        "jump": EvidenceWords(
            kind="jump", sentence="A variable took a larger step than it usually does."
        ),
        "relation": EvidenceWords(
            kind="relation", sentence="Variables stand to each other unlike before."
        ),
        "newcomers": EvidenceWords(
            kind="newcomer", sentence="Variables that are new changed after they came."
        ),
        "newcomer jump": EvidenceWords(
            kind="newcomer",
            sentence="A variable that is new took a larger step than others like it.",
        ),
    }
)

# Letters for large numbers: from which size on, the unit, and the letter.
_UNITS = ((1e12, 1e12, "T"), (1e9, 1e9, "G"), (1e6, 1e6, "M"), (1e4, 1e3, "k"))


def figure(number: float, digits: int = 4) -> str:
    """Format a value for readers, as the dashboard does.

    Whole numbers below a million are in full, larger numbers have a letter and at most 3 digits,
    and others at most ``digits``.

    Examples
    --------
    >>> figure(75_620), figure(14_910_000_000.0), figure(0.34567), figure(-12_345.6), figure(6.7e-5)
    ('75,620', '14.9G', '0.3457', '-12.3k', '6.7e-05')
    """
    size = abs(number)
    if float(number).is_integer() and size < 1e6:
        return f"{number:,.0f}" if size else "0"
    for start, unit, letter in _UNITS:
        if start <= size < math.inf:
            return f"{float(f'{number / unit:.{min(digits, 3)}g}'):g}{letter}"
    return f"{number:.{digits}g}"
