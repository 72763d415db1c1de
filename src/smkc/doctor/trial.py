"""Trial: a fitted detector judges copies of the held-out rows, and what it did is counted.

In: a fitted detector, held-out rows. Out: how many planted anomalies were caught, how soon, whether
the right variable was named, and how often nothing alarmed.
"""

import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from smkc.decide import Alert
from smkc.doctor.planting import KINDS, Plant
from smkc.errors import CalibrationWarning
from smkc.recording import Recording

__all__ = ["RATES", "FalseAlarms", "Fate", "Judge", "Outcome", "choose_places", "fate", "over"]

# False-alarm rates that are tried beside the one asked for.
RATES = (0.0003, 0.001, 0.003, 0.01, 0.03)


@dataclass(frozen=True, kw_only=True)
class Fate:
    """What became of one planted anomaly.

    Parameters
    ----------
    caught_at
        whether it was caught, at each false-alarm rate that was tried.
    delay
        rows from its first to the alarm, at the rate asked for; None if it was missed.
    change
        mean of its rows' surprises less those of the same rows untouched.
    is_named
        whether a planted variable was the first cause; None if there was no alert to explain.
    """

    caught_at: tuple[bool, ...]
    delay: int | None
    change: float
    is_named: bool | None = None


@dataclass(frozen=True, kw_only=True)
class Outcome:
    """What became of the anomalies of one kind and size.

    Parameters
    ----------
    kind, size, words
        the kind; 0 small, 1 medium, 2 large; the size in words.
    planted, caught
        how many there were, and how many raised an alarm that the untouched rows did not.
    caught_at
        the same at each false-alarm rate that was tried.
    raised, lowered
        how many had a higher, and a lower, mean score than the same rows untouched.
    delay
        rows from the first planted row to the alarm, the median over those caught, or None.
    explained, named
        how many had an alert that was explained, and in how many of these a planted variable was
        the first cause; only large ones are explained.
    """

    kind: str
    size: int
    words: str
    planted: int
    caught: int
    caught_at: tuple[int, ...]
    raised: int
    lowered: int
    delay: float | None
    explained: int = 0
    named: int = 0

    @classmethod
    def of(cls, kind: str, size: int, fates: Sequence[Fate]) -> "Outcome":
        """Count the fates of one kind and size."""
        delays = [one.delay for one in fates if one.delay is not None]
        return cls(
            kind=kind,
            size=size,
            words=KINDS[kind].size_words(size),
            planted=len(fates),
            caught=len(delays),
            caught_at=tuple(sum(at) for at in zip(*(one.caught_at for one in fates), strict=True)),
            raised=sum(one.change > 0 for one in fates),
            lowered=sum(one.change < 0 for one in fates),
            delay=float(np.median(delays)) if delays else None,
            explained=sum(one.is_named is not None for one in fates),
            named=sum(one.is_named is True for one in fates),
        )

    @property
    def share(self) -> float:
        """Share caught; NaN where nothing could be planted."""
        return self.caught / self.planted if self.planted else float("nan")


@dataclass(frozen=True, kw_only=True)
class FalseAlarms:
    """How often rows without any planted anomaly alarm.

    Parameters
    ----------
    kind
        ``untouched``, or the kind of churn.
    rows, alarmed, episodes
        rows with a score, those past the threshold, and in how many stretches.
    """

    kind: str
    rows: int
    alarmed: int
    episodes: int

    @property
    def rate(self) -> float:
        """Share of the rows that alarm; NaN without any score."""
        return self.alarmed / self.rows if self.rows else float("nan")

    @classmethod
    def count(cls, kind: str, scores: NDArray[np.float64], threshold: float) -> "FalseAlarms":
        """Count the alarms in (T,) scores."""
        alarms = over(scores, threshold)
        return cls(
            kind=kind,
            rows=int(np.isfinite(scores).sum()),
            alarmed=int(alarms.sum()),
            episodes=int(np.count_nonzero(np.diff(alarms.astype(np.int8), prepend=0) > 0)),
        )


class Judge:
    """A fitted detector with its thresholds at every rate that is tried."""

    def __init__(self, detector: Any) -> None:
        self.rate = float(detector.false_alarm_rate)
        self.rates = tuple(sorted({*RATES, self.rate}))
        self.doubts: list[str] = []
        self._detector = detector
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            self.thresholds = tuple(self._threshold(rate) for rate in self.rates)
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            self.threshold = self._threshold(self.rate)
        self.doubts = [str(w.message) for w in caught if issubclass(w.category, CalibrationWarning)]

    def scores(self, recording: Recording) -> NDArray[np.float64]:
        """(T,) the surprise of each row, minus the logarithm of its p-value: what alerts go by."""
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return -np.log(np.asarray(self._detector.p_values(recording), np.float64))

    def alerts(self, recording: Recording, explain: bool = True) -> list[Alert]:
        """Return the alerts with their causes."""
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return list(self._detector.alerts(recording, explain=explain))

    def _threshold(self, rate: float) -> float:
        """Return the surprise above which a row is marked.

        The detector is asked for its own threshold too, as it warns of rates it cannot know.
        """
        self._detector.set_params(false_alarm_rate=rate)
        try:
            _ = self._detector.threshold_
        finally:
            self._detector.set_params(false_alarm_rate=self.rate)
        return -float(np.log(rate))


def over(scores: NDArray[np.float64], threshold: float) -> NDArray[np.bool_]:
    """(T,) which scores are past the threshold; none where there is no score."""
    with np.errstate(invalid="ignore"):
        found: NDArray[np.bool_] = scores > threshold
    return found


def choose_places(
    alarms: NDArray[np.bool_], n_places: int, length: int, rng: np.random.Generator
) -> list[int]:
    """Return first rows for anomalies, evenly spread, where the untouched rows are quietest.

    Parameters
    ----------
    alarms
        (T,) where the untouched rows alarm already.
    n_places, length
        how many anomalies there shall be, and how many rows each may last.
    """
    lead = 2 * length
    edges = np.linspace(lead, len(alarms) - length, n_places + 1).astype(np.int64)
    before = np.concatenate([[0], np.cumsum(alarms)])
    places = []
    for begin, end in zip(edges[:-1].tolist(), edges[1:].tolist(), strict=True):
        starts = np.arange(begin, max(begin + 1, end - 3 * length))
        noise = before[np.minimum(starts + 2 * length, len(alarms))] - before[starts - length // 2]
        quiet = starts[noise == noise.min()]
        places.append(int(quiet[rng.integers(len(quiet))]))
    return places


def fate(
    one: Plant,
    judge: Judge,
    scores: NDArray[np.float64],
    untouched: NDArray[np.float64],
    length: int,
    alerts: Sequence[Alert] | None = None,
) -> Fate:
    """Say what became of one planted anomaly.

    It is caught if, while it lasts or within ``length`` rows after, a row is past the threshold
    that was not so untouched. ``scores`` may end after that.
    """
    stretch = slice(one.first_row, min(one.last_row + 1 + length, len(scores)))
    new = [over(scores[stretch], t) & ~over(untouched[stretch], t) for t in judge.thresholds]
    rows = slice(one.first_row, one.last_row + 1)
    change = scores[rows] - untouched[rows]
    change = change[np.isfinite(change)]
    here = new[judge.rates.index(judge.rate)]
    return Fate(
        caught_at=tuple(bool(rows_at.any()) for rows_at in new),
        delay=int(np.argmax(here)) if here.any() else None,
        change=float(change.mean()) if len(change) else 0.0,
        is_named=None if alerts is None else _is_named(one, alerts, length),
    )


def _is_named(one: Plant, alerts: Sequence[Alert], length: int) -> bool | None:
    """Whether a planted variable is the first cause of the strongest alert over it."""
    meeting = [
        alert
        for alert in alerts
        if one.first_row <= alert.last_row and alert.first_row <= one.last_row + length
    ]
    if not meeting:
        return None
    causes = max(meeting, key=lambda alert: alert.score).causes
    return bool(causes) and bool({causes[0].variable, *causes[0].joint_with} & set(one.variables))
