"""Routes: what can be asked, a few a file.

In: requests that passed the limits. Out: :data:`ROUTERS`. Each route states whom it is for
(:func:`smkc.serve.api.access.needs`) and what it answers.
"""

from smkc.serve.api.routes import alerts, live, probes, pushes, session, watches

__all__ = ["ROUTERS"]

ROUTERS = tuple(part.router for part in (probes, session, watches, alerts, pushes, live))
