"""View: a running service, asked over HTTP for what it knows.

In: paths of its interface. Out: its answers, with times as people write them.
"""

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from typing import Any
from urllib.parse import urlsplit

import httpx

from smkc.errors import InputError
from smkc.serve.config.reaching import check_url, is_loopback

__all__ = ["RemoteService", "milliseconds"]

TIMEOUT_SECONDS = 20.0

# Fields of answers that are times, in milliseconds since 1970.
TIMES = frozenset(
    [
        "acknowledged_at",
        "causes_at",
        "end",
        "last_time",
        "now",
        "peak",
        "since",
        "start",
        "time",
        "times",
        "until",
    ]
)


class RemoteService:
    """A service that runs elsewhere.

    Parameters
    ----------
    url
        where it is, such as ``http://127.0.0.1:9469``.
    token
        that may read; empty where none is needed.
    """

    def __init__(self, url: str, token: str = "") -> None:
        check_url("url", url)
        self._url = url.rstrip("/")
        is_here = is_loopback(urlsplit(url).hostname or "")
        headers = {"Authorization": f"Bearer {token}"} if token else {}
        self._client = httpx.Client(headers=headers, timeout=TIMEOUT_SECONDS, trust_env=not is_here)

    def ask(self, path: str, query: Mapping[str, Any] | None = None) -> Any:
        """Return the answer to a question, of which empty parts are left out.

        What is refused is an error with the service's own words.
        """
        asked = {key: value for key, value in (query or {}).items() if value != ""}
        try:
            answer = self._client.get(f"{self._url}/api/v1/{path}", params=asked)
        except httpx.HTTPError as error:
            raise InputError(
                f"{self._url} does not answer ({error}); start smkc watch there, or give its "
                "address with --url"
            ) from None
        try:
            content = answer.json()
        except ValueError:
            content = {}
        if answer.status_code != httpx.codes.OK:
            said = content.get("error") if isinstance(content, dict) else None
            raise InputError(f"{self._url}: {said or f'it answered {answer.status_code}'}")
        return _with_dates(content)

    def close(self) -> None:
        """Let go of the connection."""
        self._client.close()


def milliseconds(moment: str) -> int:
    """Read a time as people write it, in UTC where it names no zone.

    Examples
    --------
    >>> milliseconds("2026-03-02T04:05:00Z"), milliseconds("2026-03-02 04:05")
    (1772424300000, 1772424300000)
    """
    try:
        found = datetime.fromisoformat(moment)
    except ValueError:
        raise InputError(f"{moment!r} is no time; write it like 2026-03-02T04:05:00Z") from None
    found = found if found.tzinfo is not None else found.replace(tzinfo=UTC)
    return round(1000 * found.timestamp())


def _with_dates(content: Any, key: str = "") -> Any:
    """Return an answer with its times as ISO 8601."""
    if isinstance(content, Mapping):
        return {name: _with_dates(value, name) for name, value in content.items()}
    if isinstance(content, Sequence) and not isinstance(content, str):
        return [_with_dates(value, key) for value in content]
    if key in TIMES and isinstance(content, int) and not isinstance(content, bool):
        moment = datetime.fromtimestamp(content / 1000, UTC)
        return moment.isoformat(timespec="seconds").replace("+00:00", "Z")
    return content
