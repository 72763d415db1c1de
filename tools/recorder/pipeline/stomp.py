"""A STOMP 1.2 connection to RabbitMQ over a plain socket.

In: frames to send. Out: frames from the broker.
"""

import socket
from dataclasses import dataclass
from typing import BinaryIO

__all__ = ["Frame", "Stomp", "StompError"]


class StompError(OSError):
    """An error frame from the broker."""


@dataclass(frozen=True)
class Frame:
    """A frame: its command, headers and body."""

    command: str
    headers: dict[str, str]
    body: bytes = b""


class Stomp:
    """A connection of the user ``worker``."""

    def __init__(self, port: int, password: str, timeout: float = 3.0) -> None:
        self._socket = socket.create_connection(("127.0.0.1", port), timeout=timeout)
        self._in: BinaryIO = self._socket.makefile("rb")
        try:
            self.send("CONNECT", login="worker", passcode=password, host="/", version="1.2")
            self.receive()
        except OSError:
            self.close()
            raise

    def send(self, command: str, body: bytes = b"", **headers: object) -> None:
        """Send a frame; ``_`` in header names is replaced by ``-``."""
        if command == "CONNECT":
            headers["accept_version"] = headers.pop("version")
        lines = [f"{name.replace('_', '-')}:{value}" for name, value in headers.items()]
        head = "\n".join([command, *lines, f"content-length:{len(body)}"])
        self._socket.sendall(head.encode() + b"\n\n" + body + b"\0")

    def receive(self) -> Frame:
        """Wait for a frame and return it."""
        command = b"\n"
        while command == b"\n":  # line ends are allowed between frames
            command = self._in.readline()
        if not command:
            raise ConnectionError("the broker closed the connection")
        headers: dict[str, str] = {}
        while line := self._in.readline().strip():
            name, _, value = line.decode().partition(":")
            headers.setdefault(name, value)
        body = self._read_body(headers)
        if command.strip() == b"ERROR":
            raise StompError(headers.get("message", body.decode(errors="replace")))
        return Frame(command.strip().decode(), headers, body)

    def close(self) -> None:
        """Close the connection."""
        self._in.close()
        self._socket.close()

    def _read_body(self, headers: dict[str, str]) -> bytes:
        if "content-length" in headers:
            body = self._in.read(int(headers["content-length"]))
            self._in.read(1)
            return body
        found = bytearray()
        while (one := self._in.read(1)) not in (b"\0", b""):
            found += one
        return bytes(found)
