"""Serve: follows live systems, one row after another, and says what is wrong with them.

In: a configuration, and samples from Prometheus or pushed by others. Out: scores, alerts with their
causes, a service with a dashboard, and a history from which everything goes on after a restart.

The way of the data: ``intake`` (samples) -> ``bins`` (rows of a grid) -> ``lane`` (journal, stream,
alerts) -> ``store`` (what happened, what must still be sent) -> ``delivery``, ``api``, dashboard.
"""
