"""Silences made in a real Alertmanager, and what they are about, for the tests of silences."""

import time
from datetime import UTC, datetime, timedelta

import httpx

from smkc.serve.config import AlertmanagerConfig, WatchConfig
from smkc.serve.delivery.silences import Matcher

ENTITIES = ("checkout", "payment", "a.b")
SPLIT = WatchConfig(name="shop", source="push", entity="ns")
MANAGER = AlertmanagerConfig(url="http://localhost:9093", labels={"team": "shop"})


def now() -> int:
    return time.time_ns() // 1_000_000


def after(**given) -> datetime:
    """Return a time from now on, in whole milliseconds as Alertmanager answers."""
    moment = datetime.now(UTC) + timedelta(**given)
    return moment.replace(microsecond=moment.microsecond // 1000 * 1000)


def matchers_of(text):
    """Return the matchers of a text such as ``watch=shop entity!~a|b``."""
    found = []
    for part in text.split():
        sign = next(one for one in ("=~", "!~", "!=", "=") if one in part)
        name, value = part.split(sign, 1)
        found.append(
            Matcher(name=name, value=value, is_regex="~" in sign, is_equal="!" not in sign)
        )
    return tuple(found)


def silence(manager, text, *, id=None, minutes=60, comment="backups", start=None):
    """Silence alerts in the real Alertmanager, or change a silence; return its id."""
    matchers = [
        {"name": one.name, "value": one.value, "isRegex": one.is_regex, "isEqual": one.is_equal}
        for one in matchers_of(text)
    ]
    begin = after() if start is None else start
    content = {
        "matchers": matchers,
        "startsAt": begin.isoformat(),
        "endsAt": (begin + timedelta(minutes=minutes)).isoformat(),
        "createdBy": "alice",
        "comment": comment,
    }
    answer = httpx.post(f"{manager.url}/api/v2/silences", json=content | ({"id": id} if id else {}))
    assert answer.status_code == 200, answer.text
    return answer.json()["silenceID"]
