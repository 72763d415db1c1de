"""Alerts: scores per time step -> intervals of time steps past the threshold.

In: (T,) scores, times, a threshold. Out: alerts, each with its peak, its p-value and its causes.
"""

from dataclasses import dataclass, replace
from enum import IntEnum
from typing import Any

import numpy as np
from numpy.typing import NDArray

from smkc.decide.calibration import Thresholds
from smkc.recording.times import show_time

# Number of joint variables that the text of a cause names.
MOST_SHOWN = 5

# A new problem begins another alert if the threshold is crossed within this many steps.
NEWS_STEPS = 8


class Mark(IntEnum):
    """What a row means for an alert."""

    NONE = 0
    NEWS = 1  # a new problem begins while another goes on
    ECHO = 2  # only averages over earlier rows are unusual: the problem itself is over


@dataclass(frozen=True, kw_only=True)
class Cause:
    """A variable that contributed to an alert.

    Parameters
    ----------
    variable
        identifier of the variable.
    share
        its part of the blame, from 0 to 1.
    kind
        what is unusual about it, such as ``level`` (its values), ``relation`` (it moved differently
        from the others) or ``presence`` (it fell silent with others); see
        ``smkc.decide.words.KINDS``.
    joint_with
        variables that cannot be told apart from it, such as those that fell silent together; the
        share is that of all of them together.
    detail
        the change in words.
    reason
        name of the question or evidence that contributed most to its share, such as ``long level``;
        empty for the paper's detectors.
    """

    variable: str
    share: float
    kind: str
    joint_with: tuple[str, ...] = ()
    detail: str = ""
    reason: str = ""

    @property
    def who(self) -> str:
        """The variable and, in brackets, those that share its part; for display."""
        others = ", ".join(self.joint_with[:MOST_SHOWN])
        if len(self.joint_with) > MOST_SHOWN:
            others += f" and {len(self.joint_with) - MOST_SHOWN} more"
        return f"{self.variable} (jointly with {others})" if others else self.variable

    def __str__(self) -> str:
        return f"{self.who}: {self.kind}, {self.share:.0%}; {self.detail}"


@dataclass(frozen=True, kw_only=True)
class Alert:
    """An interval of time steps past the threshold; both ends belong to it.

    Parameters
    ----------
    start, end
        times of its first and last row.
    peak
        time of its most unusual row.
    score
        the row's alarm at the peak: for the default detector, minus the logarithm of the p-value.
    p_value
        that of the peak, after all corrections.
    first_row, last_row
        numbers of its first and last row in the recording.
    causes
        the variables to blame, the largest share first.
    """

    start: Any
    end: Any
    peak: Any
    score: float
    p_value: float
    first_row: int
    last_row: int
    causes: tuple[Cause, ...] = ()

    def with_causes(self, causes: list[Cause]) -> "Alert":
        """Return the same alert with its causes, largest share first."""
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
    """Find alerts: runs of time steps over the threshold, with hysteresis.

    A step of ``scores`` (T,) above ``threshold`` raises an alert, which extends in both directions
    as long as steps stay above ``release``; NaN counts as below both. Two alerts with at most
    ``join`` steps between them become one. ``calibration`` gives the p-value of each peak.

    ``marks`` (T,) are the :class:`Mark` of each step. A step marked NEWS begins another alert if
    the current one began more than ``join`` steps before, and if it or one of the next
    ``NEWS_STEPS`` steps is above the threshold. Steps marked ECHO at the end of an alert are left
    out.
    """
    above = np.nan_to_num(scores, nan=-np.inf)
    alerts = []
    is_loud = above > threshold
    spans = _joined(_runs(above > min(release, threshold)), is_loud, join)
    if marks is not None:
        spans = _divided(spans, _alerting_news(marks, is_loud), join)
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
    """Return the first and last step of every run of true values."""
    edges = np.diff(np.concatenate([[0], is_in.astype(np.int8), [0]]))
    firsts, ends = np.flatnonzero(edges == 1), np.flatnonzero(edges == -1)
    return [(int(first), int(end) - 1) for first, end in zip(firsts, ends, strict=True)]


def _joined(
    runs: list[tuple[int, int]], is_loud: NDArray[np.bool_], join: int
) -> list[tuple[int, int]]:
    """Keep runs with a step over the threshold; join those at most ``join`` steps apart."""
    joined: list[tuple[int, int]] = []
    for first, last in runs:
        if not is_loud[first : last + 1].any():
            continue
        if joined and first - joined[-1][1] - 1 <= join:
            joined[-1] = (joined[-1][0], last)
        else:
            joined.append((first, last))
    return joined


def _alerting_news(marks: NDArray[np.int8], is_loud: NDArray[np.bool_]) -> NDArray[np.int64]:
    """Return the NEWS steps that are followed by a step over the threshold soon enough."""
    news = np.flatnonzero(marks == Mark.NEWS)
    loud = np.append(np.flatnonzero(is_loud), np.iinfo(np.int64).max)
    return news[loud[np.searchsorted(loud, news)] - news <= NEWS_STEPS]


def _divided(
    spans: list[tuple[int, int]], news: NDArray[np.int64], join: int
) -> list[tuple[int, int]]:
    """Split spans at NEWS steps that come more than ``join`` steps after the span's beginning."""
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
    """End each span at its last step that is no echo, but not before the threshold is crossed."""
    shortened = []
    for first, last in spans:
        opened = first + int(np.argmax(is_loud[first : last + 1]))
        shown = opened + np.flatnonzero(~is_echo[opened : last + 1])
        shortened.append((first, int(shown[-1]) if len(shown) else opened))
    return shortened
