"""Serve: follows live systems, one row after another, and says what is wrong with them.

In: a configuration, and samples from Prometheus or pushed by others. Out: scores, alerts with their
causes, a service with a dashboard, and a history from which everything goes on after a restart.

The way of the data: ``prometheus`` or ``decoding`` (samples) -> ``intake`` (rows of a grid) ->
``lane`` (stream, alerts, models) -> ``store`` (what happened, what must still be sent) ->
``delivery``, ``api``, ``dashboard``. ``service`` holds them together; ``view`` says what may be
asked of it.
"""
