"""Spans: the table of times that users marked, such as maintenance.

In: spans, and the time at which one ends. Out: the spans that overlap a time range, newest first.
"""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from smkc.serve.rows import SPAN_KINDS, MarkedSpan
from smkc.serve.store.database import Database, decoding
from smkc.serve.store.packing import from_bytes, to_bytes

MAX_SPANS = 10_000  # read at a time

_COLUMNS = 'id, watch, entity, kind, start, "end", who, note'


class StoredSpans:
    """The marked spans of all watches; any thread may use them."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def add(self, span: MarkedSpan) -> MarkedSpan:
        """Store a span; return it with its id."""
        with self._database.write("mark a span") as connection:
            number = connection.execute(
                'INSERT INTO spans (watch, entity, kind, start, "end", who, note) '
                "VALUES (?, ?, ?, ?, ?, ?, ?)",
                (
                    span.watch,
                    None if span.entity is None else to_bytes(span.entity),
                    span.kind,
                    span.start,
                    span.end,
                    to_bytes(span.who),
                    to_bytes(span.note),
                ),
            ).lastrowid
        return replace(span, id=int(number or 0))

    def find(
        self,
        watch: str,
        since: int,
        until: int,
        *,
        entity: str | None = None,
        kinds: Sequence[str] = SPAN_KINDS,
        limit: int = MAX_SPANS,
    ) -> list[MarkedSpan]:
        """Return the spans of a watch that overlap a range in milliseconds, newest first.

        With an entity, those of other entities are left out.
        """
        whose = "" if entity is None else "AND (entity IS NULL OR entity = ?) "
        found = (
            f"SELECT {_COLUMNS} FROM spans WHERE watch = ? AND start <= ? "
            'AND ("end" IS NULL OR "end" >= ?) '
            f"AND kind IN ({', '.join('?' for _ in kinds)}) {whose}"
            "ORDER BY start DESC, id DESC LIMIT ?"
        )
        asked = [watch, until, since, *kinds, *([] if entity is None else [to_bytes(entity)])]
        with self._database.read("read spans") as connection, decoding("a span"):
            return [_span(one) for one in connection.execute(found, (*asked, limit))]

    def get(self, watch: str, id: int) -> MarkedSpan | None:
        """Return the span of a watch with an id; None if there is none."""
        with self._database.read("read a span") as connection, decoding("a span"):
            found = connection.execute(
                f"SELECT {_COLUMNS} FROM spans WHERE id = ? AND watch = ?", (id, watch)
            ).fetchone()
            return None if found is None else _span(found)

    def end(self, id: int, at: int) -> None:
        """Let a span end at a time, in milliseconds, unless it ended before."""
        with self._database.write("end a span") as connection:
            connection.execute(
                'UPDATE spans SET "end" = :at WHERE id = :id AND coalesce("end", :at) >= :at',
                {"id": id, "at": at},
            )

    def change(self, id: int, end: int | None, note: str) -> None:
        """Give a span another end, which may be later, and another note."""
        with self._database.write("change a span") as connection:
            connection.execute(
                'UPDATE spans SET "end" = ?, note = ? WHERE id = ?', (end, to_bytes(note), id)
            )

    def delete(self, id: int) -> None:
        """Remove a span."""
        with self._database.write("remove a span") as connection:
            connection.execute("DELETE FROM spans WHERE id = ?", (id,))

    def counts(self, watch: str) -> dict[str, int]:
        """Return the number of stored spans of a watch by kind."""
        with self._database.read("count spans") as connection:
            found = dict(
                connection.execute(
                    "SELECT kind, count(*) FROM spans WHERE watch = ? GROUP BY kind", (watch,)
                ).fetchall()
            )
        return {kind: int(found.get(kind, 0)) for kind in SPAN_KINDS}


def _span(found: tuple[Any, ...]) -> MarkedSpan:
    id, watch, entity, kind, start, end, who, note = found
    return MarkedSpan(
        watch=watch,
        kind=kind,
        start=int(start),
        end=None if end is None else int(end),
        entity=None if entity is None else from_bytes(entity),
        who=from_bytes(who),
        note=from_bytes(note),
        id=int(id),
    )
