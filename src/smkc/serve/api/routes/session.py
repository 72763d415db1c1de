"""Session: routes with which visitors of the dashboard exchange a token for a cookie.

In: a token. Out: a cookie that scripts cannot read, that browsers do not send with requests from
other sites, and that does not contain the token.
"""

import logging
from typing import Annotated

from fastapi import APIRouter, HTTPException, Request
from fastapi.responses import Response
from pydantic import BaseModel, Field

from smkc.serve.api.access import REFUSALS, REFUSED_BODIES, Asking, GuardedRoute, Here, needs
from smkc.serve.api.answers import SessionAnswer
from smkc.serve.api.keys import COOKIE, OPEN, Keys

router = APIRouter(route_class=GuardedRoute, tags=["session"], responses=REFUSALS)

log = logging.getLogger("smkc.serve.api")


class Login(BaseModel):
    """Body of a login request."""

    token: Annotated[str, Field(max_length=4096, description="a token of the service")]


@router.post("/login", summary="Open a session", responses=REFUSED_BODIES)
@needs(OPEN)
async def login(
    content: Login, request: Request, response: Response, service: Here, caller: Asking
) -> SessionAnswer:
    """Open a session for a token by setting a cookie."""
    keys: Keys = request.app.state.keys
    if not keys:
        return SessionAnswer(needs_token=False, name=None, role=caller.role)
    now = service.now()
    token = keys.token(content.token.strip(), now)
    if token is None:
        log.warning("a session was refused to %.64r: no such token", caller.address)
        raise HTTPException(
            401,
            "the token is not known or has expired; ask whoever runs this service for another",
            {"WWW-Authenticate": 'Bearer realm="smkc", error="invalid_token"'},
        )
    cookie, seconds = keys.session(token, now)
    is_https = service.config.public_url.startswith("https://") or request.url.scheme == "https"
    response.set_cookie(
        COOKIE, cookie, max_age=seconds, httponly=True, samesite="strict", secure=is_https
    )
    return SessionAnswer(needs_token=True, name=token.name, role=token.role)


@router.post("/logout", status_code=204, summary="End the session")
@needs(OPEN)
async def logout() -> Response:
    """Delete the cookie."""
    answer = Response(status_code=204)
    answer.delete_cookie(COOKIE, httponly=True, samesite="strict")
    return answer


@router.get("/api/v1/session", summary="Name and role of the caller")
@needs(OPEN)
async def session(request: Request, caller: Asking) -> SessionAnswer:
    """Return whether a token is needed, and the name and role of the caller."""
    return SessionAnswer(
        needs_token=bool(request.app.state.keys), name=caller.name, role=caller.role
    )
