"""Conditions: the churn and drift added to recordings, and the rows that methods may learn from.

In: a level of churn, whether there is drift, whether methods may learn from past test rows, and a
seed. Out: series, one at a time, and the scores of a method under that condition.
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

# Number of equal parts of the test rows in a prequential run; each part begins with a new fit.
PARTS = 5


@dataclass(frozen=True, kw_only=True)
class Condition:
    """Churn and drift added to recordings, and the rows that methods may learn from.

    Parameters
    ----------
    churn
        ``none``, ``mild`` or ``full``; datasets that churn by themselves are left as they are.
    drift
        whether half of the recordings drift without a fault.
    prequential
        whether a method may learn from test rows before those that it scores; never from labels.
    seed
        seed of churn and drift.
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
            recordings of the dataset, if they are loaded; None loads them one at a time.
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

    Without churn and drift the seed has no effect on recordings, so there is one seed only.
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
    """Return a method's (T,) scores of a series' test rows.

    ``make`` returns a new, unfitted method. In a prequential run, a new method is fitted for each
    part, on the reference and all test rows before the part; it sees no row after the part. A
    method that learns while it scores is fitted once, because its single pass is prequential.
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
    """Return both with times that continue from the reference to the test part.

    A test part that does not start after its reference is moved behind it. If the types of the
    times differ, or the reference has fewer than 2 rows, the times of both become row numbers.
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
