"""Routes: the routes of the API, grouped by topic.

In: requests that passed the limits. Out: :data:`ROUTERS`. Each route declares the permission that
it needs (:func:`smkc.serve.api.access.needs`) and the model of its answer.
"""

from smkc.serve.api.routes import alerts, incidents, probes, pushes, session, spans, watches

__all__ = ["ROUTERS"]

ROUTERS = tuple(
    part.router for part in (probes, session, watches, spans, alerts, incidents, pushes)
)
