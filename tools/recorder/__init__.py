"""Recorder of real software under routine churn and planted faults with known causes.

``python -m tools.recorder record SYSTEM FOLDER`` starts a system (*shop*, *cache* or *pipeline*)
from Debian packages with its exporters and Prometheus, generates load, and makes routine changes
and faults by a schedule that is written before the start. ``export`` makes the dataset: Parquet
files with labels, causes, routine changes and a README. ``check`` verifies it, and ``picture``
draws it.

Recording needs root: everything runs in separate namespaces (network, mounts, processes, host
name), so that the machine is left unchanged even after a failure.
"""
