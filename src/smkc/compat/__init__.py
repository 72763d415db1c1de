"""Adapters: smkc inside the libraries that people already use.

In: a host library's own calls and tables, a row a time step in order, NaN where nothing was
observed. Out: what that library expects, with its sign and its shapes.

Each host has a module: ``scikit``, ``pyod``, ``aeon``, ``river``, ``tsb_ad``. Importing this room
imports none of the hosts. An adapter's module can be imported without its host too; only making
the adapter then fails, with the command that installs what is missing.

Names, not positions, tell variables apart: a data frame's columns or a dict's keys may be others
when judging than when fitting. Columns of a plain array are called ``x0``, ``x1``, and so on.
"""

import warnings
from collections.abc import Iterable, Mapping, Sequence
from importlib import import_module
from typing import Any

import numpy as np
from numpy.typing import NDArray

from smkc.detector import Detector
from smkc.errors import CalibrationWarning, InputError, MissingExtraError
from smkc.recording import Recording, canonical

__all__ = [
    "OWN_SETTINGS",
    "as_recording",
    "detector_of",
    "fitted_detector",
    "host_class",
    "host_module",
    "reference_scores",
    "scores",
]

OWN_SETTINGS = ("window", "false_alarm_rate")
"""Settings of the detector that adapters have as parameters, where they have them at all."""

# Hosts fit on the data that they judge, and half of these should still say what is normal.
MIN_ROWS_OF_HALF = 64

# Hosts also fit on a dozen rows. The default wants a variable observed 32 times.
MIN_FITTED_ROWS = 64


def host_module(module: str, package: str, pip_options: str = "") -> Any:
    """Import a module of a host, or say how to install it.

    Examples
    --------
    >>> host_module("no_such_host.base", "no-such-host")
    Traceback (most recent call last):
    smkc.errors.MissingExtraError: this needs no-such-host, which cannot be imported (No module
    named 'no_such_host'); install it with: pip install no-such-host
    """
    try:
        return import_module(module)
    except ImportError as error:
        raise MissingExtraError(
            f"this needs {package}, which cannot be imported ({error}); "
            f"install it with: pip install {pip_options}{package}"
        ) from error


def host_class(module: str, name: str, package: str) -> Any:
    """Return a host's class to derive from; without the host, one that cannot be made.

    The error of :func:`host_module` then comes when an adapter is made, so that adapters can be
    looked at and documented where their host is missing.
    """
    try:
        return getattr(host_module(module, package), name)
    except MissingExtraError as error:
        missing = error

    def refuse(cls: type, *settings: Any, **named: Any) -> Any:
        raise missing

    return type(name, (), {"__new__": refuse})


def detector_of(adapter: Any) -> Detector:
    """Make the detector that an adapter's parameters describe."""
    own = {name: getattr(adapter, name) for name in OWN_SETTINGS if hasattr(adapter, name)}
    return Detector().set_params(**{**own, **(adapter.settings or {})})


def fitted_detector(adapter: Any, reference: Recording) -> Detector:
    """Make an adapter's detector and let it learn; a table of a few rows is repeated, and said."""
    detector = detector_of(adapter)
    n = len(reference)
    if 0 < n < MIN_FITTED_ROWS:
        warnings.warn(
            f"{n} rows say too little of what is normal and are repeated to {MIN_FITTED_ROWS}: "
            "scores rank, but their threshold means little; fit on some hundred rows or more",
            CalibrationWarning,
            stacklevel=3,
        )
        reference = _repeated(reference, -(-MIN_FITTED_ROWS // n))
    return detector.fit(reference)


def _repeated(recording: Recording, times: int) -> Recording:
    n = len(recording)
    shifts = np.repeat(n * np.arange(times), len(recording.codes))
    return Recording.from_observations(
        np.arange(n * times),
        np.tile(recording.row_numbers, times) + shifts,
        np.tile(recording.codes, times),
        np.tile(recording.values, times),
        list(recording.names),
    )


def as_recording(table: Any, names: Iterable[Any] | None = None) -> Recording:
    """Turn a table of a row a time step into a recording whose times count the rows from 0.

    Parameters
    ----------
    table
        (T, V) or (T,) numbers, a data frame with a column a variable, a sequence of dicts, or a
        recording, which stays as it is.
    names
        of the columns; by default the data frame's own.

    Examples
    --------
    >>> as_recording([[0.3, 0.7], [0.4, np.nan]])
    Recording(2 rows, 2 variables, 3 observations, 1-2 a row, times 0 to 1)
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
            f"the table holds what is not a number ({error}); leave such columns out"
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
    """(T,) a score a time step; hosts take no NaN, so one without a score has the usual one."""
    return _filled(detector, detector.decision_function(as_recording(table)))


def reference_scores(detector: Detector, reference: Recording) -> NDArray[np.float64]:
    """(T,) scores of the reference data themselves, each half by what the other half taught.

    A row that was learned from looks normal, whatever it is. Where a half is too short to learn
    from, all rows are judged by the detector itself.
    """
    half = len(reference) // 2
    if half < MIN_ROWS_OF_HALF:
        return scores(detector, reference)
    first, second = reference.rows(0, half), reference.rows(half)
    parts = []
    for judged, learned in ((first, second), (second, first)):
        try:
            other = Detector(**detector.get_params()).fit(learned.canonical())
        except InputError:  # its variables were hardly observed in that half
            other = detector
        parts.append(_filled(other, other.decision_function(judged.canonical())))
    return np.concatenate(parts)


def _filled(detector: Detector, by_step: NDArray[np.float64]) -> NDArray[np.float64]:
    """Give steps in which too little was observed the median score of normal steps."""
    usual = detector.fitted_.of_steps.usual
    return np.where(np.isnan(by_step), usual, by_step)
