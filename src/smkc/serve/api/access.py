"""Access: checks whether a caller may use a route, and limits the size of request bodies.

In: the permission that a route needs, and a caller. Out: the route's answer, or 401, 403 or 413. A
route cannot be created without stating what it needs (:func:`needs`), so that none is open by
mistake. The check is done before the body is read.
"""

from collections.abc import Callable
from typing import Any, TypeVar

from fastapi import HTTPException
from fastapi.routing import APIRoute
from starlette.types import Message, Receive, Scope, Send

from smkc.serve.api.keys import ALLOWED, OPEN, Caller

# Key of the caller in a request's scope.
CALLER = "smkc.caller"

# Maximum number of bytes in the body of a route that takes no samples, such as a note or a token.
SMALL_BODY = 64 * 1024

Endpoint = TypeVar("Endpoint", bound=Callable[..., Any])


class GuardedRoute(APIRoute):
    """A route that checks the caller before the body is read.

    The endpoint must be decorated with :func:`needs`.
    """

    def __init__(self, path: str, endpoint: Callable[..., Any], **further: Any) -> None:
        self.needs: str = endpoint.needs  # type: ignore[attr-defined]
        self.takes_samples: bool = endpoint.takes_samples  # type: ignore[attr-defined]
        super().__init__(path, endpoint, **further)

    async def handle(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Run the route if the caller may use it, else raise HTTPException."""
        caller: Caller = scope[CALLER]
        if not caller.may(self.needs):
            raise _refusal(caller, self.needs)
        most = scope["app"].state.limits.body_bytes if self.takes_samples else SMALL_BODY
        await super().handle(scope, _limited(scope, receive, most), send)


def needs(need: str, *, takes_samples: bool = False) -> Callable[[Endpoint], Endpoint]:
    """Declare the permission that a route needs; a decorator to place below that of the route.

    The permission is "open", "read", "write" or "admin". If ``takes_samples``, the body may be as
    large as the configured limit, instead of SMALL_BODY bytes.
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


def _limited(scope: Scope, receive: Receive, most: int) -> Receive:
    """Return a ``receive`` that answers bodies of more than ``most`` bytes with 413.

    Before the answer up to as many bytes again are read and discarded, so that a client that sends
    its whole body before it reads still gets the answer.
    """
    lengths = [value for name, value in scope["headers"] if name == b"content-length"]
    is_announced = any(_is_over(value, most) for value in lengths)
    is_waiting = any(name == b"expect" for name, _ in scope["headers"])
    taken = 0

    async def counted() -> Message:
        nonlocal taken
        if is_announced and is_waiting:  # Expect: 100-continue: the client has sent no body yet
            raise _too_long(most)
        message = await receive()
        taken += len(message.get("body", b""))
        if taken > most or (is_announced and message["type"] == "http.request"):
            await _throw_away(receive, message, most)
            raise _too_long(most)
        return message

    return counted


async def _throw_away(receive: Receive, message: Message, most: int) -> None:
    thrown = 0
    while message.get("more_body", False) and thrown < most:
        message = await receive()
        thrown += len(message.get("body", b""))


def _is_over(value: bytes, most: int) -> bool:
    """Return whether an announced length is too large or malformed."""
    return not value.isdigit() or len(value) > 18 or int(value) > most


def _too_long(most: int) -> HTTPException:
    return HTTPException(
        413, f"the body is longer than {most:,} bytes; send it in parts", {"Connection": "close"}
    )
