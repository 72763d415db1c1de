"""Body: what a request sends, counted as it comes.

In: a request's ``receive``. Out: the same, or an answer of 413 once the limit is passed, whether
the length was announced or not. As much again is thrown away first, so that a client that sends
before it listens hears the answer.
"""

from fastapi import HTTPException, Request
from starlette.types import Message, Receive, Scope

__all__ = ["limited", "read_body"]


def limited(scope: Scope, receive: Receive, most: int) -> Receive:
    """Return ``receive`` for bodies of at most so many bytes."""
    lengths = [value for name, value in scope["headers"] if name == b"content-length"]
    is_announced = any(_is_over(value, most) for value in lengths)
    is_waiting = any(name == b"expect" for name, _ in scope["headers"])
    taken = 0

    async def counted() -> Message:
        nonlocal taken
        if is_announced and is_waiting:  # the client sends nothing before it is told to
            raise _too_long(most)
        message = await receive()
        taken += len(message.get("body", b""))
        if taken > most or (is_announced and message["type"] == "http.request"):
            await _throw_away(receive, message, most)
            raise _too_long(most)
        return message

    return counted


async def read_body(request: Request) -> bytes:
    """Return a whole body; a client that goes before its end has sent none."""
    parts = []
    async for part in request.stream():
        parts.append(part)
    return b"".join(parts)


async def _throw_away(receive: Receive, message: Message, most: int) -> None:
    thrown = 0
    while message.get("more_body", False) and thrown < most:
        message = await receive()
        thrown += len(message.get("body", b""))


def _is_over(value: bytes, most: int) -> bool:
    """Say whether an announced length is too long, or no length at all."""
    return not value.isdigit() or len(value) > 18 or int(value) > most


def _too_long(most: int) -> HTTPException:
    return HTTPException(
        413, f"the body is longer than {most:,} bytes; send it in parts", {"Connection": "close"}
    )
