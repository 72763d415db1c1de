"""Reading of files into recordings, one per entity, and of their reference data.

In: paths and reader settings. Out: recordings by entity; the key is None if files are not split.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from smkc.errors import ReadError, SettingError, WindowError
from smkc.recording import Recording
from smkc.recording import read as read_recording
from smkc.recording.times import show_time


@dataclass(frozen=True, kw_only=True)
class Job:
    """One entity's recording to score, and its reference; the reference is None with a model.

    ``learned_from`` describes in words what the detector learns from.
    """

    entity: str | None
    watched: Recording
    reference: Recording | None = None
    learned_from: str


def read_entities(
    path: Path, read: Mapping[str, Any], entity: str | None
) -> dict[str | None, Recording]:
    """Read a file, a folder or a glob into one recording per entity."""
    if entity is None:
        recordings: dict[str | None, Recording] = {None: read_recording(str(path), **read)}
    else:
        split: dict[str, Recording] = read_recording(str(path), entity=entity, **read)
        recordings = {name: recording for name, recording in split.items()}
    if not recordings or all(len(recording) == 0 for recording in recordings.values()):
        raise ReadError(f"{path} holds no observations; give a file with at least one row of data")
    return recordings


def read_file(path: Path, read: Mapping[str, Any]) -> Recording:
    """Read a file, a folder or a glob into one recording."""
    return read_entities(path, read, None)[None]


def make_jobs(
    file: Path,
    read: Mapping[str, Any],
    entity: str | None,
    model: Path | None,
    reference: Path | None,
    share: float,
) -> list[Job]:
    """Read the file, and pair each recording with its reference.

    The reference is that of the other file or, without a model, the first rows of the recording.
    """
    watched = read_entities(file, read, entity)
    if model is not None:
        return [
            Job(entity=name, watched=recording, learned_from=str(model))
            for name, recording in watched.items()
        ]
    if reference is None:
        return [_split(name, recording, share) for name, recording in watched.items()]
    references = read_entities(reference, read, entity)
    for name in watched:
        if name not in references:
            raise ReadError(
                f"entity {name!r} is not in the reference {reference}; "
                "add its data there, or leave it out of the file"
            )
    return [
        Job(
            entity=name,
            watched=recording,
            reference=references[name],
            learned_from=str(reference),
        )
        for name, recording in watched.items()
    ]


def _split(entity: str | None, recording: Recording, share: float) -> Job:
    if not 0 < share < 1:
        raise SettingError(f"--reference-share {share}: give a share between 0 and 1, such as 0.3")
    rows = int(len(recording) * share)
    if rows < 1 or rows >= len(recording):
        raise WindowError(
            f"{len(recording)} rows are too few to learn from the first {share:.0%} and score the "
            "rest; give a longer recording, or --reference with another file"
        )
    last = show_time(recording.times[rows - 1])
    return Job(
        entity=entity,
        watched=recording.rows(rows).canonical(),
        reference=recording.rows(0, rows).canonical(),
        learned_from=f"the first {share:.0%} of the file ({rows:,} rows, to {last})",
    )
