"""Incidents: their table, and the alerts that belong to them.

In: incidents, written in the transaction that stores their alerts. Out: incidents near in time,
those of a page of the API, and the alerts of each.
"""

import json
import sqlite3
from collections.abc import Sequence
from typing import Any

from smkc.serve.incidents.grouping import Incident
from smkc.serve.rows import AlertRecord
from smkc.serve.store.database import decoding
from smkc.serve.store.results import find_alerts

# Maximum number of alerts that are read of one incident.
MAX_ALERTS = 500

_COLUMNS = 'id, start, "end", names, severity, is_open, merged_into'


def find_incidents(
    connection: sqlite3.Connection, which: str, values: Sequence[Any]
) -> list[Incident]:
    """Return incidents; ``which`` is what follows the name of the table in SQL."""
    found = connection.execute(f"SELECT {_COLUMNS} FROM incidents {which}", values)
    with decoding("an incident"):
        return [
            Incident(
                id=id,
                start=int(start),
                end=int(end),
                names=frozenset(json.loads(names)),
                severity=severity,
                is_open=bool(is_open),
                merged_into=merged_into,
            )
            for id, start, end, names, severity, is_open, merged_into in found
        ]


def incidents_near(connection: sqlite3.Connection, since: int, until: int) -> list[Incident]:
    """Return the incidents that overlap a span of time in milliseconds."""
    # Nearly all incidents start before ``until``, so an index of their starts would not help.
    which = "INDEXED BY incidents_by_end WHERE \"end\" >= ? AND start <= ? AND merged_into = ''"
    return find_incidents(connection, which, (since, until))


def incident_of(connection: sqlite3.Connection, alert: str) -> Incident | None:
    """Return the incident of an alert; None if it belongs to none yet."""
    which = "WHERE id = (SELECT incident FROM alerts WHERE id = ?)"
    return next(iter(find_incidents(connection, which, [alert])), None)


def is_any_open(
    connection: sqlite3.Connection, incidents: Sequence[str], apart_from: Sequence[str]
) -> bool:
    """Return whether any alert of some incidents is open, apart from some alerts."""
    which = f"incident IN ({_marks(incidents)}) AND is_open AND id NOT IN ({_marks(apart_from)})"
    query = f"SELECT EXISTS (SELECT 1 FROM alerts WHERE {which})"
    return bool(connection.execute(query, (*incidents, *apart_from)).fetchone()[0])


def put_incident(
    connection: sqlite3.Connection, incident: Incident, alert: str, merged: Sequence[str]
) -> None:
    """Insert or update an incident with one of its alerts, and merge others into it."""
    connection.execute(
        f"INSERT INTO incidents ({_COLUMNS}) VALUES (?, ?, ?, ?, ?, ?, '') ON CONFLICT (id) "
        'DO UPDATE SET start = excluded.start, "end" = excluded."end", names = excluded.names, '
        "severity = excluded.severity, is_open = excluded.is_open",
        (
            incident.id,
            incident.start,
            incident.end,
            json.dumps(sorted(incident.names)),
            incident.severity,
            int(incident.is_open),
        ),
    )
    assigned = "UPDATE alerts SET incident = ? WHERE"
    connection.execute(
        f"{assigned} id = ? AND incident IS NOT ?", (incident.id, alert, incident.id)
    )
    if merged:
        connection.execute(f"{assigned} incident IN ({_marks(merged)})", (incident.id, *merged))
        connection.execute(
            "UPDATE incidents SET merged_into = ?, is_open = 0 "
            f"WHERE id IN ({_marks(merged)}) OR merged_into IN ({_marks(merged)})",
            (incident.id, *merged, *merged),
        )


def alerts_of(connection: sqlite3.Connection, incident: str) -> list[AlertRecord]:
    """Return the alerts of an incident in the order of their start."""
    first = f"SELECT id FROM alerts WHERE incident = ? ORDER BY start, id LIMIT {MAX_ALERTS}"
    found = find_alerts(connection, f"a.id IN ({first})", [incident], MAX_ALERTS)
    return [stored.record for stored in reversed(found)]


def _marks(values: Sequence[str]) -> str:
    return ", ".join("?" * len(values))
