"""App: the ASGI app of a service.

In: a service and its tokens. Out: an ASGI app. A request passes the shell (headers on every
response), the limits (caller, origin, rate, duration) and the access check of its route. Routes
that may block run in threads.
"""

import asyncio
from typing import Any

import anyio
from fastapi import FastAPI

from smkc.serve.api.access import GuardedRoute
from smkc.serve.api.keys import OPEN, Keys, read_keys
from smkc.serve.api.limits import Limited
from smkc.serve.api.listening import check_listening
from smkc.serve.api.routes import ROUTERS
from smkc.serve.api.routes.pushes import MOST_PUSHES
from smkc.serve.api.shell import Shell, add_refusals
from smkc.serve.dashboard import routes as dashboard_routes
from smkc.serve.decoding.differences import Previous
from smkc.serve.service import Service
from smkc.version import VERSION

# Number of threads per kind of work, so that slow requests do not block probes or pushes.
POOLS = {"heavy": 3, "metrics": 2, "probes": 2, "pushes": 2}

ABOUT = """Scores, alerts and their causes, of systems whose variables come and go.

Times are milliseconds since 1970, UTC. Every error is `{"error": "a sentence"}`. With tokens
configured, send `Authorization: Bearer TOKEN`; roles are read, write (pushes) and admin (all)."""


def create_app(service: Service, keys: Keys | None = None) -> FastAPI:
    """Return the app of a service, which may be started before or after.

    The tokens are by default those of the configuration and the environment. Without tokens the
    configured address must be a loopback address.
    """
    keys = read_keys(service.config) if keys is None else keys
    check_listening(service.config.listen, keys)
    app = FastAPI(
        title="smkc",
        version=VERSION,
        description=ABOUT,
        openapi_url=None,
        docs_url=None,
        redoc_url=None,
        redirect_slashes=False,
    )
    app.state.service = service
    app.state.keys = keys
    app.state.limits = service.config.limits
    app.state.pools = {name: anyio.CapacityLimiter(size) for name, size in POOLS.items()}
    app.state.places_for_bodies = asyncio.Semaphore(MOST_PUSHES)
    app.state.previous_histograms = Previous()
    for router in (*ROUTERS, dashboard_routes()):
        app.router.routes.extend(router.routes)
    add_refusals(app)
    app.add_middleware(Limited, service=service, keys=keys)
    app.add_middleware(Shell, is_https=service.config.public_url.startswith("https://"))
    app.openapi = lambda: _described(app)  # type: ignore[method-assign]
    return app


def _described(app: FastAPI) -> dict[str, Any]:
    """Return the OpenAPI document, with the role that each route needs."""
    if app.openapi_schema is None:
        found = FastAPI.openapi(app)
        for route in app.routes:
            if not isinstance(route, GuardedRoute) or not route.include_in_schema:
                continue
            for method in route.methods or ():
                operation = found["paths"][route.path_format][method.lower()]
                operation["x-role"] = route.needs
                for parameter in operation.get("parameters", ()):
                    parameter["schema"] = _without_null(parameter["schema"])
                if app.state.keys and route.needs != OPEN:
                    operation["security"] = [{"token": []}]
        if app.state.keys:
            found["components"]["securitySchemes"] = {"token": {"type": "http", "scheme": "bearer"}}
    assert app.openapi_schema is not None
    return app.openapi_schema


def _without_null(schema: dict[str, Any]) -> dict[str, Any]:
    """Remove null from the schema of an optional parameter: URLs cannot represent null."""
    match [kind for kind in schema.get("anyOf", ()) if kind != {"type": "null"}]:
        case [dict(kind)]:
            return {name: about for name, about in schema.items() if name != "anyOf"} | kind
    return schema
