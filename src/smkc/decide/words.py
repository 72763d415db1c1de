"""Words for kinds of causes and for evidences: one table, for terminal, report and dashboard.

In: nothing. Out: what each is called where people read it.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType

__all__ = ["EVIDENCES", "KINDS", "OTHER_KIND", "EvidenceWords", "KindWords"]


@dataclass(frozen=True, kw_only=True)
class KindWords:
    """A kind of cause.

    Parameters
    ----------
    phrase
        what the variable did, to be read after its name.
    title
        the same as the heading of an alert.
    """

    phrase: str
    title: str


@dataclass(frozen=True, kw_only=True)
class EvidenceWords:
    """An evidence.

    Parameters
    ----------
    kind
        what it is evidence of, one of KINDS.
    sentence
        what it means that it is surprised.
    """

    kind: str
    sentence: str


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

# A kind that has no words of its own.
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
