"""Session: a visitor of the dashboard shows a token once and gets a cookie for it.

In: a token. Out: a cookie that scripts cannot read, that no other site makes the browser send, and
that does not hold the token itself.
"""

import logging
from typing import Annotated

from fastapi import APIRouter, HTTPException, Request
from fastapi.responses import JSONResponse, Response
from pydantic import BaseModel, Field

from smkc.serve.api.access import GuardedRoute, needs
from smkc.serve.api.answers import SessionAnswer
from smkc.serve.api.asking import REFUSALS, REFUSED_BODIES, Asking, Here
from smkc.serve.api.keys import COOKIE, OPEN, Keys

__all__ = ["router"]

router = APIRouter(route_class=GuardedRoute, tags=["session"], responses=REFUSALS)

log = logging.getLogger("smkc.serve.api")


class Login(BaseModel):
    """What opens a session."""

    token: Annotated[str, Field(max_length=4096, description="a token of the service")]


@router.post("/login", summary="Open a session", responses=REFUSED_BODIES)
@needs(OPEN)
async def login(content: Login, request: Request, service: Here, caller: Asking) -> SessionAnswer:
    """Take a token; set a cookie that stands for it."""
    keys: Keys = request.app.state.keys
    if not keys:
        return JSONResponse(_session(needs_token=False, name=None, role=caller.role))  # type: ignore[return-value]
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
    answer = JSONResponse(_session(needs_token=True, name=token.name, role=token.role))
    is_https = service.config.public_url.startswith("https://") or request.url.scheme == "https"
    answer.set_cookie(
        COOKIE, cookie, max_age=seconds, httponly=True, samesite="strict", secure=is_https
    )
    return answer  # type: ignore[return-value]


@router.post("/logout", status_code=204, summary="End the session")
@needs(OPEN)
async def logout() -> Response:
    """Take the cookie back."""
    answer = Response(status_code=204)
    answer.delete_cookie(COOKIE, httponly=True, samesite="strict")
    return answer


@router.get("/api/v1/session", summary="Who am I?")
@needs(OPEN)
async def session(request: Request, caller: Asking) -> SessionAnswer:
    """Say whether a token is needed, and who the caller is by the one sent along."""
    return SessionAnswer(
        needs_token=bool(request.app.state.keys), name=caller.name, role=caller.role
    )


def _session(*, needs_token: bool, name: str | None, role: str | None) -> dict[str, object]:
    return SessionAnswer(needs_token=needs_token, name=name, role=role).model_dump()
