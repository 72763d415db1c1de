"""A live trial of ``smkc watch`` with real monitoring software, a fleet with churn and 12 faults.

``python -m tools.livetrial run FOLDER`` starts Prometheus, the node exporter, Redis with its
exporter and a simulated fleet on loopback, follows a schedule that is written before the start,
runs ``smkc watch`` at the same time, prints which faults were alerted, and exports the telemetry as
a dataset (``--out``). ``python -m tools.livetrial replay DATASET`` judges such a dataset again with
the current code and prints the same table within a minute. Needs the Debian packages prometheus,
prometheus-node-exporter, redis-server and prometheus-redis-exporter.
"""
