"""Messages: one notification per incident, updated as it grows and resolved when it is over.

In: an incident before and after a change, and its alerts. Out: messages for the outbox, one per
receiver. What an incident of a single alert says is what the alert would say by itself.
"""

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

from smkc.recording.visible import visible
from smkc.serve.config.durations import show_duration
from smkc.serve.incidents.grouping import Incident
from smkc.serve.incidents.names import Dependencies
from smkc.serve.incidents.story import Step, Story, lane_name, lead_of, story_of
from smkc.serve.messages import (
    address,
    alertmanager_alert,
    event_of,
    finite,
    first_query,
    instant,
    shortened,
    summary_of,
)
from smkc.serve.rows import AlertRecord
from smkc.serve.store import Message

if TYPE_CHECKING:
    from smkc.serve.config import AlertmanagerConfig, Config

# Maximum number of alerts in an annotation, which is read on phones, and in a webhook's JSON.
MAX_LINES, MAX_STEPS = 8, 100


class Telling:
    """The messages about a change of an incident.

    ``alerts`` are all alerts of the incident in the order of their start, and ``change`` is the
    kind of the change and the alert that changed.
    """

    def __init__(
        self, alerts: Sequence[AlertRecord], change: tuple[str, AlertRecord], config: "Config"
    ) -> None:
        self._alerts, self._config = alerts, config
        self._kind, self._alert = change
        self._story = story_of(alerts, Dependencies(config.dependencies))

    def messages(
        self, event: str, was: Incident | None, now: Incident, gone: Sequence[Incident]
    ) -> list[Message]:
        """Return the messages on an event of an incident; an empty event is none.

        Those that are ``gone``, because they were merged into it, are closed. Alertmanager tells
        alerts apart by their labels, so if the severity rose, the alert with the old one is closed.
        """
        found: list[Message] = []
        for one in gone:
            if one.is_open:
                closed = replace(one, is_open=False, merged_into=now.id)
                found += self._to_alertmanagers("close", closed)
                found += self._to_webhooks("close", closed)
        if was is not None and was.is_open and was.severity != now.severity:
            milder = replace(was, is_open=False, end=now.end)
            found += self._to_alertmanagers(f"no-{was.severity}", milder, is_by_severity=True)
        if event:
            found += self._to_alertmanagers(event, now) + self._to_webhooks(event, now)
        return found

    def _to_alertmanagers(
        self, event: str, incident: Incident, *, is_by_severity: bool = False
    ) -> list[Message]:
        """Return a message to each; if told, only to those whose labels show smkc's severity."""
        return [
            self._message(
                ("alertmanager", address(to.url)),
                event,
                incident,
                _alertmanager_content(incident, self._alerts, self._story, to, self._config),
            )
            for to in self._config.alertmanagers
            if not (is_by_severity and "severity" in to.labels)
        ]

    def _to_webhooks(self, event: str, incident: Incident) -> list[Message]:
        content = event_of(self._alert, event, _link(incident, self._config)) | {
            "summary": _summary(incident, self._alerts, self._story),
            "query": first_query(self._story.blamed, self._config),
            "incident": _as_json(incident, self._story),
        }
        return [
            self._message(("webhook", to.name), event, incident, content)
            for to in self._config.webhooks
        ]

    def _message(
        self, receiver: tuple[str, str], event: str, incident: Incident, content: Any
    ) -> Message:
        kind, to = receiver
        change = f"{self._alert.id}/{quote(self._kind)}/{self._alert.peak}/{incident.end}"
        return Message(
            kind=kind,
            to=to,
            key=f"{kind}/{quote(to)}/{incident.id}/{event}/{change}",
            content=content,
            about=f"incident/{incident.id}",
        )


def alertmanager_incident(
    incident: Incident,
    alerts: Sequence[AlertRecord],
    manager: "AlertmanagerConfig",
    config: "Config",
) -> dict[str, Any]:
    """Return an incident as one alert in the format of Alertmanager's API, version 2.

    Its labels are those of the alert that began it, its id, and its severity, which may rise; its
    annotations are updated as it grows.
    """
    story = story_of(alerts, Dependencies(config.dependencies))
    return _alertmanager_content(incident, alerts, story, manager, config)


def _alertmanager_content(
    incident: Incident,
    alerts: Sequence[AlertRecord],
    story: Story,
    manager: "AlertmanagerConfig",
    config: "Config",
) -> dict[str, Any]:
    first = next((one for one in alerts if one.id == incident.id), alerts[0])
    first = replace(first, severity=incident.severity)
    labels = alertmanager_alert(first, manager, config)["labels"]
    said = alertmanager_alert(story.blamed, manager, config)["annotations"]
    if len(alerts) > 1:
        said["summary"] = _summary(incident, alerts, story)
        said["timeline"] = "\n".join(_lines(story.timeline))
        said["blame"] = shortened(f"{lane_name(story.blamed)}: {story.reason}")
    told: dict[str, Any] = {
        "labels": labels | {"incident": manager.labels.get("incident", incident.id)},
        "annotations": said,
        "startsAt": instant(incident.start),
    }
    if link := _link(incident, config):
        said["link"] = told["generatorURL"] = link
    if not incident.is_open:
        told["endsAt"] = instant(incident.end)
    return told


def _link(incident: Incident, config: "Config") -> str:
    """Return the URL of an incident's page; empty if no public URL is configured."""
    return f"{config.public_url}/incidents/{incident.id}" if config.public_url else ""


def _summary(incident: Incident, alerts: Sequence[AlertRecord], story: Story) -> str:
    """Return who is anomalous since when, and who is likely to blame."""
    if len(alerts) == 1:
        return summary_of(alerts[0])
    lanes = list(dict.fromkeys(lane_name(one) for one in alerts))
    who = visible(lanes[0]) + (f" and {len(lanes) - 1} more" if len(lanes) > 1 else "")
    when = (
        f"anomalous since {instant(incident.start)}"
        if incident.is_open
        else f"anomalous from {instant(incident.start)} to {instant(incident.end)}"
    )
    return f"{who}: {when}; likely to blame: {shortened(_what(story.blamed))}"


def _lines(timeline: Sequence[Step]) -> list[str]:
    """Return one line per alert: when, where and what; the last one counts those left out."""
    lines = []
    for step in timeline[:MAX_LINES]:
        later = f", {show_duration(step.after)} later" if step.after else ""
        shared = f"; in common: {', '.join(step.shared)}" if step.shared else ""
        lines.append(shortened(f"{instant(step.alert.start)}{later}: {_what(step.alert)}{shared}"))
    if len(timeline) > MAX_LINES:
        lines.append(f"and {len(timeline) - MAX_LINES} more")
    return lines


def _what(alert: AlertRecord) -> str:
    """Return an alert's lane, and what its first cause did."""
    if not alert.causes:
        return lane_name(alert)
    first = alert.causes[0]
    did = f"{first.variable} {first.detail}".strip()
    return f"{lane_name(alert)}: {did} ({first.share:.0%} of its deviation)"


def _as_json(incident: Incident, story: Story) -> dict[str, Any]:
    """Return an incident for webhooks, with its timeline and the alert to blame."""
    return {
        "id": incident.id,
        "start": instant(incident.start),
        "end": instant(incident.end),
        "is_open": incident.is_open,
        "severity": incident.severity,
        "merged_into": incident.merged_into,
        "n_alerts": len(story.timeline),
        "likely_to_blame": {**lead_of(story.blamed), "reason": story.reason},
        "timeline": [
            {
                **lead_of(step.alert),
                "start": instant(step.alert.start),
                "end": instant(step.alert.end),
                "is_open": step.alert.is_open,
                "anomaly": finite(step.alert.anomaly),
                "place": step.place,
                "in_common": list(step.shared),
            }
            for step in story.timeline[:MAX_STEPS]
        ],
    }
