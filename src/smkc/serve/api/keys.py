"""Keys: the tokens of a service, and the identification of callers.

In: the tokens of the configuration and a request's headers. Out: a caller. Only the SHA-256 digest
of a secret is kept; digests are compared in constant time and never written anywhere.

Each line of the configured file holds one token as ``name:role:token`` or
``name:role:token:expiry``, with the expiry as an ISO 8601 time; lines that start with ``#`` are
skipped. In the environment variable, tokens are separated by commas. An error names the line, but
never shows the token.
"""

import hashlib
import hmac
import logging
import os
import re
import stat
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path

from starlette.requests import cookie_parser
from starlette.types import Scope

from smkc.errors import SettingError
from smkc.serve.config import TOKENS_VARIABLE, Config

COOKIE = "smkc_session"

# Maximum duration of a dashboard session; it ends earlier if its token expires.
SESSION_SECONDS = 12 * 3600

OPEN = "open"

# Permission that a route needs -> roles that have it.
ALLOWED: Mapping[str, frozenset[str]] = {
    "read": frozenset({"read", "admin"}),
    "write": frozenset({"write", "admin"}),
    "admin": frozenset({"admin"}),
}

# Longer tokens and cookies are rejected without comparing them.
MOST_TOKEN_BYTES = 4096

# Minimum number of characters of a token; a shorter one could be guessed.
MIN_TOKEN_CHARACTERS = 16

FORM = "name:role:token or name:role:token:expiry"

log = logging.getLogger("smkc.serve.api")


@dataclass(frozen=True, kw_only=True)
class Token:
    """One token; only the SHA-256 digest of its secret is kept.

    The role is read, write or admin; ``expires`` is in milliseconds since 1970, None for never.
    """

    name: str
    role: str
    digest: bytes = field(repr=False)
    expires: int | None = None


@dataclass(frozen=True, kw_only=True)
class Caller:
    """Caller of a request.

    Name and role are those of the token, None without a valid one; if the service has no tokens,
    every caller has the role admin. ``presented`` says whether the request has a token or a session
    cookie, valid or not.
    """

    name: str | None
    role: str | None
    address: str
    presented: bool = False

    def may(self, need: str) -> bool:
        """Return whether the caller may use a route that needs this permission."""
        return need == OPEN or self.role in ALLOWED[need]


class Keys:
    """All tokens of a service; if there are none, every caller is an admin."""

    def __init__(self, tokens: Iterable[Token] = ()) -> None:
        self._tokens = tuple(tokens)

    def __bool__(self) -> bool:
        return bool(self._tokens)

    def token(self, secret: str, now: int) -> Token | None:
        """Return the token with this secret; None if there is none or it has expired.

        All tokens are compared, each in constant time, so that the duration reveals nothing.
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
        """Return a session cookie for a token, without its secret, and its lifetime in seconds."""
        until = now + 1000 * SESSION_SECONDS
        if token.expires is not None:
            until = min(until, token.expires)
        return f"{token.name}:{until}:{_seal(token, until)}", max(0, (until - now) // 1000)

    def of_session(self, cookie: str, now: int) -> Token | None:
        """Return the token of a session cookie; None if the cookie is invalid or over."""
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
        return found

    def caller(self, scope: Scope, now: int) -> Caller:
        """Return the caller of a request, identified by its bearer token, else by its cookie."""
        client = scope.get("client")
        address = str(client[0]) if client else "unknown"
        if not self._tokens:
            return Caller(name=None, role="admin", address=address)
        headers = {name: value for name, value in reversed(scope["headers"])}
        bearer = headers.get(b"authorization")
        cookie = cookie_parser(headers.get(b"cookie", b"").decode("latin-1")).get(COOKIE)
        token = None
        if bearer is not None:
            scheme, _, secret = bearer.decode("latin-1").partition(" ")
            token = self.token(secret.strip(), now) if scheme.lower() == "bearer" else None
        elif cookie is not None:
            token = self.of_session(cookie, now)
        presented = bearer is not None or cookie is not None
        if token is None:
            return Caller(name=None, role=None, address=address, presented=presented)
        return Caller(name=token.name, role=token.role, address=address, presented=presented)


def _seal(token: Token, until: int) -> str:
    message = f"session:{token.name}:{token.role}:{until}".encode()
    return hmac.new(token.digest, message, hashlib.sha256).hexdigest()


def _is_over(until: int | None, now: int) -> bool:
    return until is not None and now >= until


def read_keys(config: Config, environment: Mapping[str, str] = os.environ) -> Keys:
    """Return all tokens of a configuration; none if neither file nor variable is given."""
    tokens: list[Token] = []
    for place, line in _lines(config.tokens, environment.get(TOKENS_VARIABLE)):
        token = parse_token(line, place)
        for other in tokens:
            if other.name == token.name:
                raise SettingError(f"{place}: two tokens are called {token.name!r}; rename one")
            if other.digest == token.digest:
                raise SettingError(
                    f"{place}: tokens {other.name!r} and {token.name!r} are the same; make each "
                    "its own"
                )
        tokens.append(token)
    return Keys(tokens)


def parse_token(line: str, place: str) -> Token:
    """Parse one line; ``place`` names it in error messages.

    Examples
    --------
    >>> parse_token("ci:write:0123456789abcdef:2030-01-01", "line 1")
    Token(name='ci', role='write', expires=1893456000000)
    """
    name, role, secret, expiry = [*line.strip().split(":", 3), "", "", ""][:4]
    # Errors show nothing of the line: in a malformed line any field may be the secret.
    if not re.fullmatch(r"[a-zA-Z0-9_.-]{1,64}", name):
        raise SettingError(
            f"{place}: a token's name has 1 to 64 letters, digits, '_', '.', '-'; write {FORM}"
        )
    if role not in ALLOWED:
        raise SettingError(
            f"{place}: the role must be one of {', '.join(sorted(ALLOWED))}; write {FORM}"
        )
    if len(secret) < MIN_TOKEN_CHARACTERS or not re.fullmatch(r"[\x21-\x7e]+", secret):
        raise SettingError(
            f"{place}: the token is too short or has invalid characters; make one of "
            f"{MIN_TOKEN_CHARACTERS} or more ASCII letters and digits, as by 'openssl rand -hex 24'"
        )
    return Token(
        name=name,
        role=role,
        digest=hashlib.sha256(secret.encode()).digest(),
        expires=_time(expiry, place) if expiry else None,
    )


def _lines(file: Path | None, variable: str | None) -> Iterator[tuple[str, str]]:
    """Yield the place and line of each token; a source without any token is an error."""
    sources = []
    if file is not None:
        sources.append((str(file), "line", _read(file).splitlines()))
    if variable is not None:
        sources.append((TOKENS_VARIABLE, "entry", variable.split(",")))
    for source, kind, lines in sources:
        given = [(n, one) for n, one in enumerate(lines, 1) if not re.match(r"\s*(#|$)", one)]
        if not given:  # an empty file must not open the service to everyone
            raise SettingError(f"{source} holds no token; write {FORM}, or remove the setting")
        yield from ((f"{source}, {kind} {number}", line) for number, line in given)


def _read(file: Path) -> str:
    try:
        if stat.S_IMODE(file.stat().st_mode) & stat.S_IROTH:
            log.warning("%s can be read by every user of this machine; chmod 600 it", file)
        return file.read_text("utf-8")
    except (OSError, UnicodeDecodeError) as error:
        reason = error.strerror if isinstance(error, OSError) else "it is not UTF-8 text"
        raise SettingError(
            f"tokens={str(file)!r} cannot be read ({reason}); give a file with one token per line"
        ) from None


def _time(text: str, place: str) -> int:
    try:
        time = datetime.fromisoformat(text)
    except ValueError:
        raise SettingError(
            f"{place}: the expiry is not a time; write it as in 2030-01-31T12:00:00Z"
        ) from None
    return round((time if time.tzinfo else time.replace(tzinfo=UTC)).timestamp() * 1000)
