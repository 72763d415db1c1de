"""Against a reference: what reference data with named variables say of a recording's rows.

In: a reference, then rows as they come. Out: for each row how unusual it is in each of eight
respects, joined, with a p-value under what was normal when the row came, and the variables that
made it. Each respect is an evidence behind one contract (``contract.py``):

level
    is the window near any normal one? (``levels.py``; also averaged over the recent past, and of
    how the whole system moves, which needs no identity)
jump
    did a variable change more from one row to the next than it usually does?
relation
    do variables stand to each other as they did?
presence
    did more variables fall silent at once than is routine?
newcomers
    do variables that the reference does not know behave as they did before? (``newcomers.py``;
    also asked of their changes, in ``newcomer_jump.py``)

A variable that goes on under another name is no newcomer (``successors.py``).
What is normal is followed (``memory.py``): rows that looked normal join the reference's after a
delay, suspects wait in quarantine and join only if their state lasts.
"""

from smkc.evidence.reference.choices import Choices
from smkc.evidence.reference.model import ReferenceEvidence
from smkc.evidence.reference.state import Blame, EvidenceScores, EvidenceState

__all__ = ["Blame", "Choices", "EvidenceScores", "EvidenceState", "ReferenceEvidence"]
