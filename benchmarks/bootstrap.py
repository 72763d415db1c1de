"""Bootstrap over windows: confidence intervals of metrics, and paired tests of two methods.

In: test sets with the scores of one method, or of two on the same windows. Out: an interval, or a
paired test. Results depend on the seed, not on the number of threads.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from benchmarks import _loops
from benchmarks.metrics import METRICS, TABLE_FPR, checked
from smkc.errors import InputError, SettingError
from smkc.parallel import in_threads

__all__ = ["Group", "PairedTest", "estimate", "interval", "paired"]

# Smaller differences between two mean metrics come from the order of summation and count as 0.
ROUNDING = 1e-12

_CODES = {"auprc": _loops.AUPRC, "auroc": _loops.AUROC, "tpr_at_1pct_fpr": _loops.TPR_AT_FPR}


@dataclass(frozen=True, eq=False)
class Group:
    """One test set with the scores of one method.

    Parameters
    ----------
    seed, cardinality
        identify the test set. They seed its resampling, so that the windows drawn from it depend
        neither on the order of the groups nor on the other groups.
    is_anomalous
        (B,) the truth.
    scores
        (B,) higher = more anomalous.
    """

    seed: int
    cardinality: int
    is_anomalous: ArrayLike
    scores: ArrayLike


@dataclass(frozen=True)
class PairedTest:
    """Difference between two methods on the same windows.

    Parameters
    ----------
    difference
        the first method's metric minus the second's.
    low, high
        confidence interval of the difference.
    p_value
        two-sided bootstrap p-value of the difference.
    """

    difference: float
    low: float
    high: float
    p_value: float

    @classmethod
    def of(
        cls, difference: float, resampled: NDArray[np.float64], *, level: float = 0.95
    ) -> "PairedTest":
        """Return the test of a measured difference, given (n,) resampled differences.

        Notes
        -----
        The p-value is twice the smaller of the shares of resampled differences that are <= 0 and
        >= 0, each with 1 added to numerator and denominator (Davison and Hinkley, Bootstrap
        Methods and their Application, 1997, eq. 4.11), so that it is at least 2 / (n + 1).
        """
        values = np.where(np.abs(resampled) < ROUNDING, 0.0, resampled)
        low, high = np.quantile(values, [(1 - level) / 2, (1 + level) / 2])
        fewer = min(np.count_nonzero(values <= 0), np.count_nonzero(values >= 0))
        p_value = min(1.0, 2 * (int(fewer) + 1) / (len(values) + 1))
        return cls(float(difference), float(low), float(high), p_value)


def estimate(groups: Sequence[Group], metric: str) -> float:
    """Return the mean of a metric over seeds, after averaging over each seed's test sets."""
    weights = _weights(groups)
    _code(metric)
    return float(
        np.dot(weights, [METRICS[metric](group.is_anomalous, group.scores) for group in groups])
    )


def interval(
    groups: Sequence[Group], metric: str, *, n: int = 1000, level: float = 0.95, seed: int = 0
) -> tuple[float, float]:
    """Return the bootstrap confidence interval of a metric.

    Parameters
    ----------
    groups
        test sets; the statistic is the mean over seeds of the mean over each seed's test sets.
    metric
        a name in METRICS.
    n
        number of times that all test sets are resampled.
    level
        share of the resampled values inside the interval.

    Notes
    -----
    Percentile bootstrap (Efron and Tibshirani, An Introduction to the Bootstrap, 1993, ch. 13),
    stratified: anomalous and normal windows are drawn separately within each test set, so that its
    anomaly rate does not change. Methods are not trained again: the interval does not include the
    variation between training seeds, which the sd over seeds shows.

    Examples
    --------
    >>> truth = np.arange(100) < 10
    >>> interval([Group(0, 3, truth, -np.arange(100.0))], "auprc")
    (1.0, 1.0)
    """
    _check_settings(n, level)
    values = _replicates([groups], metric, n, seed)[:, 0]
    low, high = np.quantile(values, [(1 - level) / 2, (1 + level) / 2])
    return float(low), float(high)


def paired(
    groups_a: Sequence[Group],
    groups_b: Sequence[Group],
    metric: str,
    *,
    n: int = 1000,
    level: float = 0.95,
    seed: int = 0,
) -> PairedTest:
    """Test whether two methods differ, on the same resampled test sets.

    Parameters
    ----------
    groups_a, groups_b
        the same test sets in the same order, with the scores of each method.
    metric, n, level
        as in :func:`interval`.
    """
    _check_settings(n, level)
    _check_same_windows(groups_a, groups_b)
    values = _replicates([groups_a, groups_b], metric, n, seed)
    measured = estimate(groups_a, metric) - estimate(groups_b, metric)
    return PairedTest.of(measured, values[:, 0] - values[:, 1], level=level)


def _replicates(
    methods: Sequence[Sequence[Group]], metric: str, n: int, seed: int
) -> NDArray[np.float64]:
    """Return (n, K) statistics of K methods on n resamplings of the test sets that they share."""
    weights, code = _weights(methods[0]), _code(metric)

    def one(groups: tuple[Group, ...]) -> NDArray[np.float64]:
        pairs = [checked(group.is_anomalous, group.scores) for group in groups]
        ranked = [_ranked(scores) for _, scores in pairs]
        out = np.empty((n, len(groups)))
        _loops.resampled(
            code,
            TABLE_FPR,
            pairs[0][0],
            np.stack([order for order, _ in ranked]),
            np.stack([is_last for _, is_last in ranked]),
            _stream(seed, groups[0]),
            out,
        )
        return out

    total = np.zeros((n, len(methods)))
    parts = in_threads(one, zip(*methods, strict=True))
    for weight, values in zip(weights, parts, strict=True):
        total += weight * values
    return total


def _ranked(scores: NDArray[np.float64]) -> tuple[NDArray[np.int64], NDArray[np.bool_]]:
    """Return (B,) windows by descending score, and whether the next one scores lower."""
    order = np.argsort(-scores, kind="stable")
    ranked = scores[order]
    return order, np.append(ranked[1:] != ranked[:-1], True)


def _stream(seed: int, group: Group) -> np.uint64:
    """Return the seed of a test set's random stream."""
    key = np.random.SeedSequence((seed, group.seed, group.cardinality))
    return np.uint64(key.generate_state(1, np.uint64)[0])


def _weights(groups: Sequence[Group]) -> NDArray[np.float64]:
    """Return (G,) weights of the test sets: equal for all seeds, and equal within a seed."""
    if not groups:
        raise InputError("no test set was given; give one group for each seed and cardinality")
    _, which, sizes = np.unique(
        [group.seed for group in groups], return_inverse=True, return_counts=True
    )
    weights: NDArray[np.float64] = 1 / (len(sizes) * sizes[which])
    return weights


def _code(metric: str) -> int:
    if metric not in _CODES:
        raise SettingError(f"metric={metric!r} is not known; choose one of {', '.join(METRICS)}")
    return _CODES[metric]


def _check_settings(n: int, level: float) -> None:
    if n < 1:
        raise SettingError(f"n={n} resamplings tell nothing; use 1000 or more")
    if not 0 < level < 1:
        raise SettingError(f"level={level} is no share; choose one between 0 and 1, such as 0.95")


def _check_same_windows(groups_a: Sequence[Group], groups_b: Sequence[Group]) -> None:
    keys_a, keys_b = ([(one.seed, one.cardinality) for one in of] for of in (groups_a, groups_b))
    if keys_a != keys_b:
        raise InputError(
            f"the methods were scored on different test sets, {keys_a} and {keys_b} "
            "(seed, cardinality); pair the same ones in the same order"
        )
    for a, b in zip(groups_a, groups_b, strict=True):
        if not np.array_equal(a.is_anomalous, b.is_anomalous):
            raise InputError(
                f"seed {a.seed}, cardinality {a.cardinality}: the truth differs between the two "
                "methods; score both on the same windows"
            )
