"""Conditions: what is done to a dataset's recordings before methods see them.

In: a level of churn, whether there is drift, whether the past may be learned from, a seed. Out:
series, one at a time, and the scores of a method under that condition.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from benchmarks.real.churn import LEVELS, add_churn
from benchmarks.real.datasets import Dataset
from benchmarks.real.drift import add_drift, plan_drift
from benchmarks.real.load import load_series
from benchmarks.real.peers.contract import Peer, follows_by_itself
from benchmarks.real.series import Series
from smkc.errors import SettingError
from smkc.recording import Recording

__all__ = ["Condition", "conditions", "scores_of"]

# A prequential run fits anew at the start of each of so many equal parts of the test rows.
PARTS = 5


@dataclass(frozen=True, kw_only=True)
class Condition:
    """What is done to recordings, and what methods may learn from.

    Parameters
    ----------
    churn
        ``none``, ``mild`` or ``full``; datasets that churn by themselves are left as they are.
    drift
        whether half of the recordings drift without a fault.
    prequential
        whether a method may learn from test rows before those that it scores; never from labels.
    seed
        of churn and drift.
    """

    churn: str = "none"
    drift: bool = False
    prequential: bool = False
    seed: int = 0

    def __post_init__(self) -> None:
        if self.churn not in LEVELS:
            raise SettingError(f"churn={self.churn!r} is not known; there are {', '.join(LEVELS)}")

    def __str__(self) -> str:
        words = [f"churn-{self.churn}", "drift" if self.drift else "still"]
        words.append("prequential" if self.prequential else "static")
        return "-".join([*words, f"seed{self.seed}"])

    def each(self, about: Dataset, recordings: Sequence[Series] | None = None) -> Iterator[Series]:
        """Yield the dataset's recordings under this condition, one at a time.

        Parameters
        ----------
        recordings
            those of the dataset, where they are at hand; None reads all, each when it is its turn.
        """
        names = [one.name for one in (about.series if recordings is None else recordings)]
        drifting = plan_drift(about.name, names, self.seed) if self.drift else {}
        for at, name in enumerate(names):
            series = load_series(about, name) if recordings is None else recordings[at]
            if name in drifting:
                series = add_drift(series, drifting[name], self.seed)
            if about.takes_churn and self.churn != "none":
                series = add_churn(series, self.churn, self.seed)
            yield series


def conditions(
    about: Dataset, seeds: int, *, drift: bool = True, prequential: bool = True
) -> list[Condition]:
    """Return the conditions that a dataset is run under.

    Without churn and drift there is nothing that a seed decides: one run suffices.
    """
    found = []
    for churn in LEVELS if about.takes_churn else ("none",):
        for with_drift in (False, True) if drift else (False,):
            n_seeds = seeds if churn != "none" or with_drift else 1
            for mode in (False, True) if prequential else (False,):
                found += [
                    Condition(churn=churn, drift=with_drift, prequential=mode, seed=seed)
                    for seed in range(n_seeds)
                ]
    return found


def scores_of(
    make: Callable[[], Peer], series: Series, condition: Condition
) -> NDArray[np.float64]:
    """(T,) a method's scores of a series' test rows.

    ``make`` gives the method anew. Prequential scores come from one that was fitted on the
    reference and on all test rows before the part that it scores; it sees no row after that part.
    A method that learns from rows as it scores them is fitted once: its pass is prequential.
    """
    peer = make()
    if not condition.prequential or follows_by_itself(peer):
        return peer.fit(series.reference).score(series.test)
    scores = np.full(len(series.test), np.nan)
    edges = np.linspace(0, len(series.test), PARTS + 1).astype(int).tolist()
    reference, test = _in_line(series.reference, series.test)
    for first, end in pairwise(edges):
        if first == end:
            continue
        if first == 0:
            known, shown = series.reference, series.test.rows(0, end)
        else:
            known, shown = Recording.concat([reference, test.rows(0, first)]), test.rows(0, end)
        scores[first:end] = make().fit(known).score(shown)[first:end]
    return scores


def _in_line(reference: Recording, test: Recording) -> tuple[Recording, Recording]:
    """Return both with times that go on from one to the other.

    A test part that is earlier than its reference is moved behind it; where one has dates and the
    other has none, both get row numbers.
    """
    n = len(reference)
    if len(test) == 0:
        return reference, test
    if n < 2 or reference.times.dtype != test.times.dtype:
        numbers = np.arange(n + len(test))
        return replace(reference, times=numbers[:n]), replace(test, times=numbers[n:])
    if test.times[0] > reference.times[-1]:
        return reference, test
    step = reference.times[-1] - reference.times[-2]
    times = test.times - test.times[0] + (reference.times[-1] + step)
    return reference, replace(test, times=times)
