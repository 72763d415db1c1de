"""Scaling: values to a common measure, a robust centre and spread a variable.

In: reference data. Out: a :class:`Scaling`, fitted once, from which any number of recordings and
streams are scaled. A variable that the reference data did not settle is followed on its own past.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from smkc.errors import InputError, ModelFileError, SettingError
from smkc.recording._loops import CONSTANT_SHARE, KNOWN, ROUNDING, TINY
from smkc.recording.counters import (
    MIN_HISTORY,
    Counters,
    check_counters,
    clock,
    is_counter_name,
    rates,
    verdicts,
)
from smkc.recording.identity import Identity
from smkc.recording.recording import Recording
from smkc.recording.scaling_state import Newcomer, ScalingState

__all__ = ["Scaling"]

CLIP = 10.0
MAX_VARIABLES = 65_536
MAX_SETTLED = 262_144  # past that, variables new to the reference data stay unsettled
IQR_OF_UNIT_NORMAL = 1.349
FEWEST_DEVIATIONS = 0.25  # a spread is at least this many standard deviations: rare bursts count


@dataclass(frozen=True, kw_only=True, eq=False)
class Scaling:
    """Robust centre and spread of the variables that the reference data settled.

    Parameters
    ----------
    identity
        the rule for families.
    counters
        "auto" turns counters into rates; None takes every value as it is.
    clip
        scaled values lie between -clip and clip.
    max_variables
        how many unsettled variables a state remembers.
    dated
        whether the reference data's times are dates, so that rates are a second.
    names
        (S,) the settled variables.
    centre, spread
        (S,) float64; spread is positive.
    constant, counter
        (S,) bool: whether a variable never changed, whether it is a counter.

    Examples
    --------
    >>> reference = Recording.from_rows(range(64), [{"cpu": t % 8} for t in range(64)])
    >>> scaling = Scaling.fit(reference)
    >>> scaled = scaling.start().scale(Recording.from_rows([64], [{"cpu": 7}]))
    >>> round(scaled.row(0)["cpu"], 3)
    1.349
    """

    identity: Identity
    counters: Counters
    clip: float
    max_variables: int
    dated: bool
    names: tuple[str, ...]
    centre: NDArray[np.float64]
    spread: NDArray[np.float64]
    constant: NDArray[np.bool_]
    counter: NDArray[np.bool_]

    @classmethod
    def fit(
        cls,
        recording: Recording,
        identity: Identity | None = None,
        counters: Counters = "auto",
        *,
        clip: float = CLIP,
        max_variables: int = MAX_VARIABLES,
    ) -> "Scaling":
        """Learn centre and spread from reference data."""
        check_counters(counters)
        if not 0 < clip < np.inf:
            raise SettingError(f"clip={clip!r} must be a positive number, such as {CLIP:g}")
        if max_variables < 1:
            raise SettingError(f"max_variables={max_variables!r} must be at least 1")
        empty = cls(
            identity=identity or Identity(),
            counters=counters,
            clip=float(clip),
            max_variables=int(max_variables),
            dated=recording.times.dtype.kind == "M",
            names=(),
            centre=np.empty(0),
            spread=np.empty(0),
            constant=np.empty(0, bool),
            counter=np.empty(0, bool),
        )
        return empty.update(recording)

    def update(self, recording: Recording) -> "Scaling":
        """Return a scaling that has seen more reference data.

        Variables that are new and have enough observations in ``recording`` become settled;
        those settled before stay as they are, so what was scaled with them stays valid.
        """
        if self.dated != (recording.times.dtype.kind == "M"):
            raise InputError(
                "the reference data mix dates and plain numbers as times; "
                "read all of them with the same time_unit"
            )
        settling = self._settling(recording)
        if len(settling) == 0:
            return self
        names = [recording.names[code] for code in settling]
        codes, values, clocks = _by_variable(recording, settling)
        counter = self._find_counters(names, verdicts(codes, values, len(names)))
        is_rate = counter[codes]
        values = np.where(is_rate, rates(codes, values, clocks), values)
        observed = ~np.isnan(values)
        centre, spread = _centre_and_spread(codes[observed], values[observed], len(names))
        constant = spread <= np.maximum(ROUNDING * np.abs(centre), TINY)
        both = replace(
            self,
            names=self.names + tuple(names),
            centre=np.concatenate([self.centre, centre]),
            spread=np.concatenate([self.spread, spread]),
            constant=np.concatenate([self.constant, constant]),
            counter=np.concatenate([self.counter, counter]),
        )
        for at in (np.flatnonzero(constant) + len(self.names)).tolist():
            both.spread[at] = both._spread_of_constant(at)
        return both

    def start(self) -> ScalingState:
        """Return a state that has seen no row yet."""
        table = np.zeros(len(self.names), KNOWN)
        table["settled"] = True
        table["centre"] = self.centre
        table["spread"] = self.spread
        table["counter"] = self.counter
        table["last_clock"] = np.nan
        table["seen"] = -1
        return ScalingState(
            table,
            self.names,
            self._newcomer,
            dated=self.dated,
            clip=self.clip,
            max_variables=self.max_variables,
        )

    # ------------------------------------------------------------------ families

    @cached_property
    def _families(self) -> dict[str, Newcomer]:
        """Return a family's spread, and whether most of its settled members are counters."""
        members: dict[str, list[int]] = {}
        for at, name in enumerate(self.names):
            members.setdefault(self.identity.family(name), []).append(at)
        families = {}
        for family, slots in members.items():
            is_counter = 2 * int(self.counter[slots].sum()) > len(slots)
            moving = [
                at for at in slots if not self.constant[at] and self.counter[at] == is_counter
            ]
            spread = float(np.median(self.spread[moving])) if moving else 0.0
            families[family] = Newcomer(spread, is_counter)
        return families

    def _newcomer(self, name: str) -> Newcomer:
        family = self._families.get(self.identity.family(name))
        if family is None:
            return Newcomer(0.0, self.counters is not None and is_counter_name(name))
        return family

    def _spread_of_constant(self, at: int) -> float:
        family = self._families[self.identity.family(self.names[at])]
        if family.prior > 0 and family.is_counter == self.counter[at]:
            return family.prior
        return max(CONSTANT_SHARE * abs(float(self.centre[at])), TINY)

    def _find_counters(self, names: Sequence[str], found: NDArray[np.int8]) -> NDArray[np.bool_]:
        """Say which variables are counters; where readings do not tell, the family decides."""
        if self.counters is None:
            return np.zeros(len(names), bool)
        families = [self.identity.family(name) for name in names]
        votes: dict[str, int] = {}
        for family, verdict in zip(families, found.tolist(), strict=True):
            if verdict >= 0:
                votes[family] = votes.get(family, 0) + (1 if verdict else -1)
        counter: NDArray[np.bool_] = np.equal(found, 1)
        for at in np.flatnonzero(found < 0).tolist():
            vote = votes.get(families[at])
            known = self._newcomer(names[at]).is_counter
            counter[at] = known if vote is None else vote > 0
        return counter

    def _settling(self, recording: Recording) -> NDArray[np.int64]:
        """Codes of the variables that this recording settles, ascending."""
        counts = np.bincount(recording.codes, minlength=len(recording.names))
        known = set(self.names)
        unknown = np.array([name not in known for name in recording.names], bool)
        settling = np.flatnonzero((counts >= MIN_HISTORY) & unknown)
        room = max(MAX_SETTLED - len(self.names), 0)
        if len(settling) > room:
            longest = np.argsort(-counts[settling], kind="stable")[:room]
            settling = np.sort(settling[longest])
        return settling

    # ------------------------------------------------------------------ saving

    def to_arrays(self) -> tuple[dict[str, NDArray[Any]], dict[str, Any]]:
        """Return arrays and a JSON-able header from which :meth:`from_arrays` rebuilds this."""
        arrays = {key: getattr(self, key) for key in _ARRAYS}
        header = {
            "identity": {"drop": list(self.identity.drop), "pattern": self.identity.pattern},
            **{key: getattr(self, key) for key in _SETTINGS},
            "names": list(self.names),
        }
        return arrays, header

    @classmethod
    def from_arrays(
        cls, arrays: Mapping[str, NDArray[Any]], header: Mapping[str, Any]
    ) -> "Scaling":
        """Rebuild a scaling from what :meth:`to_arrays` gave."""
        try:
            parts: dict[str, Any] = {key: header[key] for key in _SETTINGS}
            parts |= {key: np.asarray(arrays[key]) for key in _ARRAYS}
            identity = Identity(**header["identity"])
            scaling = cls(identity=identity, names=tuple(header["names"]), **parts)
            check_counters(scaling.counters)
        except (KeyError, TypeError, SettingError) as error:
            raise ModelFileError(
                f"the saved scaling makes no sense: {error!r}; {_REMEDY}"
            ) from None
        fault = _fault(scaling)
        if fault is not None:
            raise ModelFileError(f"the saved scaling makes no sense: {fault}; {_REMEDY}")
        return scaling


_REMEDY = "fit the model again and save it"
_SETTINGS = ("counters", "clip", "max_variables", "dated")
_ARRAYS = {"centre": np.float64, "spread": np.float64, "constant": np.bool_, "counter": np.bool_}


def _fault(scaling: Scaling) -> str | None:
    """Return what is wrong with a scaling that came from a file."""
    clip, most, names = scaling.clip, scaling.max_variables, scaling.names
    if not (isinstance(clip, float) and 0 < clip < np.inf):
        return f"clip is {clip!r}"
    if not (isinstance(most, int) and 1 <= most < 2**31 and isinstance(scaling.dated, bool)):
        return f"max_variables is {most!r} and dated is {scaling.dated!r}"
    if len(set(names)) < len(names) or not all(isinstance(name, str) for name in names):
        return "names are not distinct texts"
    for key, dtype in _ARRAYS.items():
        array = getattr(scaling, key)
        if array.dtype != dtype or array.shape != (len(names),):
            return f"{key} is {array.dtype} {array.shape}, not {np.dtype(dtype)} ({len(names)},)"
    if not (np.isfinite(scaling.centre).all() and np.isfinite(scaling.spread).all()):
        return "a centre or a spread is not finite"
    return None if (scaling.spread > 0).all() else "a spread is not positive"


def _by_variable(
    recording: Recording, chosen: NDArray[np.int64]
) -> tuple[NDArray[np.int32], NDArray[np.float64], NDArray[np.float64]]:
    """(N,) codes, values and clocks of the chosen variables, by variable, then by time."""
    renumber = np.full(len(recording.names), -1, np.int32)
    renumber[chosen] = np.arange(len(chosen), dtype=np.int32)
    codes = renumber[recording.codes]
    order = np.argsort(codes, kind="stable")
    order = order[np.searchsorted(codes[order], 0) :]
    clocks = clock(recording.times, recording.times[0])
    return (
        codes[order],
        recording.values[order].astype(np.float64),
        clocks[recording.row_numbers[order]],
    )


def _centre_and_spread(
    codes: NDArray[np.int32], values: NDArray[np.float64], n_variables: int
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """(V,) median, and max(IQR / 1.349, 0.25 standard deviations), of each variable's values."""
    counts = np.bincount(codes, minlength=n_variables)
    if len(values) == 0:
        return np.zeros(n_variables), np.zeros(n_variables)
    starts = np.concatenate([[0], np.cumsum(counts)[:-1]])
    ordered = values.copy()
    for start, count in zip(starts.tolist(), counts.tolist(), strict=True):
        ordered[start : start + count].sort()
    last = np.maximum(counts - 1, 0)

    def quantile(share: float) -> NDArray[np.float64]:
        position = share * last
        low = np.floor(position).astype(np.int64)
        below = ordered[np.minimum(starts + low, len(ordered) - 1)]
        above = ordered[np.minimum(starts + np.minimum(low + 1, last), len(ordered) - 1)]
        return np.asarray(below + (position - low) * (above - below))

    mean = np.bincount(codes, values, n_variables) / np.maximum(counts, 1)
    squares = np.bincount(codes, (values - mean[codes]) ** 2, n_variables)
    deviation = np.sqrt(squares / np.maximum(counts, 1))
    spread = (quantile(0.75) - quantile(0.25)) / IQR_OF_UNIT_NORMAL
    spread = np.maximum(spread, FEWEST_DEVIATIONS * deviation)
    observed = counts > 0
    return np.where(observed, quantile(0.5), 0.0), np.where(observed, spread, 0.0)
