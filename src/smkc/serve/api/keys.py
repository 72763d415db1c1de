"""Keys: the tokens of a service, and who a request comes from.

In: the tokens of the configuration and a request's headers. Out: a caller. Secrets are kept as
their SHA-256 alone, compared in constant time, and never written anywhere.
"""

import hashlib
import hmac
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from starlette.requests import cookie_parser
from starlette.types import Scope

__all__ = ["ALLOWED", "COOKIE", "OPEN", "Caller", "Keys", "Token"]

COOKIE = "smkc_session"

# A session of the dashboard lasts so long, or until its token expires.
SESSION_SECONDS = 12 * 3600

OPEN = "open"

# What a route needs -> the roles that may use it.
ALLOWED: Mapping[str, frozenset[str]] = {
    "read": frozenset({"read", "admin"}),
    "write": frozenset({"write", "admin"}),
    "admin": frozenset({"admin"}),
}

# A longer token or cookie is not looked at.
MOST_TOKEN_BYTES = 4096


@dataclass(frozen=True, kw_only=True)
class Token:
    """One key to the service; only its SHA-256 is kept.

    Parameters
    ----------
    name
        who holds it: letters, digits, ``_``, ``.``, ``-``.
    role
        read, write or admin.
    digest
        (32,) bytes, SHA-256 of the secret.
    expires
        milliseconds since 1970, UTC; None = never.
    """

    name: str
    role: str
    digest: bytes = field(repr=False)
    expires: int | None = None


@dataclass(frozen=True, kw_only=True)
class Caller:
    """Who is asking.

    Parameters
    ----------
    name, role
        of the token; None without a valid one.
    address
        where the request comes from.
    presented
        whether a token or a cookie came along, valid or not.
    expires
        when the caller stops being known, in milliseconds; None = never.
    """

    name: str | None
    role: str | None
    address: str
    presented: bool = False
    expires: int | None = None

    def may(self, need: str) -> bool:
        """Say whether a route with this rule is for the caller."""
        return need == OPEN or self.role in ALLOWED[need]


class Keys:
    """All tokens of a service; without any, everybody who reaches it is its admin."""

    def __init__(self, tokens: Iterable[Token] = ()) -> None:
        self._tokens = tuple(tokens)

    def __bool__(self) -> bool:
        return bool(self._tokens)

    def token(self, secret: str, now: int) -> Token | None:
        """Return the token with this secret unless it has expired.

        All are compared, each in constant time: how long it takes says nothing.
        """
        encoded = secret.encode("utf-8", "surrogateescape")
        if not encoded or len(encoded) > MOST_TOKEN_BYTES:
            return None
        digest = hashlib.sha256(encoded).digest()
        found = None
        for token in self._tokens:
            if hmac.compare_digest(token.digest, digest):
                found = token
        return found if found is not None and not _is_over(found.expires, now) else None

    def session(self, token: Token, now: int) -> tuple[str, int]:
        """Return a cookie that stands for a token without holding it, and its life in seconds."""
        until = now + 1000 * SESSION_SECONDS
        if token.expires is not None:
            until = min(until, token.expires)
        return f"{token.name}:{until}:{_seal(token, until)}", max(0, (until - now) // 1000)

    def of_session(self, cookie: str, now: int) -> tuple[Token, int] | None:
        """Return the token that a cookie stands for, and when that ends."""
        parts = cookie.split(":")
        if len(parts) != 3 or not (parts[1].isascii() and parts[1].isdigit() and parts[1]):
            return None
        if len(cookie) > MOST_TOKEN_BYTES or len(parts[1]) > 15:
            return None
        name, until = parts[0], int(parts[1])
        seal = parts[2].encode("utf-8", "surrogateescape")
        found = None
        for token in self._tokens:
            is_sealed = hmac.compare_digest(_seal(token, until).encode(), seal)
            if is_sealed and token.name == name:
                found = token
        if found is None or _is_over(until, now) or _is_over(found.expires, now):
            return None
        return found, until

    def caller(self, scope: Scope, now: int) -> Caller:
        """Say who sends a request: by its bearer token, else by its cookie."""
        client = scope.get("client")
        address = str(client[0]) if client else "unknown"
        if not self._tokens:
            return Caller(name=None, role="admin", address=address)
        headers = {name: value for name, value in reversed(scope["headers"])}
        bearer = headers.get(b"authorization")
        if bearer is not None:
            scheme, _, secret = bearer.decode("latin-1").partition(" ")
            token = self.token(secret.strip(), now) if scheme.lower() == "bearer" else None
            if token is None:
                return Caller(name=None, role=None, address=address, presented=True)
            return _known(token, address, token.expires)
        cookie = cookie_parser(headers.get(b"cookie", b"").decode("latin-1")).get(COOKIE)
        if cookie is None:
            return Caller(name=None, role=None, address=address)
        session = self.of_session(cookie, now)
        if session is None:
            return Caller(name=None, role=None, address=address, presented=True)
        return _known(session[0], address, session[1])


def _known(token: Token, address: str, expires: int | None) -> Caller:
    return Caller(
        name=token.name, role=token.role, address=address, presented=True, expires=expires
    )


def _seal(token: Token, until: int) -> str:
    message = f"session:{token.name}:{token.role}:{until}".encode()
    return hmac.new(token.digest, message, hashlib.sha256).hexdigest()


def _is_over(until: int | None, now: int) -> bool:
    return until is not None and now >= until
