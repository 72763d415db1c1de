"""Names of a stream's rows: a mapping of names to numbers -> arrays, in an order that stays.

In: one row after another, each naming the variables it observed. Out: the row's values beside the
hashes and scaling slots of their variables.
"""

from collections.abc import Mapping
from math import nan

import numpy as np
from numpy.typing import NDArray

from smkc.errors import InputError
from smkc.paper.sketch import Hashes, hash_names
from smkc.recording import ScalingState, canonical
from smkc.stream import row_values

__all__ = ["MOST_KNOWN_NAMES", "RowNames"]

# Names whose hashes are at hand; past that the stream forgets all and starts collecting anew.
MOST_KNOWN_NAMES = 65_536

# Rows are asked for names that rows before them had. Asking for so many times as many as a row
# has, and a few more, costs less than arranging the row anew.
MOST_ASKED, FEW = 2, 64


class RowNames:
    """What is known about the names that rows mention: their hashes and scaling slots.

    Names are numbered as they are first seen, those of one row in ascending order, so that sums
    over a row run in an order that does not depend on the order within the row. A row is asked for
    the names of the rows before it; only one with a new name has to be arranged.

    Parameters
    ----------
    buckets
        buckets of the sketch.
    scaling
        where slots come from; None without scaling.
    """

    def __init__(self, buckets: int, scaling: ScalingState | None) -> None:
        self._buckets = buckets
        self._scaling = scaling
        self._forget()

    def _forget(self) -> None:
        self._number_of: dict[str, int] = {}
        self._n_names = 0
        self._known = hash_names([], self._buckets)
        self._slots = np.empty(0, np.int64)
        self._generation = self._scaling.generation if self._scaling is not None else 0
        self._ask_for({})

    def arrange(
        self, observations: Mapping[str, float | None]
    ) -> tuple[Hashes, NDArray[np.float32]]:
        """Return hashes of some variables, all of the row's among them, and (n,) their values.

        Not finite are the values of those that were not observed; ``slots`` then has the scaling's
        slots of all.
        """
        if self._scaling is not None and self._scaling.generation != self._generation:
            self._forget()
        if isinstance(observations, Mapping) and not _too_many(len(self._asks), len(observations)):
            row = {**self._asks, **observations}
            if len(row) == len(self._asks):
                return self._hashes, _narrowed(row_values(row))
        given = row_values(observations)
        places = self._arranged(tuple(observations))
        values = np.full(len(self._asks), nan)
        values[places] = given
        return self._hashes, _narrowed(values)

    def _arranged(self, keys: tuple[str, ...]) -> NDArray[np.int64]:
        """(n,) places of a row's names among those asked for from now on."""
        numbers = self._numbers(keys)
        if len(set(numbers.tolist())) < len(numbers):
            raise InputError(
                "a row names one variable twice, with its labels in different order; name each "
                f"variable once (row of {len(keys)}, starting with {keys[0]!r})"
            )
        here = dict(zip(numbers.tolist(), keys, strict=True))
        if _too_many(len(self._asks), len(keys)) or not self._asks.keys() >= set(keys):
            before = dict(zip(self._asked_numbers.tolist(), self._asks, strict=True))
            both = before | here
            self._ask_for(here if _too_many(len(both), len(keys)) else both)
        return np.searchsorted(self._asked_numbers, numbers)

    def _ask_for(self, key_of: dict[int, str]) -> None:
        """Ask rows for these names from now on, by their numbers."""
        numbers = sorted(key_of)
        self._asked_numbers = np.array(numbers, np.int64)
        self._asks = {key_of[number]: nan for number in numbers}
        self._hashes = self._known.take(self._asked_numbers)
        self.slots = self._slots.take(self._asked_numbers)

    def _numbers(self, keys: tuple[str, ...]) -> NDArray[np.int64]:
        try:
            return np.fromiter(map(self._number_of.__getitem__, keys), np.int64, len(keys))
        except (KeyError, TypeError):
            self._learn(keys)
            return np.fromiter(map(self._number_of.__getitem__, keys), np.int64, len(keys))

    def _learn(self, keys: tuple[str, ...]) -> None:
        if self._n_names > MOST_KNOWN_NAMES:
            self._forget()
        for key in keys:
            if not isinstance(key, str):
                raise InputError(f"a variable is called {key!r}; names are text")
        fresh = {key: canonical(key) for key in keys if key not in self._number_of}
        names = sorted(set(fresh.values()).difference(self._number_of))
        first, last = self._n_names, self._n_names + len(names)
        if last > len(self._slots):  # make room for as many again
            self._known = self._known.resized(2 * last)
            self._slots = np.concatenate(
                [self._slots[:first], np.zeros(2 * last - first, np.int64)]
            )
        self._known.put(first, hash_names(names, self._buckets))
        if self._scaling is not None:
            self._slots[first:last] = self._scaling.slots(names)
        self._number_of |= {name: first + at for at, name in enumerate(names)}
        self._number_of |= {key: self._number_of[name] for key, name in fresh.items()}
        self._n_names = last


def _narrowed(values: NDArray[np.float64]) -> NDArray[np.float32]:
    """Return values in float32, in which the largest become infinite: not observed."""
    with np.errstate(over="ignore"):
        return values.astype(np.float32)


def _too_many(n_asked: int, n: int) -> bool:
    """Whether so many names are more than a row of n should be asked for."""
    return n_asked > MOST_ASKED * n + FEW
