"""Output of commands: tables for people, JSON for programs.

In: alerts, causes, times. Out: text on standard output.
"""

import json
import math
from collections.abc import Sequence
from typing import Any

import numpy as np
from rich.console import Console
from rich.table import Table
from rich.text import Text

from smkc.decide import Alert, Cause
from smkc.plot.wording import duration, percent
from smkc.recording.times import show_time
from smkc.recording.visible import visible

MAX_PRINTED_ALERTS = 20
PIPE_WIDTH = 140  # columns, where standard output is not a terminal


def console() -> Console:
    """Return a console for standard output, wide enough for tables if it is not a terminal."""
    plain = Console(highlight=False)
    return plain if plain.is_terminal else Console(highlight=False, width=PIPE_WIDTH)


def print_json(content: Any) -> None:
    """Write one JSON document to standard output."""
    print(json.dumps(content, indent=2, ensure_ascii=True, allow_nan=False))


def time_value(time: Any) -> str | int | float:
    """Convert a time of a recording for JSON: a date to ISO 8601, other times to numbers."""
    if isinstance(time, np.datetime64):
        return show_time(time)
    return time.item() if isinstance(time, np.generic) else time  # type: ignore[no-any-return]


def cause_record(cause: Cause) -> dict[str, Any]:
    """Return a cause as a dictionary for JSON."""
    return {
        "variable": cause.variable,
        "share": round(cause.share, 6),
        "kind": cause.kind,
        "joint_with": list(cause.joint_with),
        "detail": cause.detail,
        "reason": cause.reason,
    }


def alert_record(alert: Alert) -> dict[str, Any]:
    """Return an alert as a dictionary for JSON."""
    return {
        "start": time_value(alert.start),
        "end": time_value(alert.end),
        "peak": time_value(alert.peak),
        "score": alert.score,
        "p_value": None if math.isnan(alert.p_value) else alert.p_value,
        "causes": [cause_record(cause) for cause in alert.causes],
    }


def plain_table(*headings: str) -> Table:
    """Return a table without lines, with columns that are not wrapped."""
    table = Table(box=None, padding=(0, 2, 0, 0), header_style="bold")
    for heading in headings:
        table.add_column(heading, no_wrap=True)
    return table


def alert_table(alerts: Sequence[Alert], entities: Sequence[str | None] | None = None) -> Table:
    """Return a table with one line per alert; at most MAX_PRINTED_ALERTS.

    Each line has the alert's first cause or, if given, its entity.
    """
    is_dated = bool(alerts) and isinstance(alerts[0].start, np.datetime64)
    table = plain_table("#", "start (UTC)" if is_dated else "start", "lasted", "p-value")
    table.add_column("most guilty" if entities is None else "entity", overflow="fold")
    for at, alert in enumerate(alerts[:MAX_PRINTED_ALERTS]):
        if entities is not None:
            last = Text(visible(entities[at] or ""))
        elif alert.causes:
            first = alert.causes[0]
            last = Text.assemble(visible(first.variable), f"  {percent(first.share)}, {first.kind}")
        else:
            last = Text("no single variable")
        table.add_row(
            str(at + 1),
            show_time(alert.start),
            duration(alert.start, alert.end),
            f"{alert.p_value:.2g}",
            last,
        )
    return table


def cause_table(causes: Sequence[Cause]) -> Table:
    """Return a table of causes, in the given order."""
    table = plain_table("share", "kind")
    table.add_column("variable", overflow="fold", ratio=3)
    table.add_column("what happened", overflow="fold", ratio=2)
    for cause in causes:
        table.add_row(
            percent(cause.share),
            cause.kind if cause.reason in ("", cause.kind) else f"{cause.kind} ({cause.reason})",
            Text(visible(cause.who)),
            Text(visible(cause.detail)),
        )
    return table
