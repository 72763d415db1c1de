"""Drift: unlabelled, lasting changes of normal values, added to half of the recordings.

In: a series, a form of drift and a seed. Out: the series with some variables of its test part
changed permanently, in units of their spread in the reference; labels, names, rows and presence do
not change.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from types import MappingProxyType

import numpy as np
from numpy.typing import NDArray

from benchmarks.real.draws import Draws
from benchmarks.real.series import Series
from smkc.errors import InputError, SettingError
from smkc.recording import Recording

__all__ = ["FORMS", "PLANNED_FORMS", "Form", "add_drift", "plan_drift"]

# A variable's unit is its interquartile range / NORMAL_RANGE, but at least LEAST_OF_DEVIATION times
# its standard deviation. A variable has no unit if it has fewer than LEAST_OBSERVATIONS in the
# reference, or if its spread is no larger than a rounding error (ROUNDING).
NORMAL_RANGE = 1.349
LEAST_OF_DEVIATION = 0.25
LEAST_OBSERVATIONS = 16
ROUNDING = 1e-9


@dataclass(frozen=True, kw_only=True)
class Form:
    """One form of drift.

    Parameters
    ----------
    share
        share of the variables that drift.
    size
        smallest and largest size, in units of the variable.
    start
        earliest and latest start, as shares of the test part.
    rise
        rows until the full size is reached, as a share of the test part; at most
        ``longest_rise`` rows.
    carrier
        what is added: a "level", fresh "noise", or the variable's own "deviation" from its centre.
    """

    share: float
    size: tuple[float, float]
    start: tuple[float, float] = (0.0, 0.0)
    rise: float = 0.0
    longest_rise: float = math.inf
    carrier: str = "level"


FORMS: Mapping[str, Form] = MappingProxyType(
    {
        "shift": Form(share=0.3, size=(1.5, 4.0), start=(0.1, 0.4), rise=0.1, longest_rise=200),
        "ramp": Form(share=0.5, size=(1.0, 4.0), rise=1.0),
        "noise": Form(share=0.5, size=(0.4, 1.6), start=(0.0, 0.5), carrier="noise"),
        "offset": Form(share=0.3, size=(1.0, 4.0)),
        "gain": Form(share=0.5, size=(0.3, 1.2), start=(0.0, 0.5), carrier="deviation"),
    }
)
"""Every form of drift; ``offset`` and ``gain`` are there to look into, not part of the plan."""

PLANNED_FORMS = ("shift", "ramp", "noise")


def plan_drift(dataset: str, series: Sequence[str], seed: int = 0) -> dict[str, str]:
    """Return the recordings of a dataset that drift, with the form of each.

    Half of the recordings drift, rounded up, so that a dataset of one recording takes part. The
    forms alternate, so that each occurs about equally often.

    Examples
    --------
    >>> plan = plan_drift("smd", ["a", "b", "c", "d", "e", "f"])
    >>> len(plan), sorted(plan.values())
    (3, ['noise', 'ramp', 'shift'])
    """
    if len(set(series)) != len(series):
        raise InputError(f"two recordings of {dataset!r} have one name; give each its own")
    draws = Draws("drift plan", dataset, seed=seed)
    names = sorted(series)
    chosen = [names[i] for i in draws.order(len(names))[: (len(names) + 1) // 2]]
    turns = [PLANNED_FORMS[i] for i in draws.order(len(PLANNED_FORMS))]
    return {name: turns[i % len(turns)] for i, name in enumerate(chosen)}


def add_drift(series: Series, form: str, seed: int = 0) -> Series:
    """Return the series with drift in its test part.

    Parameters
    ----------
    series
        a labelled recording, before churn is added.
    form
        one of ``FORMS``.
    seed
        a non-negative integer; each recording and seed has its own random numbers.

    Returns
    -------
    Series
        variables that are absent or constant in the reference have no unit and do not change. The
        choice among the others, the start and the sizes depend on the recording's name, its number
        of rows, the form and the seed.
    """
    if form not in FORMS:
        raise SettingError(f"drift {form!r} is unknown; choose one of {', '.join(FORMS)}")
    if series.origins:
        raise InputError(f"{series.key} has renamed variables; add drift first and churn after it")
    about, test = FORMS[form], series.test
    draws = Draws("drift", form, series.key, seed=seed)
    centre, unit = _units(series.reference, test.names)
    able = np.flatnonzero(unit > 0.0)
    if not len(able):
        raise InputError(
            f"no variable of the test part of {series.key} varies in its reference, so none can "
            "drift; leave the recording out"
        )
    chosen = able[draws.order(len(able))[: max(1, int(about.share * len(able)))]]
    signs, sizes = draws.signs(len(chosen)), draws.between(about.size, len(chosen))
    start = int(draws.between(about.start, 1)[0] * len(test))
    profile = _profile(about, start, len(test))
    values = test.values.astype(np.float64)
    rows = test.row_numbers
    for j, sign, size in zip(chosen, signs, sizes, strict=True):
        mine = np.flatnonzero(test.codes == j)
        strength = size * profile[rows[mine]]
        if about.carrier == "deviation":
            values[mine] += strength * (values[mine] - centre[j])
        elif about.carrier == "noise":
            values[mine] += strength * unit[j] * draws.normal(len(test))[rows[mine]]
        else:
            values[mine] += strength * unit[j] * sign
    return replace(
        series,
        test=test.with_values(values.astype(np.float32)),
        notes=(
            *series.notes,
            f"drift {form} in {len(chosen)} of {len(test.names)} variables from row {start} on, "
            f"seed {seed}",
        ),
    )


def _profile(form: Form, start: int, n_rows: int) -> NDArray[np.float64]:
    """Return (T,) the fraction of the full size at each row: 0 before the start, then up to 1."""
    since = np.arange(n_rows, dtype=np.float64) - start
    if form.rise == 0.0:
        return (since >= 0).astype(np.float64)
    rise = max(1.0, min(form.longest_rise, form.rise * n_rows))
    profile: NDArray[np.float64] = np.clip(since / rise, 0.0, 1.0)
    return profile


def _units(
    reference: Recording, names: Sequence[str]
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return (C,) centre and unit of each variable in the reference; the unit is 0 if it has none.

    Sums are exact, so that the last bit is the same on every machine.
    """
    centre, unit = np.zeros(len(names)), np.zeros(len(names))
    code_of = {name: code for code, name in enumerate(reference.names)}
    ends = np.cumsum(np.bincount(reference.codes, minlength=len(code_of)))
    by_variable = reference.values[np.argsort(reference.codes, kind="stable")].astype(np.float64)
    traces = np.split(by_variable, ends[:-1])
    for j, name in enumerate(names):
        if name not in code_of or len(traces[code_of[name]]) < LEAST_OBSERVATIONS:
            continue
        trace = traces[code_of[name]]
        low, middle, high = np.quantile(trace, (0.25, 0.5, 0.75))
        mean = math.fsum(trace) / len(trace)
        deviation = math.sqrt(math.fsum((trace - mean) ** 2) / len(trace))
        spread = max((high - low) / NORMAL_RANGE, LEAST_OF_DEVIATION * deviation)
        if spread > ROUNDING * max(1.0, abs(middle)):
            centre[j], unit[j] = middle, spread
    return centre, unit
