"""Messages: notifications sent to receivers when an alert opens, gets worse or closes.

In: the current alert, the kind of change, and the configuration. Out: messages for the outbox, one
per receiver. A replay produces the same messages with the same keys.
"""

import math
from dataclasses import asdict
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any
from urllib.parse import quote, urlsplit

from smkc.decide import Cause
from smkc.recording.visible import visible
from smkc.serve.queries import query_of_cause
from smkc.serve.rows import AlertRecord
from smkc.serve.store import Message

if TYPE_CHECKING:
    from smkc.serve.config import AlertmanagerConfig, Config

# Value of the label alertname, which routes and inhibition rules of Alertmanager match on.
ALERT_NAME = "SmkcAnomaly"

# Tag of an annotation by which the alert is found again, and the most characters of a tag.
ALERT_TAG, MAX_TAG_CHARACTERS = "alert:", 100

# Fields of an alert that webhooks get as timestamps, and as numbers or null.
TIMES = ("start", "end", "peak", "causes_at")
NUMBERS = ("anomaly", "p_value", "causes_anomaly")

# Maximum number of causes in an annotation and of characters per cause: it is read on phones.
MAX_CAUSES_TOLD = 5
MAX_ANNOTATION_CHARACTERS = 300

# Evidences below LEAST_NATS are omitted, as on the page of the alert: 1 row in 3 has as much. No
# reference has enough rows to tell more than RAREST_ROWS.
LEAST_NATS, RAREST_ROWS = 1.0, 1_000_000


def messages_for(alert: AlertRecord, change: str, config: "Config") -> list[Message]:
    """Return the messages to send on a change of an alert, to be committed with the change.

    The change is ``open``, ``update`` (far worse, with the causes of that row) or ``close``;
    ``alert`` is its state afterwards. If receivers are notified of incidents, only Grafana, which
    draws each alert, gets a message here.
    """
    kinds: list[tuple[str, str, dict[str, Any]]] = []
    if not config.notifies_incidents:
        kinds += [
            ("alertmanager", address(manager.url), alertmanager_alert(alert, manager, config))
            for manager in config.alertmanagers
        ]
        event = event_of(alert, change, link_to(alert, config.public_url))
        event |= {"query": first_query(alert, config)}
        kinds += [("webhook", webhook.name, event) for webhook in config.webhooks]
    drawn = grafana_annotation(alert, config)
    kinds += [("grafana", address(grafana.url), drawn) for grafana in config.grafanas]
    lane = f"{alert.watch}/{alert.entity}"
    by_key = {
        f"{kind}/{quote(to)}/{alert.id}/{change}/{alert.peak}": (kind, to, content)
        for kind, to, content in kinds
    }
    return [
        Message(kind=kind, to=to, key=key, content=content, about=lane)
        for key, (kind, to, content) in by_key.items()
    ]


def address(url: str) -> str:
    """Return a URL that is safe to show: without user, password, query and fragment.

    Examples
    --------
    >>> address("https://me:secret@alerts.example:9093/am/?token=x")
    'https://alerts.example:9093/am'
    """
    parts = urlsplit(url)
    return f"{parts.scheme}://{parts.netloc.rpartition('@')[2]}{parts.path.rstrip('/')}"


def link_to(alert: AlertRecord, public_url: str) -> str:
    """Return the URL of an alert's page; empty if no public URL is configured."""
    return f"{public_url.rstrip('/')}/alerts/{alert.id}" if public_url else ""


def alertmanager_alert(
    alert: AlertRecord, manager: "AlertmanagerConfig", config: "Config"
) -> dict[str, Any]:
    """Return an alert in the format of Alertmanager's API, version 2.

    Alertmanager identifies alerts by their labels, so the labels stay the same while the alert
    lasts: those of the first cause are taken from the row at which the alert opened. An open alert
    has no ``endsAt`` here; the sender adds one.
    """
    link = link_to(alert, config.public_url)
    who = {name: alert.labels.get(name, "") for name in manager.cause_labels}
    who |= {"alertname": ALERT_NAME, "watch": alert.watch, "entity": alert.entity}
    who |= {"severity": alert.severity, **manager.labels}
    said = {
        "summary": summary_of(alert),
        "causes": "\n".join(_causes(alert)),
        "evidence": _evidence(alert),
        "query": first_query(alert, config),
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


def grafana_annotation(alert: AlertRecord, config: "Config") -> dict[str, Any]:
    """Return an alert as an annotation of Grafana, a point until it closes and then a region."""
    tags = ["smkc", f"watch:{alert.watch}", f"{ALERT_TAG}{alert.id}"]
    if alert.entity:
        tags.append(visible(f"entity:{alert.entity}")[:MAX_TAG_CHARACTERS])
    lines = [summary_of(alert), *_causes(alert), link_to(alert, config.public_url)]
    text = "\n".join(line for line in lines if line)
    end = {} if alert.is_open else {"timeEnd": alert.end}
    return {"time": alert.start, **end, "tags": tags, "text": text}


def first_query(alert: AlertRecord, config: "Config") -> str:
    """Return the Prometheus query of the first cause; empty if there is none."""
    return query_of_cause(alert.causes[0].variable, alert, config) if alert.causes else ""


def event_of(alert: AlertRecord, change: str, link: str) -> dict[str, Any]:
    """Return the JSON content for webhooks, with all fields of the alert."""
    return {
        "version": 1,
        "event": change,
        "summary": summary_of(alert),
        "link": link,
        "alert": {
            "id": alert.id,
            "watch": alert.watch,
            "entity": alert.entity,
            "is_open": alert.is_open,
            **{name: instant(getattr(alert, name)) for name in TIMES},
            **{name: finite(getattr(alert, name)) for name in NUMBERS},
            "evidences": {name: finite(nats) for name, nats in alert.evidences.items()},
            "causes": [asdict(cause) | {"share": finite(cause.share)} for cause in alert.causes],
        },
    }


def summary_of(alert: AlertRecord) -> str:
    """Return what is anomalous since when, and what its first cause did."""
    where = visible(f"{alert.watch}, {alert.entity}" if alert.entity else alert.watch)
    when = (
        f"is anomalous since {instant(alert.start)}"
        if alert.is_open
        else f"was anomalous from {instant(alert.start)} to {instant(alert.end)}"
    )
    if not alert.causes:
        return f"{where} {when}"
    first = alert.causes[0]
    return f"{where} {when}: {shortened(f'{first.variable} {first.detail}'.strip())}"


def _causes(alert: AlertRecord) -> list[str]:
    """Return a first line with the time of the causes, then one line per cause."""
    if not alert.causes:
        return []
    lines = [_moment(alert)]
    lines += [shortened(_in_words(cause)) for cause in alert.causes[:MAX_CAUSES_TOLD]]
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
    """Return how rare each evidence was by itself at the worst moment, rarest first."""
    ranked = sorted(alert.evidences.items(), key=lambda item: (-item[1], item[0]))
    said = [f"{name}: 1 row in {_one_in(nats)}" for name, nats in ranked if nats >= LEAST_NATS]
    return f"{', '.join(said)}, at {instant(alert.peak)}" if said else ""


def _one_in(nats: float) -> str:
    """Return among how many normal rows one is as surprising.

    Examples
    --------
    >>> _one_in(1.0), _one_in(4.06), _one_in(5.3), _one_in(math.inf)
    ('3', '58', '200', '1,000,000')
    """
    rows = math.exp(min(nats, math.log(RAREST_ROWS)))
    return f"{float(f'{rows:.2g}') if rows >= 100 else rows:,.0f}"


def shortened(text: str) -> str:
    """Return a text on one line, short enough for an annotation, with every character visible."""
    flat = visible(" ".join(text.split()))
    return (
        flat
        if len(flat) <= MAX_ANNOTATION_CHARACTERS
        else f"{flat[: MAX_ANNOTATION_CHARACTERS - 3]}..."
    )


def finite(number: float) -> float | None:
    """Return a number as JSON can hold it: None for NaN and infinities."""
    return number if math.isfinite(number) else None


def instant(time: int) -> str:
    """Format milliseconds since 1970 as an RFC 3339 timestamp."""
    moment = datetime.fromtimestamp(time // 1000, UTC).replace(microsecond=time % 1000 * 1000)
    return moment.isoformat(timespec="milliseconds").replace("+00:00", "Z")
