"""Live trial: real monitoring software, a churning fleet, twelve faults, and ``smkc watch``.

``python -m tools.livetrial run FOLDER`` starts Prometheus, the node exporter, Redis with its
exporter and a simulated fleet on loopback, follows a schedule that is written before the start,
runs ``smkc watch`` beside them, prints which faults were alerted, and exports the telemetry as a
dataset (``--out``). ``python -m tools.livetrial replay DATASET`` judges such a dataset again with
the code of today and prints the same table within a minute. Needs Debian's packages prometheus,
prometheus-node-exporter, redis-server and prometheus-redis-exporter.
"""
