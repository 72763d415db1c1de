"""Observations: samples as JSON, for senders that support neither remote write nor OTLP.

In: a list of observations, or columns. Out: samples.
"""

import json
import math
import re
from collections.abc import Iterable
from datetime import UTC, datetime, timedelta
from typing import Any

from smkc.recording import canonical, identifier
from smkc.serve.config import Limits
from smkc.serve.decoding.collecting import LONGEST_NAME, Collector, too_long
from smkc.serve.decoding.unpacking import DecodeError, media_type, ungzipped
from smkc.serve.intake.samples import Samples
from smkc.serve.rows import LATEST_TIME

JSON = ("", "application/json")

NODES_A_SAMPLE, ROOM_FOR_OTHERS = 4, 10_000
"""Parts that JSON may have, as many as observations by name have: a part of 3 bytes takes some 100
in memory."""

MILLISECONDS_FROM = 1e11
"""Smaller times are seconds (until the year 5138), others milliseconds (since 1973)."""

FURTHEST = 1e18  # a number of this size or more is not a time
SURROGATE = re.compile(rb"\\u[dD][89a-fA-F]")
EPOCH = datetime(1970, 1, 1, tzinfo=UTC)

SHAPES = (
    '{"observations": [{"time": .., "name": .., "value": ..}, ..]} or '
    '{"time": [..], "series": {"name": [..], ..}}'
)


def decode_observations(body: bytes, content_type: str, encoding: str, limits: Limits) -> Samples:
    """Read samples from JSON, plain or gzipped.

    The body is ``{"observations": [..]}`` or the list alone, where each observation is ``{"time",
    "name", "value"}``, with ``metric`` and ``labels`` allowed instead of the name; or columns,
    ``{"time": [..], "series": {name: [..]}}``. A time is ISO 8601 (UTC by default), or seconds or
    milliseconds since 1970. The value null means that the variable is gone; in a column it is
    ignored.

    Examples
    --------
    >>> body = b'{"observations": [{"time": "1970-01-01T00:00:15Z", "name": "cpu", "value": 0.5}]}'
    >>> samples = decode_observations(body, "application/json", "", Limits())
    >>> samples.names, samples.times.tolist(), samples.values.tolist()
    (('cpu',), [15000], [0.5])
    """
    kind, _ = media_type(content_type)
    if kind not in JSON:
        raise DecodeError(
            f"Content-Type {content_type[:200]!r} is not known; send application/json", 415
        )
    collector = Collector(limits)
    content = read_json(ungzipped(body, encoding, limits), limits)
    if isinstance(content, dict) and "series" in content:
        _add_columns(collector, content)
        return collector.samples()
    observations = content.get("observations") if isinstance(content, dict) else content
    if not isinstance(observations, list):
        raise DecodeError(f"the body has none of the known shapes; send {SHAPES}")
    _add_observations(collector, observations)
    return collector.samples()


def read_json(data: bytes, limits: Limits) -> Any:
    """Parse JSON; refuse it beforehand if parsing would take too much memory."""
    n_nodes = sum(data.count(sign) for sign in (b",", b"[", b"{"))
    most = NODES_A_SAMPLE * limits.samples_per_request + ROOM_FOR_OTHERS
    if n_nodes > most:
        raise DecodeError(
            f"the body has {n_nodes:,} parts, and {most:,} are allowed; send it in smaller parts, "
            "or raise samples_per_request under [limits]",
            413,
        )
    try:
        content = json.loads(data.decode("utf-8-sig"))
        if SURROGATE.search(data):  # protobuf, SQLite and others refuse lone surrogates
            json.dumps(content, ensure_ascii=False).encode()
        return content
    except (ValueError, RecursionError) as error:
        raise DecodeError(f"the body is not JSON ({error}); send UTF-8 JSON") from None


def _add_observations(collector: Collector, observations: Iterable[Any]) -> None:
    codes: dict[Any, int] = {}
    for number, one in enumerate(observations, 1):
        try:
            name, metric, labels = one.get("name"), one.get("metric"), one.get("labels")
            key = name if labels is None and metric is None else None
            code = codes.get(key) if key is not None else None
            if code is None:
                code = collector.code(_name(name, metric, labels))
                if key is not None:
                    codes[key] = code
            collector.add(code, _time(one.get("time")), _value(one.get("value", one)))
        except DecodeError as error:
            raise DecodeError(f"observation {number}: {error}", error.status) from None
        except (AttributeError, TypeError):
            raise DecodeError(
                f"observation {number} is {_shown(one)}; write {{'time': .., 'name': .., "
                "'value': ..}"
            ) from None


def _add_columns(collector: Collector, content: dict[str, Any]) -> None:
    times, series = content.get("time"), content["series"]
    if not isinstance(times, list) or not isinstance(series, dict):
        raise DecodeError(f"time must be a list and series an object; send {SHAPES}")
    stamps = []
    for number, time in enumerate(times, 1):
        try:
            stamps.append(_time(time))
        except DecodeError as error:
            raise DecodeError(f"time {number} of the list: {error}", error.status) from None
    for name, values in series.items():
        if not isinstance(values, list) or len(values) != len(stamps):
            n_values = len(values) if isinstance(values, list) else "no list of"
            raise DecodeError(
                f"series {name[:80]!a} has {n_values} values for {len(stamps)} times; give one a "
                "time, null where there is none"
            )
        code = collector.code(_name(name, None, None))
        for stamp, value in zip(stamps, values, strict=True):
            if value is not None:
                collector.add(code, stamp, _value(value))


def _name(name: Any, metric: Any, labels: Any) -> str:
    if (name is None) == (metric is None):
        raise DecodeError("give either a name, or a metric with its labels")
    given = metric if name is None else name
    labels = {} if labels is None else labels
    is_text = isinstance(given, str) and isinstance(labels, dict)
    if not is_text or not all(isinstance(value, str) for value in labels.values()):
        raise DecodeError(
            f"name {_shown(given)} with labels {_shown(labels)}: names and labels are text; put "
            "numbers in quotes"
        )
    if not given:
        raise DecodeError("a name is empty; give one")
    n_letters = len(given) + sum(len(label) + len(labels[label]) for label in labels)
    if n_letters > LONGEST_NAME:
        raise too_long(n_letters, given)
    return identifier(given, labels) if labels else canonical(given)


def _time(time: Any) -> int:
    """Return a time in milliseconds since 1970, checked to be in range."""
    stamp = _milliseconds(time)
    if stamp is None:
        raise DecodeError(
            f"time {_shown(time)} is not a time; write ISO 8601 such as '2026-01-31T12:00:00Z', or "
            "seconds or milliseconds since 1970"
        )
    if not 0 <= stamp <= LATEST_TIME:
        raise DecodeError(
            f"time {_shown(time)} is outside of what can be kept, from 1970 to 2262; write ISO "
            "8601, or seconds or milliseconds since 1970"
        )
    return stamp


def _milliseconds(time: Any) -> int | None:
    """Return a time in milliseconds since 1970, in any range; None if it is not a time."""
    if isinstance(time, str):
        try:
            stamp = datetime.fromisoformat(time)
        except ValueError:
            stamp = None
        if stamp is not None:
            stamp = stamp if stamp.tzinfo else stamp.replace(tzinfo=UTC)
            return (stamp - EPOCH) // timedelta(milliseconds=1)
    elif isinstance(time, int | float) and not isinstance(time, bool) and abs(time) < FURTHEST:
        return round(time * 1000) if abs(time) < MILLISECONDS_FROM else round(time)
    return None


def _value(value: Any) -> float:
    if value is None:
        return math.nan
    if isinstance(value, int | float) and not isinstance(value, bool):
        try:
            return float(value)
        except OverflowError:
            return math.inf if value > 0 else -math.inf
    raise DecodeError(
        f"value {_shown(value)} is not a number; give a number, or null if it is gone"
    )


def _shown(thing: Any) -> str:
    text = ascii(thing) if isinstance(thing, str | int | float | None) else type(thing).__name__
    return text if len(text) <= 80 else f"{text[:77]}..."
