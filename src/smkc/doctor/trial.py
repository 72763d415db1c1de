"""Trials: counts of what a fitted detector does on copies of the held-out rows.

In: a fitted detector, held-out rows. Out: the number of planted anomalies caught, the delay of the
alarms, whether a planted variable was named as the cause, and the number of false alarms.
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

# False-alarm rates that are tried in addition to the detector's own.
RATES = (0.0003, 0.001, 0.003, 0.01, 0.03)


@dataclass(frozen=True, kw_only=True)
class Fate:
    """Result for one planted anomaly."""

    caught_at: tuple[bool, ...]  # at each false-alarm rate that was tried
    delay: int | None  # rows to the alarm, at the detector's own rate; None if it was missed
    change: float  # mean surprise of its rows minus that of the same rows unchanged, in nats
    is_named: bool | None = None  # whether the first cause is right; None without an alert


@dataclass(frozen=True, kw_only=True)
class Outcome:
    """Counts for the planted anomalies of one kind and size.

    Parameters
    ----------
    kind, size, words
        the kind; 0 small, 1 medium, 2 large; the size as text.
    planted, caught
        number of anomalies, and number of those that raised an alarm where the unchanged rows did
        not.
    caught_at
        number caught at each false-alarm rate that was tried.
    raised, lowered
        number of anomalies whose mean surprise was higher, or lower, than that of the same rows
        unchanged.
    delay
        median number of rows from the first planted row to the alarm; None if none was caught.
    explained, named
        number of anomalies with an explained alert, and number of those in which a planted
        variable was the first cause; only large anomalies are explained.
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
        """Count the results for one kind and size."""
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
        """Share of the anomalies that was caught; NaN if none was planted."""
        return self.caught / self.planted if self.planted else float("nan")


@dataclass(frozen=True, kw_only=True)
class FalseAlarms:
    """Count of alarms in rows without planted anomalies.

    Parameters
    ----------
    kind
        ``untouched``, ``reference``, or the kind of churn.
    rows, alarmed, episodes
        number of rows with a score, of those above the threshold, and of runs of consecutive rows
        above it.
    """

    kind: str
    rows: int
    alarmed: int
    episodes: int

    @property
    def rate(self) -> float:
        """Share of the rows with a score that alarm; NaN if no row has a score."""
        return self.alarmed / self.rows if self.rows else float("nan")

    @classmethod
    def count(cls, kind: str, scores: NDArray[np.float64], threshold: float) -> "FalseAlarms":
        """Count the alarms in (T,) surprises."""
        alarms = over(scores, threshold)
        return cls(
            kind=kind,
            rows=int(np.isfinite(scores).sum()),
            alarmed=int(alarms.sum()),
            episodes=int(np.count_nonzero(np.diff(alarms.astype(np.int8), prepend=0) > 0)),
        )


class Judge:
    """A fitted detector with its thresholds at every rate that is tried.

    A threshold is the surprise in nats above which a row alarms. ``doubts`` holds the texts of the
    detector's calibration warnings at its own rate.
    """

    def __init__(self, detector: Any) -> None:
        self.rate = float(detector.false_alarm_rate)
        self.rates = tuple(sorted({*RATES, self.rate}))
        self.thresholds = tuple(-float(np.log(rate)) for rate in self.rates)
        self.threshold = -float(np.log(self.rate))
        self._detector = detector
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            _ = detector.threshold_  # warns if the reference data are too few for the rate
        self.doubts = [str(w.message) for w in caught if issubclass(w.category, CalibrationWarning)]

    def scores(self, recording: Recording) -> NDArray[np.float64]:
        """Return the (T,) surprises in nats: minus the logarithm of each row's p-value."""
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return -np.log(np.asarray(self._detector.p_values(recording), np.float64))

    def alerts(self, recording: Recording, explain: bool = True) -> list[Alert]:
        """Return the alerts, with their causes unless ``explain`` is False."""
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return list(self._detector.alerts(recording, explain=explain))


def over(scores: NDArray[np.float64], threshold: float) -> NDArray[np.bool_]:
    """Return a (T,) mask of the scores above the threshold; False where there is no score."""
    with np.errstate(invalid="ignore"):
        found: NDArray[np.bool_] = scores > threshold
    return found


def choose_places(
    alarms: NDArray[np.bool_], n_places: int, length: int, rng: np.random.Generator
) -> list[int]:
    """Return first rows for anomalies, one in each of ``n_places`` equal parts of the rows.

    Within its part, each place is drawn from those with the fewest alarms around them.

    Parameters
    ----------
    alarms
        (T,) whether each unchanged row alarms.
    n_places, length
        number of anomalies, and rows that each may last.
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
    """Return the result for one planted anomaly.

    It is caught if, during the anomaly or within ``length`` rows after it, a row exceeds the
    threshold that does not exceed it in the unchanged rows.
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
    """Return whether a planted variable is the first cause of the strongest overlapping alert.

    Return None if no alert overlaps the anomaly or the ``length`` rows after it.
    """
    meeting = [
        alert
        for alert in alerts
        if one.first_row <= alert.last_row and alert.first_row <= one.last_row + length
    ]
    if not meeting:
        return None
    causes = max(meeting, key=lambda alert: alert.score).causes
    return bool(causes) and bool({causes[0].variable, *causes[0].joint_with} & set(one.variables))
