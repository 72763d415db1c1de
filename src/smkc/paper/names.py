"""Names of a stream's rows: mappings of names to values -> arrays in a stable order.

In: one row after another, each a mapping of the variables it observed. Out: the row's values with
the hashes and scaling slots of their variables.
"""

from collections.abc import Mapping
from math import nan

import numpy as np
from numpy.typing import NDArray

from smkc.errors import InputError
from smkc.paper.sketch import Hashes, hash_names
from smkc.recording import ScalingState, canonical
from smkc.stream import row_values

# Names whose hashes are cached; once there are more, the next new name clears the cache.
MOST_KNOWN_NAMES = 65_536

# The layout of earlier rows is reused for a row of n names if it has at most 2 n + 64 names:
# looking up absent names costs less than making a new layout.
LAYOUT_FACTOR, LAYOUT_SPARE = 2, 64


class RowNames:
    """Hashes and scaling slots of the names in a stream's rows.

    Names are numbered in the order in which they are first seen, new names of one row in sorted
    order, so that sums over a row do not depend on the order of names within the row. The layout,
    an ordered list of names, is kept from row to row; it is replaced only if a row has a name
    outside it, or far fewer names. The scaling assigns slots; it is None if there is none.
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
        """Return the hashes of the layout's n variables, and their values (n,) in this row.

        The layout includes all of the row's variables. Values that were not observed are not
        finite. Afterwards ``slots`` (n,) holds the variables' scaling slots.
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
        """Return the places (n,) of a row's names in the layout, changing the layout if needed."""
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
        """Set the layout to these names, given by number."""
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
        if last > len(self._slots):  # double the capacity
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
    """Return values as float32; those that overflow become infinite and count as not observed."""
    with np.errstate(over="ignore"):
        return values.astype(np.float32)


def _too_many(n_asked: int, n: int) -> bool:
    """Return whether a layout of ``n_asked`` names is too large for a row of ``n``."""
    return n_asked > LAYOUT_FACTOR * n + LAYOUT_SPARE
