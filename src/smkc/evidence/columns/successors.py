"""Successors: variables that continue under another name.

In: recordings as they come. Out: the same recordings, in which a successor has the name of the
variable that it follows. A newcomer follows a known variable that fell silent when the newcomer
came, if their names are similar and the values continue in the same range.
"""

from collections.abc import Callable, Mapping, Sequence
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from smkc.evidence.settings import SETTINGS
from smkc.recording import Recording, Scaling

# A newcomer is judged once it has been there for 1 span, the rows compared before and after, and
# given up after this many spans.
GIVEN_UP = 3

# Lower limit for how far quantiles may differ, which stands for 0.
MIN_LIMIT = 1e-9

# Values are compared by this many quantiles, each from at least LEAST_VALUES values.
QUANTILES, LEAST_VALUES = 16, 8

# Of the variables that fell silent, as many with the most similar names are compared.
MOST_COMPARED = 8

# Upper limits for newcomers watched at a time, and about how many names are remembered.
MOST_WATCHED, MOST_REMEMBERED = 256, 32_768


class _Newcomer(NamedTuple):
    """The first row of a newcomer, and the times and values of its observations since."""

    first: int
    times: list[float]
    values: list[float]


class Successors:
    """The successors known at one moment of a recording.

    Parameters
    ----------
    scaling
        of the reference's variables.
    names
        (C,) the variables that may be followed.
    reference
        (n, at least C) the reference's latest rows, scaled.
    block
        rows between two decisions.
    is_member
        function that tells whether a variable is a member of a known role. Members have no
        successors, as their roles take their place.
    """

    def __init__(
        self,
        scaling: Scaling,
        names: Sequence[str],
        reference: NDArray[np.float32],
        block: int,
        is_member: Callable[[str], bool],
    ) -> None:
        self.names = tuple(names)
        self.block, self.span = block, max(block, SETTINGS.min_observations)
        self.n_rows = 0
        self.heirs: dict[str, tuple[str, int]] = {}  # by successor: name followed, since which row
        self.watched: dict[str, _Newcomer] = {}
        self.met: dict[str, None] = {}
        size = (GIVEN_UP + 2) * self.span
        self.ring = np.full((size, len(names)), np.nan, np.float32)
        self._scaling, self._reference, self._is_member = scaling, reference, is_member
        self._at = {name: at for at, name in enumerate(scaling.names)}
        self._familiar = set(names)
        self._can_be_followed = np.array([not is_member(name) for name in names], bool)
        self._limits: dict[int, float] = {}

    def begin(self) -> None:
        """Note that the first row comes right after the last row of the reference."""
        latest = self._reference[-len(self.ring) :, : len(self.names)]
        self.ring[len(self.ring) - len(latest) :] = latest

    def pieces(self, recording: Recording) -> list[Recording]:
        """Split a recording at the rows of decisions; not if no newcomer is to be decided about."""
        if not self.watched and self._familiar.issuperset(recording.names):
            return [recording]
        first = self.block - self.n_rows % self.block
        edges = [0, *range(first, len(recording), self.block), len(recording)]
        return [recording.rows(a, b) for a, b in pairwise(edges)]

    def renamed(self, recording: Recording) -> Recording:
        """Return a recording in which successors have the names of the variables they follow.

        From the row in which the followed variable is back, its successor keeps its own name.
        """
        code_of = {name: code for code, name in enumerate(recording.names)}
        if not any(name in code_of or old in code_of for name, (old, _) in self.heirs.items()):
            return recording
        names, codes, rows = list(recording.names), recording.codes.copy(), recording.row_numbers
        for name, (old, _) in list(self.heirs.items()):
            if old not in code_of:
                code_of[old] = len(names)
                names.append(old)
            back = rows[recording.codes == code_of[old]]
            if len(back):
                del self.heirs[name]
            until = int(back[0]) if len(back) else len(recording)
            mine = (recording.codes == code_of.get(name, -1)) & (rows < until)
            codes[mine] = code_of[old]
        return Recording.from_observations(
            recording.times, rows, codes, recording.values, tuple(names), recording.notes
        )

    def take(self, recording: Recording, rows: NDArray[np.float32]) -> None:
        """Store the next rows; decide about newcomers at the end of a block.

        ``recording`` holds the rows as renamed, ``rows`` (n, at least C) the same rows scaled.
        """
        n, size = len(rows), len(self.ring)
        kept = rows[max(0, n - size) :, : len(self.names)]
        self.ring[(self.n_rows + n - len(kept) + np.arange(len(kept))) % size] = kept
        if self.watched or not self._familiar.issuperset(recording.names):
            self._watch(recording)
        self.n_rows += n
        if self.watched and self.n_rows % self.block == 0:
            self._decide()

    def names_in(self, row: int) -> dict[str, str]:
        """Return the current name of each variable that has a successor in a row, by old name."""
        return {old: name for name, (old, since) in self.heirs.items() if since <= row}

    def to_arrays(self) -> tuple[NDArray[np.float32], dict[str, Any]]:
        """Return an array and a JSON-serializable header from which :meth:`restore` continues."""
        return self.ring, {
            "n_rows": self.n_rows,
            "heirs": {name: list(whom) for name, whom in self.heirs.items()},
            "watched": {name: list(one) for name, one in self.watched.items()},
            "met": list(self.met),
        }

    def restore(self, ring: NDArray[np.float32], header: Mapping[str, Any]) -> None:
        """Restore the state that :meth:`to_arrays` returned."""
        if ring.shape != self.ring.shape:
            raise ValueError(f"rows of the shape {ring.shape}, not {self.ring.shape}")
        self.ring, self.n_rows = ring.copy(), int(header["n_rows"])
        self.heirs = {name: (str(old), int(at)) for name, (old, at) in header["heirs"].items()}
        self.watched = {
            name: _Newcomer(int(first), list(times), list(values))
            for name, (first, times, values) in header["watched"].items()
        }
        self.met = dict.fromkeys(header["met"])
        self._familiar = {*self.names, *self.met}

    # ------------------------------------------------------------------ watching

    def _watch(self, recording: Recording) -> None:
        """Store observations of newcomers, in the order of their rows, then of their names."""
        wanted = [name in self.watched or name not in self._familiar for name in recording.names]
        of = np.flatnonzero(np.array(wanted, bool)[recording.codes])
        stamps = recording.times.astype(np.float64)
        if recording.times.dtype.kind == "M":
            stamps /= 1e9
        numbers = recording.row_numbers
        for i in of.tolist():  # rows ascend, and so do names in a row
            name, row = recording.names[recording.codes[i]], int(numbers[i])
            if name not in self._familiar:
                self._meet(name, self.n_rows + row)
            if name in self.watched:
                self.watched[name].times.append(float(stamps[row]))
                self.watched[name].values.append(float(recording.values[i]))

    def _meet(self, name: str, row: int) -> None:
        if len(self.met) >= 2 * MOST_REMEMBERED:
            self.met = dict.fromkeys([*list(self.met)[-MOST_REMEMBERED:], *self.watched])
            self._familiar = {*self.names, *self.met}
        self.met[name] = None
        self._familiar.add(name)
        if len(self.watched) < MOST_WATCHED and not self._is_member(name):
            self.watched[name] = _Newcomer(row, [], [])

    # ------------------------------------------------------------------ deciding

    def _decide(self) -> None:
        """Decide which watched newcomers, present for at least a span, follow which variables."""
        n, size = self.n_rows, len(self.ring)
        rows = self.ring[np.arange(n - size, n) % size]  # row i is number n - size + i
        is_seen = ~np.isnan(rows)
        last = n - 1 - is_seen[::-1].argmax(axis=0)
        last[~is_seen.any(axis=0) | ~self._can_be_followed] = -size
        pairs = []
        for name, one in self.watched.items():
            if n - one.first < self.span:
                continue
            silent = np.flatnonzero((last < one.first) & (last >= one.first - self.span))
            alike = sorted((-_alike(name, self.names[j]), j) for j in silent.tolist())
            for likeness, j in alike[:MOST_COMPARED]:
                before = rows[: one.first - n + size, j]
                before, after = before[~np.isnan(before)][-self.span :], self._scaled(j, one)
                if -likeness < SETTINGS.majority or min(len(before), len(after)) < LEAST_VALUES:
                    continue
                apart = np.abs(_quantiles(before) - _quantiles(after)).mean() / self._limit(j)
                if apart <= 1.0:
                    pairs.append((likeness, float(apart), name, j))
        for _, _, name, j in sorted(pairs):
            is_followed = any(whom == (self.names[j], n) for whom in self.heirs.values())
            if name in self.watched and not is_followed:
                self._follow(name, self.names[j])
        for name, one in list(self.watched.items()):
            if n - one.first >= GIVEN_UP * self.span:
                del self.watched[name]

    def _follow(self, name: str, old: str) -> None:
        self.heirs = {k: whom for k, whom in self.heirs.items() if whom[0] != old}
        self.heirs[name] = old, self.n_rows
        del self.watched[name]

    def _scaled(self, j: int, one: _Newcomer) -> NDArray[np.float64]:
        """Return a newcomer's latest values, scaled like those of variable j."""
        scaling, at = self._scaling, self._at[self.names[j]]
        values, times = np.array(one.values[-self.span :]), np.array(one.times[-self.span :])
        if scaling.counter[at]:
            steps = np.diff(values)
            values = np.where(steps >= 0, steps, values[1:]) / np.diff(times)
        scaled: NDArray[np.float64] = (values - scaling.centre[at]) / scaling.spread[at]
        return np.clip(scaled, -SETTINGS.clip, SETTINGS.clip)

    def _limit(self, j: int) -> float:
        """Return how far the quantiles of variable j may differ between consecutive spans."""
        if j not in self._limits:
            seen = self._reference[~np.isnan(self._reference[:, j]), j]
            n = len(seen) // self.span
            spans = _quantiles(seen[: n * self.span].reshape(n, self.span))
            apart = np.abs(np.diff(spans, axis=0)).mean(axis=1)
            usual = float(np.quantile(apart, 1.0 - SETTINGS.tail_share)) if len(apart) else 0.0
            self._limits[j] = max(usual, MIN_LIMIT)
        return self._limits[j]


def _quantiles(values: NDArray[Any]) -> NDArray[np.float64]:
    """Return (..., Q) quantiles of (..., n) values; 0 if there are none."""
    shares = (np.arange(QUANTILES) + 0.5) / QUANTILES
    if not values.size:
        return np.zeros((*values.shape[:-1], QUANTILES))
    return np.moveaxis(np.quantile(values.astype(np.float64), shares, axis=-1), 0, -1)


def _alike(one: str, other: str) -> float:
    """Return the length of the common beginning and end, as a share of the shorter name.

    Examples
    --------
    >>> _alike("pod-a1/cpu", "pod-b22/cpu"), _alike("cpu", "cpu~7f"), _alike("cpu", "mem")
    (0.8, 1.0, 0.0)
    """
    n = min(len(one), len(other))
    first = next((i for i in range(n) if one[i] != other[i]), n)
    last = next((i for i in range(n - first) if one[-1 - i] != other[-1 - i]), n - first)
    return (first + last) / max(n, 1)
