"""Routes: what can be asked, a few a file.

In: requests that passed the limits. Out: :data:`ROUTERS`. Each route states whom it is for
(:func:`smkc.serve.api.access.needs`) and what it answers.
"""

from smkc.serve.api.routes.alerts import router as alerts
from smkc.serve.api.routes.live import router as live
from smkc.serve.api.routes.probes import router as probes
from smkc.serve.api.routes.pushes import router as pushes
from smkc.serve.api.routes.session import router as session
from smkc.serve.api.routes.watches import router as watches

__all__ = ["ROUTERS"]

ROUTERS = (probes, session, watches, alerts, pushes, live)
