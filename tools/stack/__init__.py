"""The recorders' shared parts: processes, Prometheus, a timeline of steps, and datasets.

In: command lines, queries and steps with their times. Out: processes that end with the recorder, a
Prometheus that finds its targets in a file, a log of what happened, and Parquet files with labels.
``tools.hostwatch``, ``tools.livetrial`` and ``tools.recorder`` are made of them.
"""
