"""Null distributions: statistics of normal windows -> p-values of each evidence and of all joined.

In: statistics (n, E) and cardinalities (n,) of reference windows. Out: for any windows, log
p-values, one joined score, and the score's own p-value.
"""

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from benchmarks.single_window.by_cardinality import HIGH, ByCardinality
from benchmarks.single_window.questions import EVIDENCES
from benchmarks.single_window.tail import TAIL_SHARE, Tail

__all__ = ["ABSTENTION", "Null", "Nulls", "joined"]

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]

# Minus log p-value assigned to an abstaining evidence: the mean of normal windows. The joined score
# sums squares, whose mean is 2, so an abstention lowers it a little and never causes an alarm.
ABSTENTION = 1.0

# Cross-validation folds: reference windows are scored by nulls learned from the other parts.
PARTS = 5

# The joined score of many variables has a lighter tail than that of one. Scores are therefore
# matched across cardinalities where the tail begins, since alarms come from the tail.
JOINED_HIGH = 1 - TAIL_SHARE

N_CHEAP = sum(not evidence.is_dear for evidence in EVIDENCES)
WEIGHTS = np.array([evidence.weight for evidence in EVIDENCES])


def joined(log_p: Floats) -> Floats:
    """(B,) root of the sum of squared weighted log p-values; NaN where all evidences abstain.

    ``log_p`` (B, n) holds those of the first n evidences.

    Examples
    --------
    >>> joined(np.log([[0.5, 0.5, 0.5], [0.5, 0.5, np.nan], [0.5, 0.5, 0.01]])).round(2)
    array([0.85, 1.11, 4.63])
    """
    size = np.where(np.isnan(log_p), ABSTENTION, log_p) * WEIGHTS[: log_p.shape[1]]
    score: Floats = np.sqrt((size * size).sum(axis=1))
    return np.where(np.isnan(log_p).all(axis=1), np.nan, score)


@dataclass(frozen=True)
class Null:
    """Null distribution of one statistic in normal windows, at each cardinality."""

    usual: ByCardinality
    tail: Tail

    @classmethod
    def of(
        cls, numbers: Floats, cardinality: Integers, grows: bool = False, high: float = HIGH
    ) -> "Null":
        """Learn from (n,) numbers of normal windows; NaN is ignored."""
        usual = ByCardinality.of(numbers, cardinality, grows, high)
        return cls(usual, Tail.of(usual.standardised(numbers, cardinality)))

    def log_p(self, numbers: Floats, cardinality: Integers) -> Floats:
        """(B,) log p-values of (B,) numbers; NaN where the number is NaN."""
        return self.tail.log_p(self.usual.standardised(numbers, cardinality))


@dataclass(frozen=True)
class Nulls:
    """Null distributions of every evidence and of the joined score.

    Parameters
    ----------
    statistics
        (n, E) of reference windows; NaN where an evidence abstained.
    cardinality
        (n,) of the same windows.
    doubt
        range of joined p-values of the cheap evidences in which the expensive ones are computed;
        None: always.
    """

    statistics: Floats
    cardinality: Integers
    doubt: tuple[float, float] | None

    def log_p(self, statistics: Floats, cardinality: Integers) -> Floats:
        """(B, E) log p-values of statistics (B, E); NaN where an evidence abstains."""
        log_p = np.empty(statistics.shape)
        for i, null in enumerate(self._each):
            log_p[:, i] = null.log_p(statistics[:, i], cardinality)
        return log_p

    def is_doubtful(self, log_p: Floats, cardinality: Integers) -> NDArray[np.bool_]:
        """(B,) whether to compute the expensive evidences, given log p-values of the cheap ones."""
        if self.doubt is None:
            return np.ones(len(log_p), np.bool_)
        low, high = self.doubt
        p_value = np.exp(self._cheap.log_p(joined(log_p), cardinality))
        is_doubtful: NDArray[np.bool_] = (p_value >= low) & (p_value <= high)
        return is_doubtful

    def score_log_p(self, scores: Floats, cardinality: Integers) -> Floats:
        """(B,) log p-values of joined scores."""
        return self._joined.log_p(scores, cardinality)

    @cached_property
    def _each(self) -> list[Null]:
        return [
            Null.of(self.statistics[:, i], self.cardinality, evidence.grows)
            for i, evidence in enumerate(EVIDENCES)
        ]

    @cached_property
    def _cheap(self) -> Null:
        scores = joined(self._left_out[:, :N_CHEAP])
        return Null.of(scores, self.cardinality, high=JOINED_HIGH)

    @cached_property
    def _joined(self) -> Null:
        log_p = self._left_out.copy()
        is_doubtful = self.is_doubtful(log_p[:, :N_CHEAP], self.cardinality)
        log_p[~is_doubtful, N_CHEAP:] = np.nan
        return Null.of(joined(log_p), self.cardinality, high=JOINED_HIGH)

    @cached_property
    def _left_out(self) -> Floats:
        """(n, E) cross-validated log p-values of the reference windows.

        A part is a run of consecutive windows of each cardinality: neighbours may share rows and
        are therefore left out together.
        """
        part = np.empty(len(self.cardinality), np.int64)
        for value in np.unique(self.cardinality):
            same = np.flatnonzero(self.cardinality == value)
            part[same] = np.arange(len(same)) * PARTS // len(same)
        log_p = np.empty(self.statistics.shape)
        for k in range(PARTS):
            others, here = part != k, part == k
            nulls = Nulls(self.statistics[others], self.cardinality[others], None)
            log_p[here] = nulls.log_p(self.statistics[here], self.cardinality[here])
        return log_p
