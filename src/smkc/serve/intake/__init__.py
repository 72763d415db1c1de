"""Intake: samples as they arrive -> rows of each lane's grid.

In: samples in any order, some of them late or repeated. Out: rows by entity, in order of time.
"""
