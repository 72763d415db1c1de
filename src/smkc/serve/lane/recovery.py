"""Recovery: a lane's journal and files -> its model and stream, exactly where they were.

In: rows and events as they were committed, and whatever model and checkpoint files are whole. Out:
a follower that has seen every row but the next. What is damaged or missing is made again from the
journal: the same rows give the same model, and the same model the same scores.
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

__all__ = ["Recovered", "brought_up", "recovered", "reference_rows"]

log = logging.getLogger("smkc.serve.lane.recovery")

# Rows are read so many at a time for a replay.
ROWS_PER_REPLAY = 256


@dataclass(frozen=True, kw_only=True)
class Recovered:
    """What was found of a lane.

    Parameters
    ----------
    fit
        the event of the model in use; None before the first.
    follower
        None before the first fit, and where the model is lost together with its reference.
    n_events
        how many of the lane's events the follower has met.
    saved_row
        number of the row that its rows were judged again from.
    problems
        sentences on what was damaged and what was done about it.
    """

    fit: Event | None = None
    follower: Follower | None = None
    n_events: int = 0
    saved_row: int = 0
    problems: tuple[str, ...] = ()


def recovered(journal: LaneStore, watch: WatchConfig, files: LaneFiles) -> Recovered:
    """Bring a lane back to where its journal ends."""
    files.tidy()
    events = journal.events(0)
    fit = next((event for event in reversed(events) if event.kind == "fit"), None)
    if fit is None:
        return Recovered()
    detector, problems = _model(journal, watch, files, fit)
    if detector is None:
        return Recovered(problems=tuple(problems))
    base = base_of(fit)
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
    except Exception as error:  # the rows are committed: the next start would meet the same
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


def base_of(fit: Event) -> int:
    """Return the number of the first row that a model judges: that after its reference."""
    return int(fit.content["reference"][-1][1]) + 1


def brought_up(
    follower: Follower, journal: LaneStore, events: Sequence[Event], n_events: int, end: int
) -> int:
    """Take a follower up to row ``end``, which comes next; return how many events it has met.

    Parameters
    ----------
    follower
        at some row before, or at it.
    journal
        that holds the rows.
    events
        all of the lane.
    n_events
        how many of them it has met already.
    end
        number of the row that shall come next.
    """
    for event in events:
        is_new = event.number >= n_events
        if is_new and event.kind == "accept" and event.at_row > follower.base:
            _replay(follower, journal, event.at_row)
            follower.accept(int(event.content["first_row"]), int(event.content["last_row"]))
    _replay(follower, journal, end)
    return events[-1].number + 1 if events else n_events


def reference_rows(journal: LaneStore, spans: Sequence[Sequence[int]]) -> Recording:
    """Return the rows of some spans, both ends of which belong to them."""
    return Recording.concat([journal.rows(int(first), int(last) + 1) for first, last in spans])


def _replay(follower: Follower, journal: LaneStore, end: int) -> None:
    while (first := follower.next_row) < end:
        follower.replay(journal.rows(first, min(first + ROWS_PER_REPLAY, end)))


def _model(
    journal: LaneStore, watch: WatchConfig, files: LaneFiles, fit: Event
) -> tuple[BaseDetector | None, list[str]]:
    """Return the model of an event, fitted again if its file is not whole; and what was wrong."""
    detector = files.load_model(fit.at_row)
    if detector is not None:
        return detector, []
    name = files.model_path(fit.at_row).name
    what = (
        f"was damaged and is set aside as {files.set_aside[-1].name}"
        if files.set_aside
        else ("was missing")
    )
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
