"""Prometheus names and labels from OpenTelemetry's names and attributes.

In: an OpenTelemetry metric name, or attributes. Out: a Prometheus metric name, or labels.
"""

import json
import re
from base64 import b64encode
from collections.abc import Iterable
from typing import Any

from smkc.serve.decoding.unpacking import DecodeError

STRANGE_IN_LABELS = re.compile(r"[^a-zA-Z0-9_]+")
STRANGE_IN_METRICS = re.compile(r"[^a-zA-Z0-9_:]+")
MOST_DEPTH = 16  # levels of nesting in an attribute's value


def metric_name(name: str, ending: str) -> str:
    """Return a metric's name as Prometheus would write it; append ``ending`` if it is missing.

    Examples
    --------
    >>> metric_name("http.server.requests", "_total"), metric_name("disk io_total", "_total")
    ('http_server_requests_total', 'disk_io_total')
    """
    known = STRANGE_IN_METRICS.sub("_", name)
    if not known:
        raise DecodeError("a metric has no name; give it one")
    if known[0].isdigit():
        known = f"_{known}"
    return known if known.endswith(ending) else known + ending


def attribute_labels(attributes: Iterable[Any]) -> dict[str, str]:
    """Return attributes as labels.

    If several names map to the same label, their values are joined by ``;``. An attribute without a
    name is left out.
    """
    labels: dict[str, str] = {}
    for one in sorted(attributes, key=lambda one: str(one.key)):
        label = STRANGE_IN_LABELS.sub("_", one.key)
        if not label:
            continue
        if label[0].isdigit():
            label = f"_{label}"
        text = _text(one.value)
        labels[label] = f"{labels[label]};{text}" if label in labels else text
    return labels


def _text(value: Any) -> str:
    plain = _plain(value, 0)
    return plain if isinstance(plain, str) else json.dumps(plain, ensure_ascii=False)


def _plain(value: Any, depth: int) -> Any:
    """Return an attribute's value as a JSON-serializable value."""
    if depth > MOST_DEPTH:
        raise DecodeError(f"an attribute nests more than {MOST_DEPTH} levels; send plain text")
    kind = value.WhichOneof("value")
    if kind is None:
        return ""
    if kind == "array_value":
        return [_plain(one, depth + 1) for one in value.array_value.values]
    if kind == "kvlist_value":
        return {one.key: _plain(one.value, depth + 1) for one in value.kvlist_value.values}
    found = getattr(value, kind)
    return b64encode(found).decode() if isinstance(found, bytes) else found
