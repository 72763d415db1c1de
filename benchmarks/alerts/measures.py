"""Measures of alerts and scores: recall, false alerts, causes named and delay.

In: the truth about a recording, the alerts that a method raised and its score of each row. Out:
figures by name.
"""

from bisect import bisect_left, insort
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from math import nan

import numpy as np
from numpy.typing import ArrayLike, NDArray

from benchmarks.real.events import event_bounds, filled_scores
from smkc.errors import InputError

__all__ = [
    "JOIN_ROWS",
    "ROWS_AFTER",
    "ROWS_BEFORE",
    "FoundAlert",
    "Truth",
    "measure",
    "recall_at_budget",
]

# Tolerance around an event, in rows. An alert within it is not false; an alert within ROWS_AFTER
# rows after the event also finds it.
ROWS_BEFORE, ROWS_AFTER = 2, 10

# Marked rows at most this far apart are one alert.
JOIN_ROWS = 20

# An alert that began more than this many rows before an event was not raised by it. Detectors that
# score windows may date the start of an alert a few rows before its cause.
ROWS_EARLY = JOIN_ROWS

DAY_SECONDS = 86_400.0


@dataclass(frozen=True)
class FoundAlert:
    """One alert: its first row, its last row, and the variables it names, most guilty first."""

    first: int
    last: int
    names: tuple[str, ...] = ()


@dataclass(frozen=True, eq=False)
class Truth:
    """Labels and known causes of the live rows of one recording.

    Parameters
    ----------
    labels
        (T,) bool: whether a row is anomalous. Events are the runs of anomalous rows.
    step_seconds
        seconds from one row to the next.
    guilty
        responsible variables of each event, empty where unknown; () if no event has any.
    """

    labels: NDArray[np.bool_]
    step_seconds: float
    guilty: tuple[frozenset[str], ...] = ()

    @property
    def events(self) -> list[tuple[int, int]]:
        """First row of each event and the row after its last."""
        return [(int(start), int(stop)) for start, stop in event_bounds(self.labels)]

    @property
    def is_near(self) -> NDArray[np.bool_]:
        """(T,) whether a row belongs to an event or lies close to one; the others are normal."""
        near = self.labels.copy()
        for start, stop in self.events:
            near[max(0, start - ROWS_BEFORE) : stop + ROWS_AFTER] = True
        return near


def measure(
    truth: Truth,
    alerts: Sequence[FoundAlert],
    scores: ArrayLike,
    service: Callable[[str], str | None] = lambda name: None,
) -> dict[str, float]:
    """Measure the alerts and scores of one recording.

    Parameters
    ----------
    truth
        labels, step and responsible variables.
    alerts
        in order of time.
    scores
        (T,) one score per row; NaN counts as the least anomalous.
    service
        returns the service of a variable; None if it has none.

    Returns
    -------
    dict
        ``n_events``, ``n_found``, ``n_false``, ``n_alerts`` and ``n_normal`` (rows) are counts.
        ``recall``, ``r1k``, ``named_first`` and ``named_three`` are shares; naming is measured over
        the ``n_blamed`` events found whose responsible variables are known. ``false_per_1000`` and
        ``false_per_day`` are false alerts per 1,000 normal rows and per day of normal rows. A
        method whose alerts never end finds every event, so read recall together with two other
        figures: ``opened``, the share of events at which an alert began, from 20 rows before to 10
        after, and ``alerted``, the share of normal rows within any alert. ``delay`` is the median,
        over the events found, of the rows from an event's start to its alert's first row. Figures
        without data are NaN.

    Examples
    --------
    >>> labels = np.zeros(100, bool)
    >>> labels[40:50] = True
    >>> alerts = [FoundAlert(10, 12), FoundAlert(43, 47)]
    >>> found = measure(Truth(labels, 60.0), alerts, labels.astype(float))
    >>> found["recall"], found["n_false"], found["delay"], found["r1k"]
    (1.0, 1, 3.0, 1.0)
    """
    events, is_near = truth.events, truth.is_near
    n_opened = 0
    delays: list[int] = []
    named: list[int] = []  # rank of the first guilty name, per event found with known variables
    for at, (start, stop) in enumerate(events):
        hits = [one for one in alerts if one.first < stop + ROWS_AFTER and one.last >= start]
        if not hits:
            continue
        alert = hits[0]
        n_opened += any(one.first >= start - ROWS_EARLY for one in hits)
        delays.append(max(0, alert.first - start))
        guilty = truth.guilty[at] if truth.guilty else frozenset()
        if guilty:
            named.append(_names_needed(alert.names, guilty, service))
    n_false = sum(not is_near[alert.first : alert.last + 1].any() for alert in alerts)
    is_alerted = np.zeros(len(is_near), np.bool_)
    for alert in alerts:
        is_alerted[alert.first : alert.last + 1] = True
    n_normal = int(np.count_nonzero(~is_near))
    false_per_row = n_false / max(1, n_normal)  # without normal rows no alert can be false
    return {
        "n_events": len(events),
        "n_found": len(delays),
        "n_alerts": len(alerts),
        "n_false": n_false,
        "n_normal": n_normal,
        "recall": len(delays) / len(events) if events else nan,
        "opened": n_opened / len(events) if events else nan,
        "false_per_1000": 1000 * false_per_row,
        "false_per_day": false_per_row * DAY_SECONDS / truth.step_seconds,
        "alerted": float(np.mean(is_alerted[~is_near])) if n_normal else nan,
        "r1k": recall_at_budget(truth, scores) if events else nan,
        "n_blamed": len(named),
        "named_first": float(np.mean([n == 1 for n in named])) if named else nan,
        "named_three": float(np.mean([1 <= n <= 3 for n in named])) if named else nan,
        "delay": float(np.median(delays)) if delays else nan,
    }


def recall_at_budget(truth: Truth, scores: ArrayLike, per_1000: float = 1.0) -> float:
    """Return R1k: the recall of the scores at the lowest threshold within a budget.

    The budget is ``per_1000`` false episodes per 1,000 normal rows, rounded, and at least 1. False
    episodes are runs of marked normal rows, joined as alerts are. The threshold is lowered from the
    highest score until the budget is exceeded for the first time; lower thresholds are not
    considered, although episodes that merge may reduce their number again. An event is found if one
    of its own rows is marked.
    """
    given, _ = filled_scores(scores)
    if given.shape != truth.labels.shape:
        raise InputError(
            f"scores of the shape {given.shape} for {len(truth.labels)} rows; give one per row"
        )
    is_near = truth.is_near
    budget = max(1, round(per_1000 * int(np.count_nonzero(~is_near)) / 1000))
    order = np.argsort(-given, kind="stable")
    ranked = given[order]
    ends = np.flatnonzero(np.append(ranked[1:] != ranked[:-1], True)) + 1
    marked: list[int] = []  # marked normal rows, in order
    n_episodes, begin, n_kept = 0, 0, 0
    for end in ends.tolist():
        for row in order[begin:end].tolist():
            if not is_near[row]:
                n_episodes += _episodes_added(marked, row)
                insort(marked, row)
        if n_episodes > budget or ranked[begin] == -np.inf:
            break
        begin = n_kept = end
    is_marked = np.zeros(len(given), np.bool_)
    is_marked[order[:n_kept]] = True
    return float(np.mean([is_marked[start:stop].any() for start, stop in truth.events]))


def _episodes_added(marked: Sequence[int], row: int) -> int:
    """Return the change in the number of episodes when one more row is marked."""
    at = bisect_left(marked, row)
    joins_before = at > 0 and row - marked[at - 1] <= JOIN_ROWS
    joins_after = at < len(marked) and marked[at] - row <= JOIN_ROWS
    if joins_before and joins_after:
        return 0 if marked[at] - marked[at - 1] <= JOIN_ROWS else -1
    return 0 if joins_before or joins_after else 1


def _names_needed(
    names: Sequence[str], guilty: frozenset[str], service: Callable[[str], str | None]
) -> int:
    """Return the rank of the first guilty name, counted from 1; 0 if none is guilty.

    Other variables of a guilty variable's service count as guilty.
    """
    services = {service(name) for name in guilty} - {None}
    for place, name in enumerate(names, start=1):
        if name in guilty or service(name) in services:
            return place
    return 0
