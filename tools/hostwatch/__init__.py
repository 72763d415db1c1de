"""Recorder of a real machine that runs a small fleet of services with planted faults.

``python -m tools.hostwatch record`` starts Prometheus, the node and the process exporter, a fleet
of HTTP services and a load on them, follows a seeded schedule of routine churn and faults, and
keeps a log. ``python -m tools.hostwatch export`` queries every variable from the recorded storage
and writes the dataset: a reference part, a test part and the events. Needs the Debian packages
prometheus, prometheus-node-exporter and prometheus-process-exporter.
"""
