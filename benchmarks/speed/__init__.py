"""Timing: how fast smkc is beside a plain NumPy implementation of the paper, in one run.

In: nothing but a seed. Out: one table, printed and written to ``results/``. Run it with
``make speed`` or ``python -m benchmarks speed``. :mod:`benchmarks.speed.anchor` is the plain
implementation; modules with a function ``lines`` each measure one part of the table, the others are
commands of their own. Nothing here belongs to the test run.
"""
