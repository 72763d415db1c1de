"""Against a reference: what reference data with named variables say of a recording's rows.

In: a reference, then rows as they come. Out: for each row how unusual it is as a whole, how unusual
its loudest variable is, the p-value of the larger of both, and the variables that made it. What the
whole row is asked are evidences behind one contract (``contract.py``):

level
    is the window near any of the reference's? (``levels.py``; also averaged over the recent past)
jump
    did a variable change more from one row to the next than it usually does?
relation
    do variables stand to each other as they did? (``components.py``)
newcomers
    do variables that the reference does not know behave as they did before? (``newcomers.py``;
    also asked of their changes, in ``newcomer_jump.py``)

A variable that goes on under another name is no newcomer (``successors.py``). The reference stays
as it was: what lasts longer than a fault is muted, not learned (``smkc.evidence.variables``).
"""

from smkc.evidence.reference.choices import Choices
from smkc.evidence.reference.model import ReferenceEvidence
from smkc.evidence.reference.state import Blame, EvidenceScores, EvidenceState

__all__ = ["Blame", "Choices", "EvidenceScores", "EvidenceState", "ReferenceEvidence"]
