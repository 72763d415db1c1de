"""Measurements of single claims: false alarms, causes, and following what has become normal.

In: nothing but seeds. Out: a page each for ``results/``. Every module is a command of its own, for
example ``python -m benchmarks.claims.false_alarms --out results/false_alarms.md``.
"""
