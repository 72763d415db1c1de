"""Timing of smkc, compared with a plain NumPy implementation of the paper in the same run.

In: nothing; seeds are fixed. Out: one table, printed, and written to files with ``--out`` and
``--json``. Run it with ``make speed`` or ``python -m benchmarks speed``.
:mod:`benchmarks.speed.anchor` is the plain implementation. Modules with a function ``lines`` each
measure one part of the table; those with a function ``main`` are separate commands. The test suite
runs no timings.
"""
