"""Files into recordings, one per entity, and the part of them that serves as reference.

In: paths and reader settings. Out: recordings by entity; the entity is None where there is none.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from smkc.errors import InputError, ReadError, SettingError, WindowError
from smkc.recording import Recording
from smkc.recording import read as read_recording
from smkc.recording.times import moment, show_time

__all__ = ["Job", "read_entities", "require_within", "with_reference"]


@dataclass(frozen=True, kw_only=True)
class Job:
    """One entity's recording to watch, and what to learn from; no reference with a model."""

    entity: str | None
    watched: Recording
    reference: Recording | None = None
    reference_from: str = ""


def read_entities(
    path: Path, read: Mapping[str, Any], entity: str | None
) -> dict[str | None, Recording]:
    """Read a file, a folder or a glob; one recording for each entity."""
    if entity is None:
        recordings: dict[str | None, Recording] = {None: read_recording(str(path), **read)}
    else:
        split: dict[str, Recording] = read_recording(str(path), entity=entity, **read)
        recordings = {name: recording for name, recording in split.items()}
    if not recordings or all(len(recording) == 0 for recording in recordings.values()):
        raise ReadError(f"{path} holds no observations; give a file with at least one row of data")
    return recordings


def require_within(recording: Recording, time: str, option: str) -> Any:
    """Turn a typed time into one of the recording's kind that lies within it."""
    try:
        at = moment(time, recording.times.dtype)
    except InputError as error:
        raise InputError(f"{option}: {error}") from None
    first, last = recording.times[0], recording.times[-1]
    if not first <= at <= last:
        raise InputError(
            f"{option} {time} is outside the recording, which goes from {show_time(first)} to "
            f"{show_time(last)}; choose a time within"
        )
    return at


def with_reference(
    watched: Mapping[str | None, Recording],
    reference: Mapping[str | None, Recording] | None,
    reference_path: Path | None,
    share: float,
) -> list[Job]:
    """Give each recording its reference: the other file's, or the first share of its own rows."""
    jobs = []
    for entity, recording in watched.items():
        if reference is None:
            jobs.append(_split(entity, recording, share))
            continue
        if entity not in reference:
            raise ReadError(
                f"entity {entity!r} is not in the reference {reference_path}; "
                "add its data there, or leave it out of the file"
            )
        jobs.append(
            Job(
                entity=entity,
                watched=recording,
                reference=reference[entity],
                reference_from=str(reference_path),
            )
        )
    return jobs


def _split(entity: str | None, recording: Recording, share: float) -> Job:
    if not 0 < share < 1:
        raise SettingError(f"--reference-share {share}: give a share between 0 and 1, such as 0.3")
    rows = int(len(recording) * share)
    if rows < 1 or rows >= len(recording):
        raise WindowError(
            f"{len(recording)} rows are too few to learn from the first {share:.0%} and judge the "
            "rest; give a longer recording, or --reference with another file"
        )
    last = show_time(recording.times[rows - 1])
    return Job(
        entity=entity,
        watched=recording.rows(rows).canonical(),
        reference=recording.rows(0, rows).canonical(),
        reference_from=f"the first {share:.0%} of the file ({rows:,} rows, to {last})",
    )
