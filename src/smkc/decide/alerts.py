"""Alerts: scores per time step -> intervals of time steps past the threshold.

In: (T,) scores, times, a threshold. Out: alerts, each with its peak, its p-value and its causes.
"""

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from smkc.decide.marks import Mark
from smkc.decide.thresholds import Thresholds
from smkc.recording.times import show_time

__all__ = ["Alert", "Cause", "find_alerts"]

# Variables that a cause is shared with are written out up to this many.
MOST_SHOWN = 5


@dataclass(frozen=True, kw_only=True)
class Cause:
    """What contributed to an alert.

    Parameters
    ----------
    variable
        its identifier.
    share
        its part of the deviation, from 0 to 1.
    kind
        ``level`` (its own values moved), ``relation`` (it moved differently from the others) or
        ``presence`` (it appeared or vanished).
    joint_with
        variables that fell into the same bucket of the sketch, or came or went together with it:
        the share is theirs too.
    detail
        the change in words.
    """

    variable: str
    share: float
    kind: str
    joint_with: tuple[str, ...] = ()
    detail: str = ""

    @property
    def who(self) -> str:
        """The variable, and in brackets those that it shares its part with, for people."""
        others = ", ".join(self.joint_with[:MOST_SHOWN])
        if len(self.joint_with) > MOST_SHOWN:
            others += f" and {len(self.joint_with) - MOST_SHOWN} more"
        return f"{self.variable} (jointly with {others})" if others else self.variable

    def __str__(self) -> str:
        return f"{self.who}: {self.kind}, {self.share:.0%}; {self.detail}"


@dataclass(frozen=True, kw_only=True)
class Alert:
    """An interval of time steps past the threshold; both ends belong to it."""

    start: Any
    end: Any
    peak: Any
    score: float
    p_value: float
    first_row: int
    last_row: int
    causes: tuple[Cause, ...] = ()

    def with_causes(self, causes: list[Cause]) -> "Alert":
        """Return the same alert with its causes, most guilty first."""
        return replace(self, causes=tuple(causes))

    def __str__(self) -> str:
        reason = f": {self.causes[0]}" if self.causes else ""
        return f"{show_time(self.start)} to {show_time(self.end)}, p = {self.p_value:.2g}{reason}"


def find_alerts(
    scores: NDArray[np.float64],
    times: NDArray[Any],
    calibration: Thresholds,
    threshold: float,
    release: float,
    join: int,
    marks: NDArray[np.int8] | None = None,
) -> list[Alert]:
    """Join neighbouring steps over the threshold, with hysteresis.

    Parameters
    ----------
    scores
        (T,) one score per time step; NaN counts as quiet.
    times
        (T,) the recording's times.
    calibration
        turns the peak's score into its p-value.
    threshold
        a step above it raises an alert.
    release
        the alert goes on in both directions while steps stay above this lower value.
    join
        two alerts at most so many quiet steps apart are one.
    marks
        (T,) a :class:`Mark` for each step. With news past the threshold, more than ``join`` steps
        after an alert began, another alert begins. Echoes at the end of an alert are left out.
    """
    above = np.nan_to_num(scores, nan=-np.inf)
    alerts = []
    is_loud = above > threshold
    spans = _joined(_runs(above > min(release, threshold)), is_loud, join)
    if marks is not None:
        spans = _divided(spans, np.flatnonzero((marks == Mark.NEWS) & is_loud), join)
        spans = _without_echoes(spans, marks == Mark.ECHO, is_loud)
    for first, last in spans:
        top = np.flatnonzero(above[first : last + 1] == above[first : last + 1].max())
        peak = first + int(top[len(top) // 2])
        score = float(scores[peak])
        alerts.append(
            Alert(
                start=times[first],
                end=times[last],
                peak=times[peak],
                score=score,
                p_value=float(calibration.p_values(np.array([score]))[0]),
                first_row=first,
                last_row=last,
            )
        )
    return alerts


def _runs(is_in: NDArray[np.bool_]) -> list[tuple[int, int]]:
    """First and last step of every run of true values."""
    edges = np.diff(np.concatenate([[0], is_in.astype(np.int8), [0]]))
    firsts, ends = np.flatnonzero(edges == 1), np.flatnonzero(edges == -1)
    return [(int(first), int(end) - 1) for first, end in zip(firsts, ends, strict=True)]


def _joined(
    runs: list[tuple[int, int]], is_loud: NDArray[np.bool_], join: int
) -> list[tuple[int, int]]:
    """Keep runs that are loud somewhere and join those that are close."""
    joined: list[tuple[int, int]] = []
    for first, last in runs:
        if not is_loud[first : last + 1].any():
            continue
        if joined and first - joined[-1][1] - 1 <= join:
            joined[-1] = (joined[-1][0], last)
        else:
            joined.append((first, last))
    return joined


def _divided(
    spans: list[tuple[int, int]], news: NDArray[np.int64], join: int
) -> list[tuple[int, int]]:
    """Begin another alert at each step of news that is not the beginning of one already."""
    divided: list[tuple[int, int]] = []
    for first, last in spans:
        begin = first
        for step in news[(news > first) & (news <= last)].tolist():
            if step - begin > join:
                divided.append((begin, step - 1))
                begin = step
        divided.append((begin, last))
    return divided


def _without_echoes(
    spans: list[tuple[int, int]], is_echo: NDArray[np.bool_], is_loud: NDArray[np.bool_]
) -> list[tuple[int, int]]:
    """End each alert at its last step that is no echo, but not before it was loud."""
    shortened = []
    for first, last in spans:
        opened = first + int(np.argmax(is_loud[first : last + 1]))
        shown = opened + np.flatnonzero(~is_echo[opened : last + 1])
        shortened.append((first, int(shown[-1]) if len(shown) else opened))
    return shortened
