"""Files of a fleet: its telemetry as Parquet and CSV, and its incidents and routine changes.

In: a :class:`Fleet` and a folder. Out: ``reference`` and ``live``, each as Parquet (long: time,
variable, value) and CSV (wide: one column per variable), and ``labels.csv``.
"""

from collections.abc import Iterable
from pathlib import Path
from typing import Any

import numpy as np

from smkc.fleet.truth import Change, Fleet, Incident
from smkc.recording import Recording
from smkc.recording.times import show_time


def write_fleet(fleet: Fleet, folder: Path) -> list[Path]:
    """Write the fleet into a folder and return the paths; :func:`smkc.read` reads the telemetry.

    ``labels.csv`` has one line per incident and per routine change: start, end (both inclusive),
    is_incident (1 or 0), kind, the variables that show an incident, and a description.
    """
    from pyarrow import csv, parquet

    folder.mkdir(parents=True, exist_ok=True)
    written = []
    for name, recording in (("reference", fleet.reference), ("live", fleet.live)):
        parquet.write_table(recording.to_arrow(), folder / f"{name}.parquet")
        csv.write_csv(_wide(recording), folder / f"{name}.csv")
        written += [folder / f"{name}.parquet", folder / f"{name}.csv"]
    csv.write_csv(_labels([*fleet.incidents, *fleet.routine]), folder / "labels.csv")
    return [*written, folder / "labels.csv"]


def _wide(recording: Recording) -> Any:
    """Return an Arrow table with one row per time step and one column per variable."""
    import pyarrow as pa

    columns = [pa.array(one, from_pandas=True) for one in recording.table().T]
    times = [_text(time) for time in recording.times]
    return pa.table([pa.array(times), *columns], names=["time", *recording.names])


def _labels(changes: Iterable[Change]) -> Any:
    import pyarrow as pa

    ordered = sorted(changes, key=lambda change: change.start)
    return pa.table(
        {
            "start": [_text(change.start) for change in ordered],
            "end": [_text(change.end) for change in ordered],
            "is_incident": [int(isinstance(change, Incident)) for change in ordered],
            "kind": [change.kind for change in ordered],
            "variables": [" ".join(getattr(change, "variables", ())) for change in ordered],
            "story": [change.story for change in ordered],
        }
    )


def _text(time: Any) -> Any:
    """Return a date in ISO 8601, or a number unchanged."""
    return show_time(time) if isinstance(time, np.datetime64) else time
