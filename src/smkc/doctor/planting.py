"""Planting: anomalies of each kind, in several sizes, put into held-out rows.

In: held-out rows, a kind, a size and the places. Out: a copy with the anomalies in it, and which
rows and variables they are.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType

import numpy as np
from numpy.typing import NDArray

from smkc.doctor.held_out import HeldOut
from smkc.recording import Recording

__all__ = ["KINDS", "Kind", "Plant", "plant"]

SPIKE_ROWS = 3

# A kind that changes values strikes this share of the variables at hand, one at least.
STRUCK_SHARE = 0.1

# Times from which values are taken on trial where variables move together over longer times only.
TIMES_TRIED = 8

# Another hour's values must be this part of a variable's spread away from those of this hour.
HOUR_DIFFERENCE = 0.5

# A variable can be seen to stand still if at least this share of its steps are changes.
LIVELY = 0.5


@dataclass(frozen=True, kw_only=True)
class Kind:
    """One kind of anomaly.

    Parameters
    ----------
    many, story
        what several of them are called, and what happens.
    sizes
        small, medium and large.
    unit
        what sizes count: the variable's own spreads, a share ``of variables`` or ``of a period``.
    """

    many: str
    story: str
    sizes: tuple[float, float, float]
    unit: str = "spreads"

    def size_words(self, *sizes: int) -> str:
        """Say how large some sizes are.

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
    """One planted anomaly; both rows belong to it."""

    kind: str
    size: int
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
    """Put one anomaly at each place and return the copy and what was planted.

    Parameters
    ----------
    held
        the held-out rows.
    kind, size
        one of ``KINDS``; 0 small, 1 medium, 2 large.
    places
        first rows, far enough apart.
    length
        rows an anomaly lasts; a spike lasts three.
    rng
        the same generator strikes the same variables with every size.

    Returns
    -------
    Recording, list of Plant
        a place where no variable can show this kind is left as it is.
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
        plants.append(Plant(kind=kind, size=size, first_row=first, last_row=last, variables=names))
    copy = held.recording
    if not is_kept.all():
        copy = Recording.from_observations(
            copy.times, held.rows[is_kept], copy.codes[is_kept], values[is_kept], copy.names
        )
        return copy, plants
    return copy.with_values(values.astype(np.float32)), plants


def _able(held: HeldOut, kind: str, size: int, first: int, last: int) -> NDArray[np.int64]:
    """(n,) variables in which this kind of anomaly could be seen there."""
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
    """Whether what is usual part of a period away is clearly not so at these rows."""
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
    """(n,) a variable's own values that part of a period earlier or later; None if it has none.

    Of the two, those that differ more from the present ones.
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
    """Change a variable's observations begin to end in place; a counter through its rate."""
    mine = held.all_of(variable)
    if kind == "wrong hour":
        other = _at_another_hour(held, variable, values[mine], begin, end, size)
        values[mine[begin:end]] = values[mine[begin:end]] if other is None else other
        return
    is_slow = kind == "relation" and not held.has_partner[variable]
    change = _at_another_level if is_slow else _CHANGES[kind]
    if not held.is_counter[variable]:
        new = change(values[mine], begin, end, size * held.spread[variable], rng)
        values[mine[begin:end]] = np.round(new) if held.is_whole[variable] else new
        return
    begin = max(begin, 1)
    old, at = values[mine], held.clock[held.rows[mine]]
    lasted = np.diff(at)
    rates = np.concatenate([[0.0], np.maximum(np.diff(old), 0.0) / lasted])
    if kind == "frozen":
        rates[begin:end] = 0.0
    else:
        rates[begin:end] = change(rates, begin, end, size * held.spread[variable], rng)
    steps = np.maximum(rates[begin:end], 0.0) * lasted[begin - 1 : end - 1]
    new = old[begin - 1] + np.cumsum(steps)
    new = np.round(new) if held.is_whole[variable] else new
    # What follows counts on from there, until the counter starts anew.
    falls = np.flatnonzero(np.diff(old[end - 1 :]) < 0)
    until = end + int(falls[0]) if len(falls) else len(old)
    values[mine[end:until]] += new[-1] - old[end - 1]
    values[mine[begin:end]] = new


Change = Callable[[NDArray[np.float64], int, int, float, np.random.Generator], NDArray[np.float64]]


def _sign(rng: np.random.Generator) -> float:
    return float(rng.choice((-1.0, 1.0)))


def _moved(
    trace: NDArray[np.float64], begin: int, end: int, size: float, rng: np.random.Generator
) -> NDArray[np.float64]:
    return trace[begin:end] + size * _sign(rng)


def _drifted(
    trace: NDArray[np.float64], begin: int, end: int, size: float, rng: np.random.Generator
) -> NDArray[np.float64]:
    rise = np.arange(1, end - begin + 1) / (end - begin)
    return trace[begin:end] + size * _sign(rng) * rise


def _scattered(
    trace: NDArray[np.float64], begin: int, end: int, size: float, rng: np.random.Generator
) -> NDArray[np.float64]:
    return trace[begin:end] + size * rng.normal(size=end - begin)


def _frozen(
    trace: NDArray[np.float64], begin: int, end: int, size: float, rng: np.random.Generator
) -> NDArray[np.float64]:
    return np.full(end - begin, trace[begin])


def _parted(
    trace: NDArray[np.float64], begin: int, end: int, size: float, rng: np.random.Generator
) -> NDArray[np.float64]:
    """Take the variable's own values of another time, at the level of this one."""
    other = _taken_from_elsewhere(trace, begin, end, size, rng)
    return other - np.median(other) + np.median(trace[begin:end])


def _taken_from_elsewhere(
    trace: NDArray[np.float64], begin: int, end: int, size: float, rng: np.random.Generator
) -> NDArray[np.float64]:
    """Take the variable's own values of another time."""
    count = end - begin
    before = np.arange(0, max(begin - 2 * count, 0))
    after = np.arange(end + count, len(trace) - count)
    sources = np.concatenate([before, after])
    if not len(sources):
        return trace[begin:end][::-1].copy()
    start = int(sources[rng.integers(len(sources))])
    return trace[start : start + count]


def _at_another_level(
    trace: NDArray[np.float64], begin: int, end: int, size: float, rng: np.random.Generator
) -> NDArray[np.float64]:
    """Take the variable's own values of a time when its level was another, of some tried."""
    present = np.median(trace[begin:end])
    tried = [_taken_from_elsewhere(trace, begin, end, size, rng) for _ in range(TIMES_TRIED)]
    return max(tried, key=lambda one: abs(float(np.median(one) - present)))


_CHANGES: Mapping[str, Change] = MappingProxyType(
    {
        "spike": _moved,
        "level shift": _moved,
        "ramp": _drifted,
        "noise": _scattered,
        "relation": _parted,
        "frozen": _frozen,
    }
)
