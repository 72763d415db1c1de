"""Synthetic anomalies of each kind and size, planted in held-out rows.

In: held-out rows, a kind, a size and the places. Out: a copy with the anomalies, and the rows and
variables that they change.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType

import numpy as np
from numpy.typing import NDArray

from smkc.doctor.held_out import HeldOut
from smkc.recording import Recording

SIZES = ("small", "medium", "large")
LARGE = SIZES.index("large")

SPIKE_ROWS = 3

# Share of the suitable variables, at least one, that is changed by a kind whose sizes are not
# shares of variables.
STRUCK_SHARE = 0.1

# Number of other times tried as a source of values where variables move together only in their
# means over blocks of rows; the one whose level differs most is used.
TIMES_TRIED = 8

# Smallest difference, in spreads, between the medians of the other hour's and this hour's values.
HOUR_DIFFERENCE = 0.5

# A variable can be frozen only if its value changes in at least this share of its steps.
LIVELY = 0.5


@dataclass(frozen=True, kw_only=True)
class Kind:
    """One kind of anomaly.

    Parameters
    ----------
    many, story
        its name in the plural, and what happens.
    sizes
        the small, medium and large size.
    unit
        unit of the sizes: ``spreads`` of the variable, or a share ``of variables`` or ``of a
        period``.
    """

    many: str
    story: str
    sizes: tuple[float, float, float]
    unit: str = "spreads"

    def size_words(self, *sizes: int) -> str:
        """Return some sizes with their unit, as text.

        Examples
        --------
        >>> KINDS["spike"].size_words(0), KINDS["frozen"].size_words(0, 2)
        ('4 spreads', '10%, 50% of variables')
        """
        scale, mark = (1, "") if self.unit == "spreads" else (100, "%")
        values = ", ".join(f"{scale * self.sizes[size]:.3g}{mark}" for size in sizes)
        return f"{values} {self.unit}"


KINDS: Mapping[str, Kind] = MappingProxyType(
    {
        "spike": Kind(
            many="spikes", story=f"values leap for {SPIKE_ROWS} rows", sizes=(4.0, 8.0, 16.0)
        ),
        "level shift": Kind(
            many="level shifts", story="values stand higher or lower", sizes=(2.0, 4.0, 8.0)
        ),
        "ramp": Kind(many="ramps", story="values drift away row by row", sizes=(2.0, 4.0, 8.0)),
        "noise": Kind(
            many="bursts of noise",
            story="values scatter more than they did",
            sizes=(1.0, 2.0, 4.0),
        ),
        "wrong hour": Kind(
            many="wrong hours",
            story="values are usual, but for another time of the day",
            sizes=(0.125, 0.25, 0.5),
            unit="of a period",
        ),
        "relation": Kind(
            many="broken relations",
            story="variables stop moving with the others",
            sizes=(0.1, 0.25, 0.5),
            unit="of variables",
        ),
        "frozen": Kind(
            many="frozen values",
            story="variables repeat one value",
            sizes=(0.1, 0.25, 0.5),
            unit="of variables",
        ),
        "vanished": Kind(
            many="vanished variables",
            story="variables fall silent together",
            sizes=(0.1, 0.25, 0.5),
            unit="of variables",
        ),
    }
)
"""Every kind of anomaly that is planted."""


@dataclass(frozen=True, kw_only=True)
class Plant:
    """One planted anomaly, from its first row to its last, both included."""

    first_row: int
    last_row: int
    variables: tuple[str, ...]


def plant(
    held: HeldOut,
    kind: str,
    size: int,
    places: Sequence[int],
    length: int,
    rng: np.random.Generator,
) -> tuple[Recording, list[Plant]]:
    """Plant one anomaly at each place and return the changed copy and the anomalies.

    Parameters
    ----------
    held
        the held-out rows.
    kind, size
        a key of ``KINDS``; 0 small, 1 medium, 2 large.
    places
        first row of each anomaly; anomalies must not overlap.
    length
        rows that an anomaly lasts; a spike lasts at most 3.
    rng
        generator; with the same seed, a larger size changes the same variables or more of them,
        except for the kind ``wrong hour``.

    Returns
    -------
    Recording, list of Plant
        the copy and its anomalies; a place without a suitable variable is left unchanged.
    """
    values = held.recording.values.astype(np.float64)
    is_kept = np.ones(len(values), bool)
    n_rows = min(SPIKE_ROWS, length) if kind == "spike" else length
    plants = []
    for first in places:
        last = first + n_rows - 1
        able = _able(held, kind, size, first, last)
        order = able[rng.permutation(len(able))]
        own = rng.spawn(1)[0]
        if not len(able):
            continue
        is_share = KINDS[kind].unit == "of variables"
        share = KINDS[kind].sizes[size] if is_share else STRUCK_SHARE
        struck = order[: max(1, round(share * len(able)))]
        for variable in struck.tolist():
            begin, end = held.between(variable, first, last)
            if kind == "vanished":
                is_kept[held.all_of(variable)[begin:end]] = False
            else:
                _strike(held, values, kind, KINDS[kind].sizes[size], variable, begin, end, own)
        names = tuple(sorted(held.recording.names[variable] for variable in struck))
        plants.append(Plant(first_row=first, last_row=last, variables=names))
    copy = held.recording
    if not is_kept.all():
        copy = Recording.from_observations(
            copy.times, held.rows[is_kept], copy.codes[is_kept], values[is_kept], copy.names
        )
        return copy, plants
    return copy.with_values(values.astype(np.float32)), plants


def _able(held: HeldOut, kind: str, size: int, first: int, last: int) -> NDArray[np.int64]:
    """Return the (n,) variables in which this kind of anomaly is visible in rows first to last."""
    present = held.observed(first, last)
    if kind == "vanished":
        return present
    able = present[held.spread[present] > 0]
    if kind == "relation":
        return able[held.has_partner[able] | held.has_slow_partner[able]]
    if kind == "frozen":
        return np.array([one for one in able.tolist() if _is_lively(held, one, first, last)], int)
    if kind == "wrong hour":
        shift = KINDS[kind].sizes[size]
        some = able[~held.is_counter[able] & np.isfinite(held.period[able])].tolist()
        return np.array([one for one in some if _differs(held, one, shift, first, last)], int)
    return able


def _differs(held: HeldOut, variable: int, shift: float, first: int, last: int) -> bool:
    """Return whether the values a share of a period away clearly differ from those here."""
    begin, end = held.between(variable, first, last)
    values = held.recording.values[held.all_of(variable)].astype(np.float64)
    other = _at_another_hour(held, variable, values, begin, end, shift)
    if other is None:
        return False
    away = abs(float(np.median(other)) - float(np.median(values[begin:end])))
    return away >= HOUR_DIFFERENCE * float(held.spread[variable])


def _at_another_hour(
    held: HeldOut, variable: int, values: NDArray[np.float64], begin: int, end: int, shift: float
) -> NDArray[np.float64] | None:
    """Return the (n,) values of a variable a share of a period earlier or later.

    Of the two, the one whose median differs more is returned; None if neither was recorded.
    """
    at = held.clock[held.rows[held.all_of(variable)]]
    found = []
    for way in (-1.0, 1.0):
        wanted = at[begin:end] + way * shift * held.period[variable]
        if wanted[0] < at[0] or wanted[-1] > at[-1]:
            continue
        found.append(values[np.minimum(np.searchsorted(at, wanted), len(at) - 1)])
    present = float(np.median(values[begin:end]))
    return max(found, key=lambda one: abs(float(np.median(one)) - present), default=None)


def _is_lively(held: HeldOut, variable: int, first: int, last: int) -> bool:
    begin, end = held.between(variable, first, last)
    values = held.recording.values[held.all_of(variable)[begin:end]]
    return len(values) > 1 and float(np.mean(np.diff(values) != 0)) >= LIVELY


def _strike(
    held: HeldOut,
    values: NDArray[np.float64],
    kind: str,
    size: float,
    variable: int,
    begin: int,
    end: int,
    rng: np.random.Generator,
) -> None:
    """Change observations begin to end of a variable in place; for a counter, change its rate."""
    mine = held.all_of(variable)
    if kind == "wrong hour":
        other = _at_another_hour(held, variable, values[mine], begin, end, size)
        values[mine[begin:end]] = values[mine[begin:end]] if other is None else other
        return
    is_slow = kind == "relation" and not held.has_partner[variable]
    size = size * held.spread[variable]
    if not held.is_counter[variable]:
        new = _changed(kind, is_slow, values[mine], begin, end, size, rng)
        values[mine[begin:end]] = np.round(new) if held.is_whole[variable] else new
        return
    begin = max(begin, 1)
    old, at = values[mine], held.clock[held.rows[mine]]
    lasted = np.diff(at)
    rates = np.concatenate([[0.0], np.maximum(np.diff(old), 0.0) / lasted])
    if kind == "frozen":
        rates[begin:end] = 0.0
    else:
        rates[begin:end] = _changed(kind, is_slow, rates, begin, end, size, rng)
    steps = np.maximum(rates[begin:end], 0.0) * lasted[begin - 1 : end - 1]
    new = old[begin - 1] + np.cumsum(steps)
    new = np.round(new) if held.is_whole[variable] else new
    # Shift the later counts by the same amount, until the counter is reset.
    falls = np.flatnonzero(np.diff(old[end - 1 :]) < 0)
    until = end + int(falls[0]) if len(falls) else len(old)
    values[mine[end:until]] += new[-1] - old[end - 1]
    values[mine[begin:end]] = new


def _changed(
    kind: str,
    is_slow: bool,
    trace: NDArray[np.float64],
    begin: int,
    end: int,
    size: float,
    rng: np.random.Generator,
) -> NDArray[np.float64]:
    """Return new values for observations begin to end of a variable's trace.

    ``is_slow``: a broken relation is one between means over blocks of rows.
    """
    here, count = trace[begin:end], end - begin
    if kind in ("spike", "level shift"):
        return here + size * _sign(rng)
    if kind == "ramp":
        rise = np.arange(1, count + 1) / count
        return here + size * _sign(rng) * rise
    if kind == "noise":
        return here + size * rng.normal(size=count)
    if kind == "frozen":
        return np.full(count, here[0])
    present = np.median(here)
    if is_slow:
        tried = [_taken_from_elsewhere(trace, begin, end, rng) for _ in range(TIMES_TRIED)]
        return max(tried, key=lambda one: abs(float(np.median(one) - present)))
    other = _taken_from_elsewhere(trace, begin, end, rng)
    return other - np.median(other) + present


def _sign(rng: np.random.Generator) -> float:
    return float(rng.choice((-1.0, 1.0)))


def _taken_from_elsewhere(
    trace: NDArray[np.float64], begin: int, end: int, rng: np.random.Generator
) -> NDArray[np.float64]:
    """Return the variable's values from a random other time; reverse the present ones if none."""
    count = end - begin
    before = np.arange(0, max(begin - 2 * count, 0))
    after = np.arange(end + count, len(trace) - count)
    sources = np.concatenate([before, after])
    if not len(sources):
        return trace[begin:end][::-1].copy()
    start = int(sources[rng.integers(len(sources))])
    return trace[start : start + count]
