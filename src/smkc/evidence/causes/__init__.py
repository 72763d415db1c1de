"""Causes: which variables are to blame for a row, and what they did, in words.

In: the rows, what each evidence and question attributes to each variable, and the fitted model.
Out: causes, the largest share first (``wording.py``). How far a variable went from its own normal
counts too (``movement.py``). Causes are looked for in the loudest rows (``loud.py``).
"""
