"""Scaling: values to a common scale, by a robust centre and spread per variable.

In: reference data. Out: a :class:`Scaling`, fitted once, which scales any number of recordings and
streams. A variable with at least 32 observations in the reference data is settled: its centre and
spread are fixed. Those of any other variable are estimated from its own past.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from smkc.errors import InputError, ModelFileError, SettingError
from smkc.recording._loops import CONSTANT_SHARE, ROUNDING, TINY
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

CLIP = 10.0
MAX_VARIABLES = 65_536
MAX_SETTLED = 262_144  # variables; any more stay unsettled
IQR_OF_UNIT_NORMAL = 1.349
FEWEST_DEVIATIONS = 0.25  # smallest spread in standard deviations; matters if bursts are rare


@dataclass(frozen=True, kw_only=True, eq=False)
class Scaling:
    """Robust centre and spread of the settled variables.

    Examples
    --------
    >>> reference = Recording.from_rows(range(64), [{"cpu": t % 8} for t in range(64)])
    >>> scaling = Scaling.fit(reference)
    >>> scaled = scaling.start().scale(Recording.from_rows([64], [{"cpu": 7}]))
    >>> round(scaled.row(0)["cpu"], 3)
    1.349
    """

    identity: Identity  # the rule for families
    counters: Counters  # "auto" turns counters into rates; None takes every value as it is
    clip: float  # scaled values lie between -clip and clip
    max_variables: int  # largest number of unsettled variables that a state remembers
    dated: bool  # whether the reference data's times are dates, so that rates are per second
    names: tuple[str, ...]  # (S,) the settled variables
    centre: NDArray[np.float64]  # (S,)
    spread: NDArray[np.float64]  # (S,) positive
    constant: NDArray[np.bool_]  # (S,) whether a variable is constant up to rounding
    counter: NDArray[np.bool_]  # (S,)

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
        """Return a scaling that has learned from more reference data.

        New variables with at least 32 observations in ``recording`` become settled; those settled
        before do not change, so that values scaled earlier stay valid.
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
        return ScalingState(self)

    # ------------------------------------------------------------------ families

    @cached_property
    def _families(self) -> dict[str, Newcomer]:
        """By family: its median spread, and whether most of its settled members are counters."""
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

    def newcomer(self, name: str) -> Newcomer:
        """Return what is assumed about a variable that is not settled."""
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
        """Return which variables are counters; where readings do not tell, the family decides."""
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
            known = self.newcomer(names[at]).is_counter
            counter[at] = known if vote is None else vote > 0
        return counter

    def _settling(self, recording: Recording) -> NDArray[np.int64]:
        """Return the codes of the variables that this recording settles, ascending."""
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
        """Rebuild a scaling from what :meth:`to_arrays` returned."""
        try:
            parts: dict[str, Any] = {key: header[key] for key in _SETTINGS}
            parts |= {key: np.asarray(arrays[key]) for key in _ARRAYS}
            identity = Identity(**header["identity"])
            scaling = cls(identity=identity, names=tuple(header["names"]), **parts)
            check_counters(scaling.counters)
            _check(scaling)
        except (KeyError, TypeError, ValueError) as error:
            raise ModelFileError(
                f"the saved scaling is invalid: {error!r}; fit the model again and save it"
            ) from None
        return scaling


_SETTINGS = ("counters", "clip", "max_variables", "dated")
_ARRAYS = {"centre": np.float64, "spread": np.float64, "constant": np.bool_, "counter": np.bool_}


def _check(scaling: Scaling) -> None:
    """Raise ValueError if a scaling from a file cannot be used."""
    clip, most, names = scaling.clip, scaling.max_variables, scaling.names
    if not (isinstance(clip, float) and 0 < clip < np.inf):
        raise ValueError(f"clip is {clip!r}")
    if not (isinstance(most, int) and 1 <= most < 2**31 and isinstance(scaling.dated, bool)):
        raise ValueError(f"max_variables is {most!r} and dated is {scaling.dated!r}")
    if len(set(names)) < len(names) or not all(isinstance(name, str) for name in names):
        raise ValueError("names are not distinct texts")
    for key, dtype in _ARRAYS.items():
        array = getattr(scaling, key)
        if array.dtype != dtype or array.shape != (len(names),):
            raise ValueError(
                f"{key} is {array.dtype} {array.shape}, not {np.dtype(dtype)} ({len(names)},)"
            )
    if not np.isfinite(scaling.centre).all():
        raise ValueError("a centre is not finite")
    if not ((scaling.spread > 0) & np.isfinite(scaling.spread)).all():
        raise ValueError("a spread is not positive and finite")


def _by_variable(
    recording: Recording, chosen: NDArray[np.int64]
) -> tuple[NDArray[np.int32], NDArray[np.float64], NDArray[np.float64]]:
    """Return (N,) codes, values and clocks of the chosen variables, by variable, then by time."""
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
    """Return (V,) median and max(IQR / 1.349, 0.25 standard deviations) of each variable."""
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
