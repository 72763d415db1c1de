"""A Redis connection over a plain socket that sends commands in batches.

In: the port of a server on loopback. Out: replies.
"""

import socket
from typing import BinaryIO

__all__ = ["Connection", "Reply", "ReplyError"]

Reply = bytes | int | None | list["Reply"]

Word = str | bytes | int


class ReplyError(OSError):
    """An error reply from Redis."""


class Connection:
    """A connection that sends commands in batches and reads one reply for each."""

    def __init__(self, port: int, password: str = "", timeout: float = 5.0) -> None:
        self._socket = socket.create_connection(("127.0.0.1", port), timeout=timeout)
        self._replies: BinaryIO = self._socket.makefile("rb")
        if password:
            self.ask(("AUTH", password))

    def ask(self, *commands: tuple[Word, ...]) -> list[Reply]:
        """Send commands at once and return all replies; raise the first error among them."""
        self._socket.sendall(b"".join(map(_encode, commands)))
        errors: list[ReplyError] = []
        replies = [self._read_reply(errors) for _ in commands]
        if errors:
            raise errors[0]
        return replies

    def close(self) -> None:
        """Close the connection."""
        self._replies.close()
        self._socket.close()

    def _read_reply(self, errors: list[ReplyError]) -> Reply:
        head = self._replies.readline()
        if not head:
            raise ConnectionError("Redis closed the connection")
        kind, rest = head[:1], head[1:-2]
        if kind == b"$":
            n = int(rest)
            return None if n < 0 else self._replies.read(n + 2)[:-2]
        if kind == b"*":
            return [self._read_reply(errors) for _ in range(int(rest))]
        if kind == b":":
            return int(rest)
        if kind == b"-":
            errors.append(ReplyError(rest.decode()))
        return rest


def _encode(words: tuple[Word, ...]) -> bytes:
    parts = [word if isinstance(word, bytes) else str(word).encode() for word in words]
    body = b"".join(b"$%d\r\n%s\r\n" % (len(part), part) for part in parts)
    return b"*%d\r\n%s" % (len(parts), body)
