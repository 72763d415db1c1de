"""Columns: recordings as dense rows of scaled values, in which variables may come and go.

In: consecutive recordings. Out: blocks (``block.py``) with one column per variable of the reference
(``rows.py``) and per role (``roles.py``), such as the latency of one service whichever pods it has.
A variable that continues under another name keeps its column (``successors.py``); who stood out in
a role is remembered for the causes (``farthest.py``).
"""
