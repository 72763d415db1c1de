"""Dashboard: web pages for the fleet, a watch and an alert, rendered in the browser from the API.

In: JSON of the API, requested by the scripts of the pages. Out: :func:`routes`, which the app
mounts.

The pages are files of this package, without a build step, external resources, inline scripts or
inline styles, so that they work under a content security policy of ``default-src 'self'``. They
contain no secrets and need no token; the data comes from ``/api/v1`` with the visitor's cookie, and
a 401 answer leads to ``/login``. Only ``assets/api.js`` depends on the JSON format of the API.
"""

from smkc.serve.dashboard.routes import routes

__all__ = ["routes"]
