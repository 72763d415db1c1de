"""The recorder: real software under routine churn and planted faults, exported with causes.

``python -m tools.recorder record SYSTEM FOLDER`` starts a system (*shop*, *cache* or *pipeline*)
from Debian's packages with its exporters and Prometheus, drives load, changes things routinely and
plants faults by a schedule that is written before the start. ``export`` makes the dataset: Parquet
with labels, causes, routine changes and a README. ``check`` verifies it, ``picture`` draws it.

Recording needs root: everything runs in namespaces of its own (network, mounts, processes, host
name), so that the machine is left as it was, whatever happens.
"""
