"""Messages: what is said to the outside when an alert opens, gets worse or closes.

In: an alert as it stands, what changed, and the configuration. Out: messages for the outbox, one
for each place that wants to know; a replay makes the very same ones, with the very same keys.
"""

import math
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any
from urllib.parse import quote, urlsplit

from smkc.decide import Cause
from smkc.errors import InputError
from smkc.recording.visible import visible
from smkc.serve.queries import query_of_cause
from smkc.serve.rows import AlertRecord
from smkc.serve.store import Message

if TYPE_CHECKING:
    from smkc.serve.config import AlertmanagerConfig, Config

__all__ = [
    "ALERT_NAME",
    "CHANGES",
    "address",
    "alertmanager_alert",
    "instant",
    "link_to",
    "messages_for",
]

# What Alertmanager routes by; rules and inhibitions name it.
ALERT_NAME = "SmkcAnomaly"

CHANGES = ("open", "update", "close")

# An annotation is read on a telephone: so many causes, each of so many signs.
MAX_CAUSES_TOLD = 5
MAX_ANNOTATION_CHARACTERS = 300
LEAST_NATS = 0.05  # less is shown as 0.0


def messages_for(alert: AlertRecord, change: str, config: "Config") -> list[Message]:
    """Return what must be sent on a change of an alert, for the same commit as the change.

    Parameters
    ----------
    alert
        as it stands after the change.
    change
        ``open``, ``update`` (far worse, with the causes of that row) or ``close``.
    config
        names the Alertmanagers, the webhooks and the service's own public address.
    """
    if change not in CHANGES:
        raise InputError(f"an alert cannot {change!r}; changes are {', '.join(CHANGES)}")
    link = link_to(alert, config.public_url)
    guilty = alert.causes[0].variable if alert.causes else None
    query = "" if guilty is None else query_of_cause(guilty, alert, config)
    kinds: list[tuple[str, str, dict[str, Any]]] = [
        ("alertmanager", address(manager.url), alertmanager_alert(alert, manager, link, query))
        for manager in config.alertmanagers
    ]
    lane = f"{alert.watch}/{alert.entity}"
    event = _event(alert, change, link) | {"query": query}
    kinds += [("webhook", webhook.name, event) for webhook in config.webhooks]
    by_key = {
        f"{kind}/{quote(to)}/{alert.id}/{change}/{alert.peak}": (kind, to, content)
        for kind, to, content in kinds
    }
    return [
        Message(kind=kind, to=to, key=key, content=content, about=lane)
        for key, (kind, to, content) in by_key.items()
    ]


def address(url: str) -> str:
    """Return where a URL leads, fit to be shown: without user, password, query or fragment.

    Examples
    --------
    >>> address("https://me:secret@alerts.example:9093/am/?token=x")
    'https://alerts.example:9093/am'
    """
    parts = urlsplit(url)
    return f"{parts.scheme}://{parts.netloc.rpartition('@')[2]}{parts.path.rstrip('/')}"


def link_to(alert: AlertRecord, public_url: str) -> str:
    """Return the address of an alert's page; empty where the service's own is not known."""
    return f"{public_url.rstrip('/')}/alerts/{alert.id}" if public_url else ""


def alertmanager_alert(
    alert: AlertRecord, manager: "AlertmanagerConfig", link: str, query: str = ""
) -> dict[str, Any]:
    """Return an alert in the terms of Alertmanager's API, version 2.

    Labels tell one alert from another, so they stay the same while it lasts: those of the guilty
    variable are of the row at which the alert opened. An alert that goes on has no end here: who
    sends it says until when it holds.
    """
    who = {name: alert.labels.get(name, "") for name in manager.cause_labels}
    who |= {"alertname": ALERT_NAME, "watch": alert.watch, "entity": alert.entity}
    who |= {"severity": alert.severity, **manager.labels}
    said = {
        "summary": _summary(alert),
        "causes": "\n".join(_causes(alert)),
        "evidence": _evidence(alert),
        "query": query,
        "link": link,
    }
    told: dict[str, Any] = {
        "labels": {name: value for name, value in who.items() if value},
        "annotations": {name: text for name, text in said.items() if text},
        "startsAt": instant(alert.start),
    }
    if link:
        told["generatorURL"] = link
    if not alert.is_open:
        told["endsAt"] = instant(alert.end)
    return told


def _event(alert: AlertRecord, change: str, link: str) -> dict[str, Any]:
    """Return what a webhook gets: everything, in JSON's terms."""
    return {
        "version": 1,
        "event": change,
        "summary": _summary(alert),
        "link": link,
        "alert": {
            "id": alert.id,
            "watch": alert.watch,
            "entity": alert.entity,
            "start": instant(alert.start),
            "end": instant(alert.end),
            "peak": instant(alert.peak),
            "is_open": alert.is_open,
            "anomaly": _finite(alert.anomaly),
            "p_value": _finite(alert.p_value),
            "evidences": {name: _finite(nats) for name, nats in alert.evidences.items()},
            "causes_at": instant(alert.causes_at),
            "causes_anomaly": _finite(alert.causes_anomaly),
            "causes": [
                {
                    "variable": cause.variable,
                    "share": _finite(cause.share),
                    "kind": cause.kind,
                    "joint_with": list(cause.joint_with),
                    "detail": cause.detail,
                }
                for cause in alert.causes
            ],
        },
    }


def _summary(alert: AlertRecord) -> str:
    where = visible(f"{alert.watch}, {alert.entity}" if alert.entity else alert.watch)
    when = (
        f"is anomalous since {instant(alert.start)}"
        if alert.is_open
        else f"was anomalous from {instant(alert.start)} to {instant(alert.end)}"
    )
    if not alert.causes:
        return f"{where} {when}"
    first = alert.causes[0]
    return f"{where} {when}: {_short(f'{first.variable} {first.detail}'.strip())}"


def _causes(alert: AlertRecord) -> list[str]:
    """Return a line for each cause, under one that says which moment they are of."""
    if not alert.causes:
        return []
    lines = [_moment(alert)]
    lines += [_short(_in_words(cause)) for cause in alert.causes[:MAX_CAUSES_TOLD]]
    if len(alert.causes) > MAX_CAUSES_TOLD:
        lines.append(f"and {len(alert.causes) - MAX_CAUSES_TOLD} more")
    return lines


def _moment(alert: AlertRecord) -> str:
    if alert.causes_at == alert.peak:
        return f"At {instant(alert.causes_at)}, the worst moment{' so far' * alert.is_open}:"
    return (
        f"At {instant(alert.causes_at)}, when the anomaly was {alert.causes_anomaly:.2f} (it came "
        f"to {alert.anomaly:.2f} at {instant(alert.peak)}):"
    )


def _in_words(cause: Cause) -> str:
    detail = f"; {cause.detail}" if cause.detail else ""
    return f"{cause.share:.0%} {cause.kind}: {cause.who}{detail}"


def _evidence(alert: AlertRecord) -> str:
    ranked = sorted(alert.evidences.items(), key=lambda item: (-item[1], item[0]))
    said = [f"{name} {nats:.1f} nats" for name, nats in ranked if nats >= LEAST_NATS]
    return f"{', '.join(said)} at {instant(alert.peak)}" if said else ""


def _short(text: str) -> str:
    flat = visible(" ".join(text.split()))
    return (
        flat
        if len(flat) <= MAX_ANNOTATION_CHARACTERS
        else f"{flat[: MAX_ANNOTATION_CHARACTERS - 3]}..."
    )


def _finite(number: float) -> float | None:
    return number if math.isfinite(number) else None


def instant(time: int) -> str:
    """Write milliseconds since 1970 as RFC 3339 does."""
    moment = datetime.fromtimestamp(time // 1000, UTC).replace(microsecond=time % 1000 * 1000)
    return moment.isoformat(timespec="milliseconds").replace("+00:00", "Z")
