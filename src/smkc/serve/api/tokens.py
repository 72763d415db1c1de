"""Tokens: read from a file and the environment, a line each.

In: the configuration. Out: :class:`Keys`. A line is ``name:role:token`` or
``name:role:token:expiry``, the expiry an ISO 8601 time; lines that start with ``#`` are skipped,
and in the environment variable commas part the lines. An error names the line, never the token.
"""

import hashlib
import logging
import os
import re
import stat
from collections.abc import Iterator, Mapping
from datetime import UTC, datetime
from pathlib import Path

from smkc.errors import SettingError
from smkc.serve.api.keys import ALLOWED, Keys, Token
from smkc.serve.config import TOKENS_VARIABLE, Config

__all__ = ["LEAST_SIGNS", "parse_token", "read_keys"]

# A token with fewer signs could be guessed.
LEAST_SIGNS = 16

FORM = "name:role:token or name:role:token:expiry"

log = logging.getLogger("smkc.serve.api")


def read_keys(config: Config, environment: Mapping[str, str] = os.environ) -> Keys:
    """Return all tokens of a configuration; none where neither file nor variable is given."""
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
    """Read one line; the place is named in errors.

    Examples
    --------
    >>> parse_token("ci:write:0123456789abcdef:2030-01-01", "line 1")
    Token(name='ci', role='write', expires=1893456000000)
    """
    name, role, secret, expiry = [*line.strip().split(":", 3), "", "", ""][:4]
    # Nothing of the line is repeated: what stands in the wrong place may be the secret.
    if not re.fullmatch(r"[a-zA-Z0-9_.-]{1,64}", name):
        raise SettingError(
            f"{place}: a token's name has 1 to 64 letters, digits, '_', '.', '-'; write {FORM}"
        )
    if role not in ALLOWED:
        raise SettingError(
            f"{place}: the role is none of {', '.join(sorted(ALLOWED))}; write {FORM}"
        )
    if len(secret) < LEAST_SIGNS or not re.fullmatch(r"[\x21-\x7e]+", secret):
        raise SettingError(
            f"{place}: the token is too short or has odd signs; make one of {LEAST_SIGNS} or more "
            "ASCII letters and digits, as 'openssl rand -hex 24' does"
        )
    return Token(
        name=name,
        role=role,
        digest=hashlib.sha256(secret.encode()).digest(),
        expires=_time(expiry, place) if expiry else None,
    )


def _lines(file: Path | None, variable: str | None) -> Iterator[tuple[str, str]]:
    """Yield every token's place and line; what is given must hold one."""
    if file is not None:
        yield from _given(str(file), _read(file).splitlines(), "line")
    if variable is not None:
        yield from _given(TOKENS_VARIABLE, variable.split(","), "entry")


def _given(source: str, lines: list[str], kind: str) -> Iterator[tuple[str, str]]:
    found = False
    for number, line in enumerate(lines, 1):
        if line.strip() and not line.strip().startswith("#"):
            found = True
            yield f"{source}, {kind} {number}", line
    if not found:  # an empty secret must not open the service to everybody
        raise SettingError(f"{source} holds no token; write {FORM}, or take the setting away")


def _read(file: Path) -> str:
    try:
        if stat.S_IMODE(file.stat().st_mode) & stat.S_IROTH:
            log.warning("%s can be read by every user of this machine; chmod 600 it", file)
        return file.read_text("utf-8")
    except (OSError, UnicodeDecodeError) as error:
        reason = error.strerror if isinstance(error, OSError) else "it is not UTF-8 text"
        raise SettingError(
            f"tokens={str(file)!r} cannot be read ({reason}); give a file with a token a line"
        ) from None


def _time(text: str, place: str) -> int:
    try:
        time = datetime.fromisoformat(text)
    except ValueError:
        raise SettingError(
            f"{place}: the expiry is no time; write it as in 2030-01-31T12:00:00Z"
        ) from None
    return round((time if time.tzinfo else time.replace(tzinfo=UTC)).timestamp() * 1000)
