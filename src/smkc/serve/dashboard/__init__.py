"""Dashboard: the fleet, a watch and an alert, as pages that a browser draws from the API.

In: the service's JSON, asked for by the pages' own scripts. Out: :func:`routes`, which the app
mounts.

The pages are files of this package: no build step, nothing from outside, no inline script or style,
so that a content policy of ``default-src 'self'`` holds. They hold no secrets and need no token;
what they show comes from ``/api/v1`` with the visitor's cookie, and an answer of 401 there leads to
``/login``. ``assets/api.js`` is the one place that knows the API's shapes.
"""

from smkc.serve.dashboard.routes import routes

__all__ = ["routes"]
