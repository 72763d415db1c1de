"""The rows of the cause table: the default detector, BARO, N-Sigma, and how each ranks variables.

In: a recording and its cases. Out: for each case the variables, the most guilty first.
"""

import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any

import numpy as np
from numpy.typing import NDArray

from benchmarks.alerts.methods import detector_code
from benchmarks.causes.cases import Case
from benchmarks.real.series import Series
from smkc.detector import Detector
from smkc.errors import CalibrationWarning, UnscoredWarning

__all__ = ["METHODS", "OWN_ONSET", "Method", "largest_z", "rank_all", "ranked"]

DEFAULT, OWN_ONSET = "default", "own-onset"

# RCAEval divides variables with this ending by a million before ranking: bytes become megabytes.
# This matters because a variable with an interquartile range of 0 is not scaled at all.
MEMORY_ENDING, MEMORY_UNIT = "_mem", 1e6


@dataclass(frozen=True)
class Method:
    """A row of the table.

    Parameters
    ----------
    key, name
        name in files, and name in tables.
    is_robust
        whether distances are from the median in interquartile ranges, instead of from the mean in
        standard deviations; the default detector does not use it.
    is_fixed
        whether only the reference counts as normal.
    """

    key: str
    name: str
    is_robust: bool = False
    is_fixed: bool = False

    @property
    def is_default(self) -> bool:
        """Whether it is the default detector, from the cut or from its own onset."""
        return self.key in (DEFAULT, OWN_ONSET)


METHODS: Mapping[str, Method] = MappingProxyType(
    {
        method.key: method
        for method in (
            Method(DEFAULT, "smkc, default"),
            Method(OWN_ONSET, "smkc, default, own onset"),
            Method("baro", "BARO", is_robust=True),
            Method("baro-fixed", "BARO, reference only", is_robust=True, is_fixed=True),
            Method("n-sigma", "N-Sigma"),
        )
    }
)


def rank_all(method: Method, series: Series, cases: Sequence[Case]) -> list[list[str]]:
    """Return each case's variables, most guilty first."""
    if not method.is_default:
        return [_by_distance(method, case) for case in cases]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UnscoredWarning)  # rows without a score cannot be the worst
        warnings.simplefilter("ignore", CalibrationWarning)  # many references are short
        detector = Detector().fit(series.reference)
        return ranked(detector, series, cases, finds_onset=method.key == OWN_ONSET)


def ranked(
    detector: Detector, series: Series, cases: Sequence[Case], *, finds_onset: bool = False
) -> list[list[str]]:
    """Return each case's variables as ``Detector.explain`` ranks them, in one pass over the rows.

    Parameters
    ----------
    detector
        fitted on the reference.
    finds_onset
        whether rows are explained from the first row of the detector's own alert, if one covers
        the cut or ended shortly before it, instead of from the cut.
    """
    fitted, scored = detector.fitted_, detector.score(series.test)
    windows = scored.windows_scored
    alerts = scored.alerts(explain=False) if finds_onset else []
    numbers, since, at = [], [], []
    for place, case in enumerate(cases):
        begun = [a.first_row for a in alerts if a.first_row <= case.cut <= a.last_row + fitted.join]
        first = min([case.cut, *begun])
        worst = windows.worst(first, case.event.stop - 1)
        if worst is not None:
            numbers.append(worst)
            since.append(first)
            at.append(place)
    found: list[list[str]] = [[] for _ in cases]
    for place, causes in zip(at, fitted.causes(windows, numbers, since), strict=True):
        found[place] = [cause.variable for cause in causes]
    return found


def settings_of(method: Method) -> dict[str, Any]:
    """Return everything that determines a method's rankings, as text and numbers."""
    if method.is_default:
        return {"method": method.key, "code": detector_code(), **Detector().get_params()}
    return {"method": method.key, "is_robust": method.is_robust, "is_fixed": method.is_fixed}


def largest_z(
    normal: NDArray[np.float64], anomalous: NDArray[np.float64], *, is_robust: bool
) -> NDArray[np.float64]:
    """Return (V,) the largest distance of each variable above its centre, in its own spread.

    BARO's RobustScorer uses median and interquartile range, N-Sigma mean and standard deviation.
    As published, falls do not count, a spread of 0 counts as 1, and variables that are constant
    in either part are left out (minus infinity here). Missing values are ignored.

    Parameters
    ----------
    normal, anomalous
        (n, V) and (m, V) values, NaN where not observed.

    Notes
    -----
    Pham, Ha and Zhang, "BARO: Robust Root Cause Analysis for Microservices via Multivariate
    Bayesian Online Change Point Detection", FSE 2024, section 4.3; code in RCAEval (e2e/baro.py).

    Examples
    --------
    >>> normal = np.array([[0.0, 5.0], [1.0, 5.0], [2.0, 5.0], [3.0, 5.0], [4.0, 5.0]])
    >>> largest_z(normal, np.array([[2.0, 9.0], [10.0, 1.0]]), is_robust=True)
    array([  4., -inf])
    """
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)  # variables never observed in a part
        if is_robust:
            low, centre, high = np.nanquantile(normal, (0.25, 0.5, 0.75), axis=0)
            spread = high - low
        else:
            centre, spread = np.nanmean(normal, axis=0), np.nanstd(normal, axis=0)
        largest = np.nanmax(anomalous - centre, axis=0) / np.where(spread > 0, spread, 1.0)
        moves = [np.nanmax(part, axis=0) > np.nanmin(part, axis=0) for part in (normal, anomalous)]
    return np.where(moves[0] & moves[1], largest, -np.inf)


def _by_distance(method: Method, case: Case) -> list[str]:
    """Return the variables, farthest above normal first."""
    names = case.tables.names
    unit = np.where([name.endswith(MEMORY_ENDING) for name in names], MEMORY_UNIT, 1.0)
    normal = case.tables.reference if method.is_fixed else case.normal
    far = largest_z(normal / unit, case.anomalous / unit, is_robust=method.is_robust)
    order = np.argsort(-far, kind="stable")
    return [names[at] for at in order.tolist() if np.isfinite(far[at])]
