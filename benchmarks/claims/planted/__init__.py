"""Planted faults that the default detector should alert: worlds, places, and what was found.

In: seeds and real recordings. Out: counts of faults found, one per part of a case. The command is
``python -m benchmarks.claims.planted_faults``.
"""
