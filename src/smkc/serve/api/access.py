"""Access: whether a route is for the caller.

In: a route's rule and a caller. Out: the route, or an answer of 401 or 403. A route cannot be made
without its rule (:func:`needs`), so that none is open by oversight, and the rule is asked before
a byte of the body is read.
"""

from collections.abc import Callable
from typing import Any, TypeVar

from fastapi import HTTPException
from fastapi.routing import APIRoute
from starlette.types import Receive, Scope, Send

from smkc.serve.api.body import limited
from smkc.serve.api.keys import ALLOWED, OPEN, Caller

__all__ = ["CALLER", "GuardedRoute", "needs"]

# Where the caller is kept in a request's scope.
CALLER = "smkc.caller"

# Bodies of routes that take no samples: a note, a token.
SMALL_BODY = 64 * 1024

Endpoint = TypeVar("Endpoint", bound=Callable[..., Any])


class GuardedRoute(APIRoute):
    """A route with a rule, which is asked before the body is read; made without one, it fails."""

    def __init__(self, path: str, endpoint: Callable[..., Any], **further: Any) -> None:
        self.needs: str = endpoint.needs  # type: ignore[attr-defined]
        self.takes_samples: bool = endpoint.takes_samples  # type: ignore[attr-defined]
        super().__init__(path, endpoint, **further)

    async def handle(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Let the caller through, or say why not."""
        caller: Caller = scope[CALLER]
        if not caller.may(self.needs):
            raise _refusal(caller, self.needs)
        most = scope["app"].state.limits.body_bytes if self.takes_samples else SMALL_BODY
        await super().handle(scope, limited(scope, receive, most), send)


def needs(need: str, *, takes_samples: bool = False) -> Callable[[Endpoint], Endpoint]:
    """Say what a route asks of its caller; written above the function, below the route.

    Parameters
    ----------
    need
        "open", "read", "write" or "admin".
    takes_samples
        whether its body may be as long as the configuration allows, rather than short.
    """
    if need != OPEN and need not in ALLOWED:
        raise ValueError(f"need={need!r}: give {OPEN!r} or one of {sorted(ALLOWED)}")

    def mark(endpoint: Endpoint) -> Endpoint:
        endpoint.needs = need  # type: ignore[attr-defined]
        endpoint.takes_samples = takes_samples  # type: ignore[attr-defined]
        return endpoint

    return mark


def _refusal(caller: Caller, need: str) -> HTTPException:
    if caller.role is not None:
        roles = " or ".join(sorted(ALLOWED[need]))
        return HTTPException(
            403, f"a token of role {caller.role} may not do this; use one of {roles}"
        )
    if caller.presented:
        challenge, error = (
            'Bearer realm="smkc", error="invalid_token"',
            "the token is not known or has expired; ask whoever runs this service for another",
        )
    else:
        challenge, error = (
            'Bearer realm="smkc"',
            "a token is needed; send it as 'Authorization: Bearer TOKEN'",
        )
    return HTTPException(401, error, {"WWW-Authenticate": challenge})
