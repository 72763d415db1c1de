"""Wording of causes and evidences, shared by terminal, report and dashboard.

In: nothing. Out: the text shown for each kind of cause and each evidence.
"""

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
