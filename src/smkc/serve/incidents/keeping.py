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
    is_other_open,
    put_incident,
)

if TYPE_CHECKING:
    from smkc.serve.config import Config


def keep(
    connection: sqlite3.Connection, changes: Sequence[tuple[str, AlertRecord]], config: "Config"
) -> list[Message]:
    """Assign alerts to incidents, after the alerts were written; return the messages to send.

    Each change is its kind ("open", "update", "go on" or "close") and the alert afterwards, in the
    order in which they happened. Messages are about alerts instead, and none are returned here, if
    the configuration says so.
    """
    dependencies = Dependencies(config.dependencies)
    messages: list[Message] = []
    for kind, alert in changes:
        before = incident_of(connection, alert.id)
        now, merged = _kept(connection, before, alert, names_of(alert, dependencies))
        if not config.notifies_incidents:
            continue
        was = next((one for one in (before, *merged) if one and one.id == now.id), None)
        gone = [one for one in (before, *merged) if one and one.id != now.id]
        event = _event(kind, was, now, is_merged=bool(gone))
        if event or gone:
            alerts = [alert if one.id == alert.id else one for one in alerts_of(connection, now.id)]
            telling = Telling(alerts, (kind, alert), config)
            messages += telling.messages(event, was, now, gone)
    return messages


def _kept(
    connection: sqlite3.Connection,
    before: Incident | None,
    alert: AlertRecord,
    names: frozenset[str],
) -> tuple[Incident, list[Incident]]:
    """Store the incident of an alert; return it, and the other incidents that are one with it.

    An incident that exists already keeps its id when a new alert joins it, since receivers know it
    by its id. Of several that turn out to be one, the one that began first keeps its id.
    """
    mine = Incident(
        id=alert.id,
        start=alert.start,
        end=alert.end,
        names=names,
        severity=alert.severity,
    )
    if before is not None:
        mine = before.joined(mine)
    whole, others = united(mine, lambda since, until: incidents_near(connection, since, until))
    known = [*others, *([] if before is None else [before])]
    id = min(known, key=lambda one: (one.start, one.id)).id if known else mine.id
    ids = [one.id for one in known]
    whole = replace(whole, id=id, is_open=alert.is_open or is_other_open(connection, ids, alert.id))
    put_incident(connection, whole, alert.id, [one for one in ids if one != id])
    return whole, others


def _event(kind: str, was: Incident | None, now: Incident, *, is_merged: bool) -> str:
    """Return the event that a change is for the receivers of an incident; empty if it is none.

    The end of one alert is none while others go on.
    """
    was_open = was is not None and was.is_open
    if now.is_open != was_open:
        return "open" if now.is_open else "close"
    return "update" if now.is_open and (kind in ("open", "update") or is_merged) else ""
