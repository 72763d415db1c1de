"""Volume under the surface (VUS), in both published definitions.

In: the truth about each time step of one recording and its score, higher = more anomalous. Out:
one number from 0 to 1, higher = better. The surface consists of the precision-recall curves, or
the ROC curves, for each buffer length up to the window. An alarm in the buffer around an event
counts in part, so that an alarm slightly early or late is not entirely wrong.
"""

import numpy as np
from numpy.typing import ArrayLike, NDArray

from benchmarks.real import _loops
from benchmarks.real.events import checked_steps, event_bounds
from smkc.errors import InputError, SettingError

__all__ = ["DEFINITIONS", "THRESHOLDS", "vus_pr", "vus_roc", "window_length"]

# Number of scores that both published implementations use as thresholds.
THRESHOLDS = 250

# Number of steps by which a buffer is shorter after an event than before it.
_LAGS = {"tsb_ad": 0, "vldb22": 1}
DEFINITIONS = tuple(_LAGS)

# TSB-AD's rule for the window (find_length_rank): values read, largest lag, lags skipped, the
# largest position of a peak after those, and the length if there is no such peak.
_READ, _LAST_LAG, _SKIPPED, _LARGEST, _FALLBACK = 20_000, 400, 3, 300, 125


def vus_pr(
    is_anomalous: ArrayLike,
    scores: ArrayLike,
    *,
    definition: str,
    window: int,
    thresholds: int = THRESHOLDS,
) -> float:
    """Return the volume under the surface of precision, recall and buffer length.

    Parameters
    ----------
    is_anomalous
        (n,) the truth about each time step, bool or 0 and 1.
    scores
        (n,) higher = more anomalous; no NaN.
    definition
        ``"tsb_ad"`` or ``"vldb22"``. Their values may differ by 0.1 and more on the same scores,
        so report the name with every number.
    window
        largest buffer length, in steps; the lengths 0, 1, ..., window are averaged. There is no
        default, because the published ones differ: TSB-AD uses :func:`window_length` for a
        recording of one variable, and 100 otherwise; aeon uses 500.
    thresholds
        number of scores used as thresholds, at evenly spaced ranks from the first to the last.

    Notes
    -----
    A buffer of length w reaches w // 2 steps to either side of an event. A step in it, at distance
    d from the event, has the weight sqrt(1 - d / w); a step in two buffers has the weight 1. At
    each threshold, precision is the weight of the alarmed steps divided by their number. Recall is
    that weight divided by the number of anomalous steps plus half of the weight of the buffers,
    times the share of events with an alarm in them or their buffers.

    ``vldb22`` is Paparrizos et al., "Volume under the surface", PVLDB 15(11), 2022, 2774-2787, as
    implemented in aeon (``range_pr_vus_score``): recall counts half of all buffers, the area is a
    sum of trapezoids that starts from precision 1, the buffer after an event is one step shorter,
    and constant scores get 0. ``tsb_ad`` is Liu and Paparrizos, "The elephant in
    the room", NeurIPS 2024, as implemented in TSB-AD: recall counts half of the alarmed parts of
    the buffers and the area is a sum of rectangles. If a threshold separates all anomalous steps
    from all normal ones, ``tsb_ad`` gives 1 and ``vldb22`` less.

    Examples
    --------
    >>> truth, scores = [0, 0, 1, 1, 0, 0, 0, 0], [1, 2, 6, 5, 4, 3, 0, 0]
    >>> vus_pr(truth, scores, definition="tsb_ad", window=4)
    1.0
    >>> round(vus_pr(truth, scores, definition="vldb22", window=4), 3)
    0.963
    """
    areas = _areas(is_anomalous, scores, definition, window, thresholds)
    return float(areas[:, 0].mean())


def vus_roc(
    is_anomalous: ArrayLike,
    scores: ArrayLike,
    *,
    definition: str,
    window: int,
    thresholds: int = THRESHOLDS,
) -> float:
    """Return the volume under true-positive rate, false-positive rate and buffer length.

    Parameters
    ----------
    is_anomalous, scores, definition, window, thresholds
        as in :func:`vus_pr`.

    Examples
    --------
    >>> truth, scores = [0, 0, 1, 1, 0, 0, 0, 0], [1, 2, 6, 5, 4, 3, 0, 0]
    >>> vus_roc(truth, scores, definition="tsb_ad", window=0)
    1.0
    """
    areas = _areas(is_anomalous, scores, definition, window, thresholds)
    return float(areas[:, 1].mean())


def window_length(values: ArrayLike) -> int:
    """Return the window that TSB-AD would use for a variable: its period.

    Parameters
    ----------
    values
        (n,) values of the variable, without gaps.

    Returns
    -------
    The lag of the highest peak of the autocorrelation, from 6 to 303; 125 if there is none.

    Notes
    -----
    TSB-AD's ``find_length_rank(data, rank=1)``: it reads the first 20,000 values and lags up to
    400. For several variables that function returns 0, which means no buffers.

    Examples
    --------
    >>> window_length(np.sin(np.arange(500) * 2 * np.pi / 24))
    24
    """
    series = np.asarray(values, np.float64)
    if series.ndim != 1 or len(series) < 2:
        raise InputError(
            f"values of the shape {series.shape} show no period; give one variable's, flat, at "
            "least two of them"
        )
    if not np.isfinite(series).all():
        raise InputError(
            f"{int(np.count_nonzero(~np.isfinite(series)))} of {len(series)} values are no finite "
            "numbers; fill the gaps first, or choose a window by hand, such as 100"
        )
    correlation = _autocorrelation(series[:_READ])[_SKIPPED:]
    inner = correlation[1:-1]
    peaks = 1 + np.flatnonzero((inner > correlation[:-2]) & (inner > correlation[2:]))
    if peaks.size == 0:
        return _FALLBACK
    highest = int(peaks[np.argmax(correlation[peaks])])
    return highest + _SKIPPED if _SKIPPED <= highest <= _LARGEST else _FALLBACK


def _autocorrelation(series: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return (K,) autocorrelations at lags 0 to at most 400; zeros if the values are constant."""
    n = len(series)
    if series.min() == series.max():
        return np.zeros(min(n, _LAST_LAG + 1))
    spectrum = np.fft.rfft(series - series.mean(), 1 << (2 * n).bit_length())
    covariance = np.fft.irfft(np.abs(spectrum) ** 2)[: min(n, _LAST_LAG + 1)]
    scaled: NDArray[np.float64] = covariance / covariance[0]
    return scaled


def _areas(
    is_anomalous: ArrayLike, scores: ArrayLike, definition: str, window: int, thresholds: int
) -> NDArray[np.float64]:
    """Return (window + 1, 2) areas under the precision-recall and ROC curves, by buffer length."""
    _check_settings(definition, window, thresholds)
    window, thresholds = int(window), int(thresholds)
    truth, given = checked_steps(is_anomalous, scores)
    out = np.zeros((window + 1, 2))
    if definition == "vldb22" and given.min() == given.max():
        return out
    n, top, lag = len(truth), window // 2, _LAGS[definition]
    levels = -np.sort(-given)[np.linspace(0, n - 1, thresholds).astype(np.int64)]
    place = np.searchsorted(-levels, -given, side="left")
    bounds = event_bounds(truth)
    first, second, distance = (np.empty(n, np.int64) for _ in range(3))
    _loops.reached(truth, lag, top + 1, first, second, distance)
    _loops.areas(
        truth,
        place,
        np.ascontiguousarray(bounds[:, 0]),
        bounds[:, 1] - 1,
        first,
        second,
        distance,
        _in_order(first, top),
        _in_order(second, top),
        thresholds,
        lag,
        definition == "tsb_ad",
        out,
    )
    return out


def _in_order(half_lengths: NDArray[np.int64], top: int) -> NDArray[np.int64]:
    """Return the steps with half lengths up to ``top``, in ascending order of half length."""
    steps = np.flatnonzero(half_lengths <= top)
    return steps[np.argsort(half_lengths[steps], kind="stable")]


def _check_settings(definition: str, window: int, thresholds: int) -> None:
    if definition not in _LAGS:
        raise SettingError(
            f"definition={definition!r} is not known; choose one of {', '.join(DEFINITIONS)}"
        )
    if not window >= 0 or window % 1:
        raise SettingError(f"window={window} is no buffer length; choose 0 or more whole steps")
    if not thresholds >= 2 or thresholds % 1:
        raise SettingError(
            f"thresholds={thresholds} make no curve; use 2 or more, such as {THRESHOLDS}"
        )
