"""Serve: a service that monitors live systems row by row and raises alerts.

In: a configuration, and samples queried from Prometheus or pushed by clients. Out: scores, alerts
with their causes, an HTTP API with a dashboard, and a history from which the service resumes after
a restart.

Data flow: ``prometheus`` or ``decoding`` (samples) -> ``intake`` (rows of a grid) -> ``lane``
(stream, alerts, models) -> ``incidents`` (alerts that belong together) -> ``store`` (history,
messages to send) -> ``delivery``, ``api``, ``dashboard``. ``service`` connects these parts;
``view`` holds the records that describe its state.
"""
