"""Evidences: questions asked of whole rows.

In: blocks of rows. Out: for each row and evidence a surprise in nats (``nulls.py``), and the
contribution of each variable to it. Each evidence answers one question, behind one contract
(``contract.py``):

level
    is the window near any window of the reference? (``levels.py``; also for means over the last
    rows)
jump
    did a variable change more from one row to the next than it usually does? (``jump.py``)
relation
    do the variables keep their relations to each other? (``components.py``)
newcomers
    do variables that the reference does not know behave as they did before? (``newcomers.py``;
    and do they change more than before? ``newcomer_jump.py``)
"""
