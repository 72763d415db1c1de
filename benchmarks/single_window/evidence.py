"""WindowEvidence: evidence computed from a window itself, without names and without labels.

In: windows (B, L, P), NaN where a value is missing, with any number of variables in any order. Out:
E statistics per window with their p-values, and one joined score with its own p-value.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from benchmarks.single_window._couplings import N_MOMENTS
from benchmarks.single_window._loops import LEAST_LENGTH, Prior, Task, scan
from benchmarks.single_window.couplings import Couplings
from benchmarks.single_window.null import N_CHEAP, Nulls, joined
from benchmarks.single_window.questions import EVIDENCES
from benchmarks.single_window.speeds import SPEED_GRID, Speeds
from smkc.errors import InputError, ModelFileError, NotFittedError, SettingError, WindowError
from smkc.parallel import in_threads

__all__ = ["Answers", "WindowEvidence"]

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]

NAMES = tuple(evidence.name for evidence in EVIDENCES)

BLOCK_WINDOWS = 64

# The prior before fitting: all speeds of the grid have the same weight, no couplings are known.
UNKNOWN = Prior(1.0, SPEED_GRID, np.zeros(SPEED_GRID.shape[1]), np.empty((0, 0)), np.empty((0, 4)))

# Maximum number of reference windows from which speeds and couplings are learned, and minimum
# number for nulls.
PRIOR_WINDOWS = 800
FEWEST_WINDOWS = 20


@dataclass(frozen=True)
class Answers:
    """Results of all evidences for B windows.

    Parameters
    ----------
    statistics
        (B, E) in the order of EVIDENCES; NaN where an evidence abstains or was not computed.
    cardinality
        (B,) number of variables that take part.
    log_p
        (B, E) log p-values; NaN where the statistic is NaN.
    score
        (B,) all evidences joined, higher = more unusual; NaN where all abstain.
    p_value
        (B,) p-value of the score; NaN where the score is NaN.
    """

    statistics: Floats
    cardinality: Integers
    log_p: Floats
    score: Floats
    p_value: Floats


class WindowEvidence:
    """All evidences of a window, with p-values relative to reference windows.

    A variable takes part in a window if it was observed in at least 1/4 of its steps. Columns that
    are all NaN are ignored, so windows of different cardinality can be padded with NaN. Windows
    with too few observed steps, or in which every variable is constant, get NaN. Adding a constant
    to a variable, or multiplying all windows by one number, does not change the results.

    Parameters
    ----------
    doubt
        (low, high): compute the expensive evidences only for windows whose joined p-value from the
        cheap ones is in this range; None computes all evidences for all windows.
    without
        names of evidences that are never computed.
    most_windows
        maximum number of reference windows to learn from, taken evenly from those given.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> normal = rng.normal(size=(60, 32, 3)).cumsum(axis=1)
    >>> evidence = WindowEvidence().fit(normal)
    >>> spoiled = normal[:1].copy()
    >>> spoiled[0, 20, 1] += 30
    >>> bool(evidence.score(spoiled)[0] > evidence.score(normal).max())
    True
    """

    length_: int
    couplings_: Couplings
    speeds_: Speeds
    nulls_: Nulls

    def __init__(
        self,
        *,
        doubt: tuple[float, float] | None = None,
        without: Sequence[str] = (),
        most_windows: int = 8192,
    ) -> None:
        self.doubt = doubt
        self.without = without
        self.most_windows = most_windows

    def fit(self, windows: Floats) -> Self:
        """Learn couplings, speeds and nulls from normal windows (B, L, P)."""
        if self.doubt is not None and not 0 <= self.doubt[0] <= self.doubt[1] <= 1:
            raise SettingError(f"doubt={self.doubt}: give two p-values, ascending, or None")
        unknown = sorted(set(self.without) - set(NAMES))
        if unknown or set(self.without) == set(NAMES):
            raise SettingError(
                f"without={tuple(self.without)}: give names of some evidences, which are "
                f"{', '.join(NAMES)}"
            )
        windows = _checked(windows)
        if windows.shape[1] < LEAST_LENGTH:
            raise WindowError(
                f"windows of {windows.shape[1]} steps are too short to be asked anything; give "
                f"{LEAST_LENGTH} steps at least"
            )
        windows = _spread(windows, self.most_windows)
        units = _scanned(windows, UNKNOWN, Task.MEASURE, 2)[:, 1]
        is_usable = ~np.isnan(units)
        if is_usable.sum() < FEWEST_WINDOWS:
            raise InputError(
                f"{int(is_usable.sum())} of {len(windows)} reference windows hold something that "
                f"moves; give {FEWEST_WINDOWS} such windows at least"
            )
        windows, unit = windows[is_usable], float(np.median(units[is_usable]))
        some, prior = _spread(windows, PRIOR_WINDOWS), UNKNOWN._replace(unit=unit)
        moments = _scanned(some, prior, Task.COUPLINGS, N_MOMENTS * some.shape[2])
        self.couplings_ = Couplings.of(moments)
        prior = prior._replace(couplings=self.couplings_.table())
        likelihoods = _scanned(some, prior, Task.SPEEDS, SPEED_GRID.shape[1])
        self.length_ = windows.shape[1]
        self.speeds_ = Speeds.of(unit, likelihoods)
        statistics = self._asked(windows, Task.ALL)
        self.nulls_ = Nulls(statistics, self.cardinality(windows), self.doubt)
        return self

    def ask(self, windows: Floats) -> Answers:
        """Return statistics, p-values and joined scores of windows (B, L, P)."""
        windows = self._fitting(windows)
        cardinality = self.cardinality(windows)
        if self.doubt is None:
            statistics = self._asked(windows, Task.ALL)
        else:
            statistics = self._asked(windows, Task.CHEAP)
            log_p = self.nulls_.log_p(statistics, cardinality)
            which = self.nulls_.is_doubtful(log_p[:, :N_CHEAP], cardinality)
            statistics[which, N_CHEAP:] = self._asked(windows[which], Task.DEAR)[:, N_CHEAP:]
        log_p = self.nulls_.log_p(statistics, cardinality)
        score = joined(log_p)
        p_value = np.exp(self.nulls_.score_log_p(score, cardinality))
        return Answers(statistics, cardinality, log_p, score, p_value)

    def statistics(self, windows: Floats) -> Floats:
        """(B, E) statistics of all evidences, whatever ``doubt`` is; NaN where one abstains."""
        return self._asked(self._fitting(windows), Task.ALL)

    def p_values(self, windows: Floats) -> Floats:
        """(B, E) p-values of the evidences; NaN where one abstains or was not computed."""
        return np.exp(self.ask(windows).log_p)

    def score(self, windows: Floats) -> Floats:
        """(B,) all evidences joined, higher = more unusual; NaN where all abstain."""
        return self.ask(windows).score

    def cardinality(self, windows: Floats) -> Integers:
        """(B,) number of variables of each window that take part."""
        counts = _scanned(_checked(windows), UNKNOWN, Task.MEASURE, 2)[:, 0]
        return counts.astype(np.int64)

    def blame(self, window: Floats) -> Floats:
        """(E, P) share of each variable of one window (L, P) in each evidence.

        The shares of an evidence sum to 1; all are 0 where it abstains or no variable contributes.
        """
        windows = self._fitting(np.asarray(window)[None])
        n_places = windows.shape[2]
        flat = _scanned(
            windows, self.speeds_.prior(self.couplings_), Task.BLAME, len(NAMES) * n_places
        )
        parts = flat.reshape(len(NAMES), n_places)
        parts[np.isin(NAMES, list(self.without))] = 0.0
        parts = np.nan_to_num(parts, nan=0.0, posinf=0.0)
        total = parts.sum(axis=1, keepdims=True)
        shares: Floats = parts / np.where(total > 0, total, 1.0)
        return shares

    def to_arrays(self) -> tuple[dict[str, NDArray[Any]], dict[str, Any]]:
        """Return the fitted state as arrays and a JSON-serialisable header."""
        self._check_fitted()
        arrays = {
            "statistics": self.nulls_.statistics,
            "cardinality": self.nulls_.cardinality,
            "speeds": self.speeds_.variances,
            "weights": self.speeds_.weights,
            "loadings": self.couplings_.loadings,
            "noise": self.couplings_.noise,
            "coupling_weights": self.couplings_.weights,
        }
        header = {
            "evidences": list(NAMES),
            "without": list(self.without),
            "length": self.length_,
            "unit": self.speeds_.unit,
            "doubt": None if self.doubt is None else list(self.doubt),
        }
        return arrays, header

    def restored(
        self, arrays: Mapping[str, NDArray[Any]], header: Mapping[str, Any]
    ) -> "WindowEvidence":
        """Return a copy with these settings, fitted by what :meth:`to_arrays` returned."""
        try:
            statistics, cardinality = arrays["statistics"], arrays["cardinality"]
            speeds = Speeds(header["unit"], arrays["speeds"], arrays["weights"])
            couplings = Couplings(arrays["loadings"], arrays["noise"], arrays["coupling_weights"])
            length, asked = header["length"], header["evidences"]
            doubt, without = header["doubt"], header["without"]
        except KeyError as error:
            raise ModelFileError(
                f"the stored evidence has no {error}; fit again and save the model anew"
            ) from error
        fits = (
            asked == list(NAMES)
            and without == list(self.without)
            and statistics.dtype == np.float64
            and statistics.shape == (len(cardinality), len(NAMES))
            and cardinality.dtype == np.int64
            and cardinality.ndim == 1
            and len(cardinality) >= FEWEST_WINDOWS
            and speeds.is_sound()
            and couplings.is_sound()
            and isinstance(length, int)
            and length >= LEAST_LENGTH
            and doubt == (None if self.doubt is None else list(self.doubt))
        )
        if not fits:
            raise ModelFileError(
                f"the stored evidence, {asked} of {len(cardinality)} windows, does not fit this "
                "version or its settings; fit again and save the model anew"
            )
        copy = WindowEvidence(
            doubt=self.doubt, without=self.without, most_windows=self.most_windows
        )
        copy.length_ = length
        copy.couplings_ = couplings
        copy.speeds_ = speeds
        copy.nulls_ = Nulls(statistics, cardinality, self.doubt)
        return copy

    def _asked(self, windows: Floats, task: Task) -> Floats:
        is_left_out = np.isin(NAMES, list(self.without))
        if task == Task.ALL and is_left_out[N_CHEAP:].all():
            task = Task.CHEAP
        statistics = _scanned(windows, self.speeds_.prior(self.couplings_), task, len(NAMES))
        statistics[:, is_left_out] = np.nan
        return statistics

    def _fitting(self, windows: Floats) -> Floats:
        self._check_fitted()
        windows = _checked(windows)
        if windows.shape[1] != self.length_:
            raise WindowError(
                f"windows of {windows.shape[1]} steps were given and learned from were windows of "
                f"{self.length_}; give windows of that length"
            )
        return windows

    def _check_fitted(self) -> None:
        if not hasattr(self, "nulls_"):
            raise NotFittedError("WindowEvidence has seen no windows; call fit first")


def _checked(windows: Floats) -> Floats:
    windows = np.asarray(windows)
    if windows.ndim != 3 or windows.dtype.kind != "f":
        raise InputError(
            f"windows of shape {windows.shape} and type {windows.dtype} were given; give floats "
            "(windows, steps, variables), NaN where nothing was seen"
        )
    return windows


def _spread(windows: Floats, most: int) -> Floats:
    """Return at most ``most`` windows, evenly spread."""
    if len(windows) <= most:
        return windows
    return windows[np.arange(most) * len(windows) // most]


def _scanned(windows: Floats, prior: Prior, task: Task, n_columns: int) -> Floats:
    """Return the (B, n_columns) result of a scan, computed in blocks by several threads."""
    out = np.empty((len(windows), n_columns))

    def work(first: int) -> None:
        part = slice(first, first + BLOCK_WINDOWS)
        scan(np.ascontiguousarray(windows[part], np.float64), prior, int(task), out[part])

    for _ in in_threads(work, range(0, len(windows), BLOCK_WINDOWS)):
        pass
    return out
