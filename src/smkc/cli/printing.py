"""What commands print: tables for people, JSON for programs.

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

__all__ = [
    "alert_record",
    "alert_table",
    "cause_record",
    "cause_table",
    "console",
    "print_json",
    "time_value",
]

MAX_PRINTED_ALERTS = 20
PIPE_WIDTH = 140  # what no terminal shows may be wider than one


def console() -> Console:
    """Return where people read; wide enough for a table when it is no terminal."""
    plain = Console(highlight=False)
    return plain if plain.is_terminal else Console(highlight=False, width=PIPE_WIDTH)


def print_json(content: Any) -> None:
    """Write one JSON document to standard output."""
    print(json.dumps(content, indent=2, ensure_ascii=True, allow_nan=False))


def time_value(time: Any) -> str | int | float:
    """Turn a recording's time into what JSON can hold: ISO 8601, or the number."""
    if isinstance(time, np.datetime64):
        return show_time(time)
    return time.item() if isinstance(time, np.generic) else time  # type: ignore[no-any-return]


def cause_record(cause: Cause) -> dict[str, Any]:
    """Turn a cause into JSON's terms."""
    return {
        "variable": cause.variable,
        "share": round(cause.share, 6),
        "kind": cause.kind,
        "joint_with": list(cause.joint_with),
        "detail": cause.detail,
    }


def alert_record(alert: Alert) -> dict[str, Any]:
    """Turn an alert into JSON's terms."""
    return {
        "start": time_value(alert.start),
        "end": time_value(alert.end),
        "peak": time_value(alert.peak),
        "score": alert.score,
        "p_value": None if math.isnan(alert.p_value) else alert.p_value,
        "causes": [cause_record(cause) for cause in alert.causes],
    }


def alert_table(alerts: Sequence[Alert]) -> Table:
    """Lay alerts out for people, a line each, with the most guilty variable."""
    table = Table(box=None, padding=(0, 2, 0, 0), header_style="bold")
    for heading in ("#", "start (UTC)" if _are_dates(alerts) else "start", "lasted", "p-value"):
        table.add_column(heading, no_wrap=True)
    table.add_column("most guilty", overflow="fold")
    for number, alert in enumerate(alerts[:MAX_PRINTED_ALERTS], start=1):
        guilty = Text("no single variable")
        if alert.causes:
            first = alert.causes[0]
            guilty = Text.assemble(
                visible(first.variable), f"  {percent(first.share)}, {first.kind}"
            )
        table.add_row(
            str(number),
            show_time(alert.start),
            duration(alert.start, alert.end),
            f"{alert.p_value:.2g}",
            guilty,
        )
    return table


def cause_table(causes: Sequence[Cause], limit: int) -> Table:
    """Lay causes out for people, most guilty first."""
    table = Table(box=None, padding=(0, 2, 0, 0), header_style="bold")
    for heading in ("share", "kind"):
        table.add_column(heading, no_wrap=True)
    table.add_column("variable", overflow="fold", ratio=3)
    table.add_column("what happened", overflow="fold", ratio=2)
    for cause in causes[:limit]:
        table.add_row(
            percent(cause.share),
            cause.kind,
            Text(visible(cause.who)),
            Text(visible(cause.detail)),
        )
    return table


def _are_dates(alerts: Sequence[Alert]) -> bool:
    return bool(alerts) and isinstance(alerts[0].start, np.datetime64)
