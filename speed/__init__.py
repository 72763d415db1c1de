"""Timing: how fast smkc is beside a plain NumPy reading of the paper, in one run on one machine.

In: nothing but a seed. Out: one table, printed and written to ``results/``. Run it with
``make speed``. :mod:`speed.anchor` is the plain reading; the other modules each measure one
part of the table. Nothing here belongs to the test run or to the installed package.
"""
