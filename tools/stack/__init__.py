"""Shared parts of the recorders: processes, Prometheus, a timeline of steps, and datasets.

In: command lines, queries and steps with their times. Out: processes that end with the recorder, a
Prometheus server that reads its targets from a file, a log of events, and Parquet files with
labels. ``tools.hostwatch``, ``tools.livetrial`` and ``tools.recorder`` use them.
"""
