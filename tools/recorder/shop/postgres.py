"""A PostgreSQL connection over a plain socket, and the paths of PostgreSQL's programs.

In: queries. Out: the first column of the result rows. It uses version 3.0 of the protocol with
simple queries and a clear-text password, which suffices on loopback.
"""

import glob
import shutil
import socket
import struct
from typing import BinaryIO

__all__ = ["Postgres", "PostgresError", "program"]

PROTOCOL = 3 << 16


class PostgresError(OSError):
    """An error from PostgreSQL."""


def program(name: str) -> str:
    """Return the path of a program of PostgreSQL, which Debian keeps outside the search path."""
    found = sorted(glob.glob(f"/usr/lib/postgresql/*/bin/{name}"))
    path = found[-1] if found else shutil.which(name)
    if path is None:
        raise SystemExit(f"{name} not found; apt install postgresql")
    return path


class Postgres:
    """A connection of a user to a database."""

    def __init__(
        self,
        port: int,
        user: str,
        database: str,
        password: str = "",
        timeout: float = 3.0,
    ) -> None:
        self._socket = socket.create_connection(("127.0.0.1", port), timeout=timeout)
        self._in: BinaryIO = self._socket.makefile("rb")
        words = b"".join(
            f"{key}\0{value}\0".encode() for key, value in (("user", user), ("database", database))
        )
        body = struct.pack("!i", PROTOCOL) + words + b"\0"
        try:
            self._socket.sendall(struct.pack("!i", len(body) + 4) + body)
            self._read(password)
        except OSError:
            self.close()
            raise

    def ask(self, query: str) -> list[str]:
        """Send a query, or several separated by semicolons; return the first column of the rows."""
        self._send(b"Q", query.encode() + b"\0")
        return self._read("")

    def close(self) -> None:
        """Close the connection."""
        self._in.close()
        self._socket.close()

    def _send(self, kind: bytes, body: bytes) -> None:
        self._socket.sendall(kind + struct.pack("!i", len(body) + 4) + body)

    def _read(self, password: str) -> list[str]:
        """Read messages until the server is ready for a query."""
        rows: list[str] = []
        error = ""
        while True:
            head = self._in.read(5)
            if len(head) < 5:
                raise PostgresError(error or "PostgreSQL closed the connection")
            kind, n = head[:1], struct.unpack("!i", head[1:])[0] - 4
            body = self._in.read(n)
            if kind == b"R" and struct.unpack("!i", body[:4])[0] == 3:
                self._send(b"p", password.encode() + b"\0")
            elif kind == b"D":
                size = struct.unpack("!i", body[2:6])[0]
                rows.append(body[6 : 6 + size].decode() if size >= 0 else "")
            elif kind == b"E":
                fields = {part[:1]: part[1:] for part in body.split(b"\0") if part}
                error = fields.get(b"M", b"").decode()
            elif kind == b"Z":
                if error:
                    raise PostgresError(error)
                return rows
