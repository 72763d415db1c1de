"""Keeping: incidents in the store, brought up to date with every change of an alert.

In: the changes of a lane's alerts, in the transaction that stores them. Out: incidents in the same
transaction, and the messages about them. A process that is killed has therefore stored both or
neither, and the same changes always give the same incidents and messages.
"""

import sqlite3
from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from smkc.serve.incidents.grouping import Incident, united
from smkc.serve.incidents.messages import Telling
from smkc.serve.incidents.names import Dependencies, names_of
from smkc.serve.rows import AlertRecord
from smkc.serve.store import Message
from smkc.serve.store.incidents import (
    alerts_of,
    incident_of,
    incidents_near,
    is_any_open,
    put_incident,
)

if TYPE_CHECKING:
    from smkc.serve.config import Config


def keep(
    connection: sqlite3.Connection, changes: Sequence[tuple[str, AlertRecord]], config: "Config"
) -> list[Message]:
    """Assign a lane's alerts to incidents, after they were written; return the messages to send.

    Each change is its kind ("open", "update", "go on" or "close") and the alert afterwards, in the
    order in which they happened. Messages are about alerts instead, and none are returned here, if
    the configuration says so.
    """
    dependencies = Dependencies(config.dependencies)
    written = sorted({alert.id for _, alert in changes})
    states: dict[str, AlertRecord] = {}  # up to the current change; the store has the last ones
    messages: list[Message] = []
    for kind, alert in changes:
        states[alert.id] = alert
        before = incident_of(connection, alert.id)
        whole, known = _whole(connection, before, alert, names_of(alert, dependencies))
        ids = [one.id for one in known]
        is_open = any(one.is_open for one in states.values())
        now = replace(whole, is_open=is_open or is_any_open(connection, ids, written))
        put_incident(connection, now, alert.id, [one for one in ids if one != now.id])
        if not config.notifies_incidents:
            continue
        was = next((one for one in known if one.id == now.id), None)
        gone = [one for one in known if one.id != now.id]
        event = _event(kind, was, now, is_merged=bool(gone))
        if event or any(one.is_open for one in gone):
            alerts = [states.get(one.id, one) for one in alerts_of(connection, now.id)]
            messages += Telling(alerts, (kind, alert), config).messages(event, was, now, gone)
    return messages


def _whole(
    connection: sqlite3.Connection,
    before: Incident | None,
    alert: AlertRecord,
    names: frozenset[str],
) -> tuple[Incident, list[Incident]]:
    """Return the incident of an alert, and the stored incidents of which it consists.

    An incident that exists already keeps its id when a new alert joins it, since receivers know it
    by its id. Of several that are one, the one that began first keeps its id.
    """
    mine = Incident(
        id=alert.id, start=alert.start, end=alert.end, names=names, severity=alert.severity
    )
    if before is not None:
        mine = before.joined(mine)
    whole, others = united(mine, lambda since, until: incidents_near(connection, since, until))
    known = [*others, *([] if before is None else [before])]
    first = min(known or [mine], key=lambda one: (one.start, one.id))
    return replace(whole, id=first.id), known


def _event(kind: str, was: Incident | None, now: Incident, *, is_merged: bool) -> str:
    """Return the event that a change is for the receivers of an incident; empty if it is none.

    The end of one alert is none while others go on.
    """
    was_open = was is not None and was.is_open
    if now.is_open != was_open:
        return "open" if now.is_open else "close"
    return "update" if now.is_open and (kind in ("open", "update") or is_merged) else ""
