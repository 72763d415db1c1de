"""Recovery: a lane's journal and files -> its model and stream, in exactly the same state.

In: the committed rows and events, and the undamaged model and checkpoint files. Out: a follower
that is ready for the next row. Damaged or missing files are replaced from the journal: the same
rows give the same model, and the same model gives the same scores.
"""

import logging
from collections.abc import Sequence
from dataclasses import dataclass

from smkc.base import BaseDetector
from smkc.errors import SmkcError
from smkc.recording import Recording
from smkc.serve.config import WatchConfig
from smkc.serve.lane.files import LaneFiles
from smkc.serve.lane.fitting import detector_of
from smkc.serve.lane.follower import Follower
from smkc.serve.store import Event, LaneStore
from smkc.serve.view import IN_HEALTH

log = logging.getLogger("smkc.serve.lane.recovery")

# Number of rows read at a time for a replay.
ROWS_PER_REPLAY = 256


@dataclass(frozen=True, kw_only=True)
class Recovered:
    """The recovered state of a lane.

    ``fit`` is the event of the current model, None if there is no model; ``follower`` is the model,
    up to date, None before the first fit and if the model is lost. ``n_events`` counts the events
    that the follower has processed, ``saved_row`` is the row from which rows were judged again, and
    ``problems`` describe the damage that was found.
    """

    fit: Event | None = None
    follower: Follower | None = None
    n_events: int = 0
    saved_row: int = 0
    problems: tuple[str, ...] = ()


def recovered(journal: LaneStore, watch: WatchConfig, files: LaneFiles) -> Recovered:
    """Restore a lane up to the end of its journal."""
    files.tidy()
    events = journal.events(0)
    fit = next((event for event in reversed(events) if event.kind == "fit"), None)
    if fit is None:
        return Recovered()
    detector, problems = _model(journal, watch, files, fit)
    if detector is None:
        return Recovered(problems=tuple(problems))
    base = int(fit.content["reference"][-1][1]) + 1  # the row after the reference
    follower, n_events = None, 0
    for at in files.checkpoints():
        if fit.at_row <= at.row <= journal.n_rows and fit.number < at.n_events:
            follower, n_events = files.resumed(at, detector, base), at.n_events
            if follower is not None:
                break
            problems.append(
                f"a checkpoint was damaged and is set aside as {files.set_aside[-1].name}; the "
                "rows since the one before were judged again"
            )
    try:
        if follower is None:
            follower, n_events = Follower(detector, base), 0
        saved_row = follower.next_row
        n_events = brought_up(follower, journal, events, n_events, journal.n_rows)
    except (MemoryError, OSError):
        raise
    except Exception as error:  # the rows are committed: the next start would fail in the same way
        is_expected = isinstance(error, SmkcError)
        who = watch.name, journal.entity
        log.error("%s %s: %s", *who, error, extra=IN_HEALTH, exc_info=not is_expected)
        problems.append(f"the rows since the last checkpoint cannot be judged again: {error}")
        return Recovered(problems=tuple(problems))
    return Recovered(
        fit=fit,
        follower=follower,
        n_events=n_events,
        saved_row=saved_row,
        problems=tuple(problems),
    )


def brought_up(
    follower: Follower, journal: LaneStore, events: Sequence[Event], n_events: int, end: int
) -> int:
    """Replay rows and events until row ``end`` is the follower's next row.

    ``events`` are all events of the lane, of which the follower has already processed ``n_events``.
    Return the number of events that it has processed then.
    """
    for event in events:
        if event.number < n_events or event.at_row <= follower.base:
            continue
        if event.kind in ("accept", "settle", "refuse"):
            _replay(follower, journal, event.at_row)
        if event.kind in ("accept", "settle"):
            follower.accept(int(event.content["first_row"]), int(event.content["last_row"]))
        elif event.kind == "refuse":
            follower.refuse(str(event.content["variable"]))
    _replay(follower, journal, end)
    return events[-1].number + 1 if events else n_events


def reference_rows(journal: LaneStore, spans: Sequence[Sequence[int]]) -> Recording:
    """Return the rows of some spans, both ends included."""
    return Recording.concat([journal.rows(int(first), int(last) + 1) for first, last in spans])


def _replay(follower: Follower, journal: LaneStore, end: int) -> None:
    while (first := follower.next_row) < end:
        follower.replay(journal.rows(first, min(first + ROWS_PER_REPLAY, end)))


def _model(
    journal: LaneStore, watch: WatchConfig, files: LaneFiles, fit: Event
) -> tuple[BaseDetector | None, list[str]]:
    """Return the model of a fit event and a list of problems.

    The model is fitted again if its file is missing or damaged; it is None if that fails.
    """
    detector = files.load_model(fit.at_row)
    if detector is not None:
        return detector, []
    name = files.model_path(fit.at_row).name
    what = "was missing"
    if files.set_aside:
        what = f"was damaged and is set aside as {files.set_aside[-1].name}"
    spans = fit.content["reference"]
    if journal.first_kept_row > int(spans[0][0]):
        return None, [f"{name} {what}; its rows are kept no more: a new model is fitted"]
    who = watch.name, journal.entity
    log.warning("%s %s: %s %s; it is fitted again", *who, name, what, extra=IN_HEALTH)
    try:
        files.save_model(fit.at_row, detector_of(watch).fit(reference_rows(journal, spans)))
    except SmkcError as error:
        return None, [f"{name} {what}, and could not be fitted again: {error}"]
    return files.load_model(fit.at_row), [f"{name} {what}; it was fitted again from its rows"]
