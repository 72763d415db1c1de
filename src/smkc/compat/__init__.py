"""Adapters that make smkc available inside other libraries ("hosts").

In: calls and tables of a host library, with one row per time step in order, and NaN where nothing
was observed. Out: the results that the host expects, with its sign and shapes.

Each host has a module: ``scikit``, ``pyod``, ``aeon``, ``river``, ``tsb_ad``. Importing this
package imports none of the hosts. The module of an adapter can be imported without its host;
only creating the adapter then fails, with the command that installs the host.

Variables are identified by name, not by position: the columns of a data frame or the keys of a
dict may differ between fitting and scoring. Columns of a plain array are named ``x0``, ``x1``, and
so on.
"""

import warnings
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from smkc.detector import Detector
from smkc.errors import CalibrationWarning, InputError, MissingExtraError, optional_module
from smkc.recording import Recording, canonical

__all__ = [
    "OWN_SETTINGS",
    "as_recording",
    "detector_of",
    "fitted_detector",
    "host_class",
    "reference_scores",
    "scores",
]

OWN_SETTINGS = ("window", "false_alarm_rate")
"""Settings of the detector that adapters have as parameters, where they have them at all."""

# Smallest number of rows in each half when the data fitted on are scored by halves.
MIN_ROWS_OF_HALF = 64

# Tables with fewer rows are repeated up to this number: hosts also fit on a dozen rows, and the
# default detector needs a variable to be observed 32 times.
MIN_FITTED_ROWS = 64


def host_class(module: str, name: str, package: str) -> Any:
    """Return a class of a host to derive from; without the host, one that cannot be instantiated.

    Creating an adapter then raises MissingExtraError, while its module can still be imported and
    documented.
    """
    try:
        return getattr(optional_module(module, package), name)
    except MissingExtraError as error:
        missing = error

    def refuse(cls: type, *settings: Any, **named: Any) -> Any:
        raise missing

    return type(name, (), {"__new__": refuse})


def detector_of(adapter: Any) -> Detector:
    """Return a detector with the parameters of an adapter."""
    own = {name: getattr(adapter, name) for name in OWN_SETTINGS if hasattr(adapter, name)}
    return Detector().set_params(**{**own, **(adapter.settings or {})})


def fitted_detector(adapter: Any, reference: Recording) -> Detector:
    """Return the fitted detector of an adapter; a short table is repeated, with a warning."""
    detector = detector_of(adapter)
    n = len(reference)
    if 0 < n < MIN_FITTED_ROWS:
        warnings.warn(
            f"{n} rows are too few to learn from and are repeated to {MIN_FITTED_ROWS}: scores can "
            "be ranked, but the threshold is unreliable; fit on some hundred rows or more",
            CalibrationWarning,
            stacklevel=3,
        )
        reference = _repeated(reference, -(-MIN_FITTED_ROWS // n))
    return detector.fit(reference)


def _repeated(recording: Recording, times: int) -> Recording:
    n = len(recording)
    return Recording.concat(
        [replace(recording, times=np.arange(n) + n * number) for number in range(times)]
    )


def as_recording(table: Any, names: Iterable[Any] | None = None) -> Recording:
    """Convert a table with one row per time step into a recording with times 0, 1, and so on.

    The table is (T, V) or (T,) numbers, a data frame with one column per variable, a sequence of
    dicts, or a recording, which is returned unchanged. Columns without a name are ``x0``, ``x1``,
    and so on.

    Examples
    --------
    >>> as_recording([[0.3, 0.7], [0.4, np.nan]])
    Recording(2 rows, 2 variables, 3 observations, 1-2 per row, times 0 to 1)
    >>> as_recording([{"cpu": 0.3}, {"cpu": 0.4, "mem": 0.7}]).names
    ('cpu', 'mem')
    """
    if isinstance(table, Recording):
        return table
    if isinstance(table, Sequence) and len(table) and isinstance(table[0], Mapping):
        return Recording.from_rows(np.arange(len(table)), table)
    try:
        if hasattr(table, "isna"):  # pandas, whose <NA> NumPy does not know
            values = table.to_numpy(np.float64, na_value=np.nan)
        else:
            values = np.asarray(table, np.float64)
    except (TypeError, ValueError) as error:
        raise InputError(
            f"the table holds a value that is not a number ({error}); leave such columns out"
        ) from None
    if values.ndim == 1:
        values = values[:, np.newaxis]
    if values.ndim != 2:
        raise InputError(f"a table of shape {values.shape}; give (time steps, variables)")
    n_rows, n_variables = values.shape
    if names is None:
        names = getattr(table, "columns", None)
    if names is None:
        names = [f"x{at}" for at in range(n_variables)]
    identifiers = [canonical(str(name)) for name in names]
    if len(set(identifiers)) < n_variables:
        raise InputError(f"two columns are the same variable in {identifiers}; name each one once")
    rows, codes = np.nonzero(~np.isnan(values))
    return Recording.from_observations(
        np.arange(n_rows), rows, codes.astype(np.int32), values[rows, codes], identifiers
    )


def scores(detector: Detector, table: Any) -> NDArray[np.float64]:
    """Return (T,) scores, one per time step, with missing ones filled: hosts accept no NaN."""
    return _filled(detector, detector.decision_function(as_recording(table)))


def reference_scores(detector: Detector, reference: Recording) -> NDArray[np.float64]:
    """Return (T,) scores of the reference data, each half scored after fitting on the other half.

    A row that was fitted on would look normal even if it is not. If the halves are too short, or
    fitting on one fails, the given detector scores the rows instead.
    """
    half = len(reference) // 2
    if half < MIN_ROWS_OF_HALF:
        return scores(detector, reference)
    first, second = reference.rows(0, half), reference.rows(half)
    parts = []
    for judged, learned in ((first, second), (second, first)):
        try:
            other = Detector(**detector.get_params()).fit(learned.canonical())
        except InputError:  # variables have too few observations in that half
            other = detector
        parts.append(_filled(other, other.decision_function(judged.canonical())))
    return np.concatenate(parts)


def _filled(detector: Detector, by_step: NDArray[np.float64]) -> NDArray[np.float64]:
    """Replace missing scores by the median score of normal time steps."""
    usual = detector.fitted_.of_steps.usual
    return np.where(np.isnan(by_step), usual, by_step)
