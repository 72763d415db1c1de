"""Stream of evidences: the same scores as for a whole recording, to the bit, row by row.

In: a fitted state and one row after another. Out: the score of the row, and its p-value under what
was normal when it came. Memory is bounded, and a row's cost does not grow.
"""

from collections.abc import Iterable, Mapping
from hashlib import sha256
from itertools import compress
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from smkc.decide import Cause
from smkc.errors import InputError
from smkc.evidence.now import LoudVariable, loudest_of
from smkc.evidence.reference import EvidenceScores, EvidenceState
from smkc.evidence.wording import causes_of
from smkc.recording import Recording, canonical
from smkc.stream import Stream, row_values

if TYPE_CHECKING:
    from smkc.evidence.fitted import EvidenceFitted

__all__ = ["EvidenceStream"]

# Spellings of names that are kept; past that the stream forgets all and starts collecting anew.
MAX_SPELLINGS = 65_536


class EvidenceStream(Stream):
    """Scores a live recording row by row; made by :meth:`smkc.Detector.stream`.

    Examples
    --------
    >>> import smkc
    >>> rng = np.random.default_rng(0)
    >>> reference = {"time": np.arange(600), "cpu": rng.normal(size=600)}
    >>> live = smkc.Detector().fit(reference).stream()
    >>> quiet = [live.push(600 + t, {"cpu": rng.normal()}) for t in range(20)]
    >>> live.push(620, {"cpu": 40.0}) > max(quiet)
    True
    """

    kind = "evidence stream"

    def __init__(self, fitted: "EvidenceFitted") -> None:
        super().__init__(fitted.window)
        self._fitted = fitted
        self._state: EvidenceState = fitted.known.start()
        self._latest_p_value = float("nan")
        self._name_of: dict[str, str] = {}
        # How the latest row spelled its names, the same in order, and where each was.
        self._spelled: tuple[str, ...] | None = None
        self._names: tuple[str, ...] = ()
        self._order = np.empty(0, np.int64)

    def _push(self, stamp: Any, observations: Mapping[str, float | None]) -> float:
        values = row_values(observations)
        spelled = tuple(observations)
        if spelled != self._spelled:
            self._names, self._order = self._laid_out(spelled)
            self._spelled = spelled
        with np.errstate(over="ignore", invalid="ignore"):
            kept = values.astype(np.float32)[self._order]
        names, is_seen = self._names, np.isfinite(kept)
        if not is_seen.all():
            names, kept = tuple(compress(names, is_seen)), kept[is_seen]
        n = len(kept)
        ends, codes = np.array([0, n]), np.arange(n, dtype=np.int32)
        row = Recording(np.array([stamp]), ends, codes, kept, names)
        return float(self.push_rows(row).totals[0])

    def _laid_out(self, spelled: tuple[str, ...]) -> tuple[tuple[str, ...], NDArray[np.int64]]:
        """Return names in canonical spelling and order, and where each was in the row."""
        names = self._canonical(spelled)
        if len(set(names)) < len(names):
            raise InputError(
                "a row names one variable twice, with its labels in different order; name each "
                f"variable once (row of {len(names)}, starting with {names[0]!r})"
            )
        order = np.array(sorted(range(len(names)), key=names.__getitem__), np.int64)
        return tuple(names[at] for at in order), order

    def _canonical(self, spelled: Iterable[str]) -> list[str]:
        """Return names in canonical spelling; those of earlier rows are at hand."""
        try:
            return list(map(self._name_of.__getitem__, spelled))
        except (KeyError, TypeError):
            if len(self._name_of) > MAX_SPELLINGS:
                self._name_of.clear()
            self._name_of |= {name: _name(name) for name in spelled if name not in self._name_of}
            return list(map(self._name_of.__getitem__, spelled))

    def push_rows(self, rows: Recording) -> EvidenceScores:
        """Take the next rows of a recording; return what the evidences say of each.

        The same as row by row, to the bit, and quicker.
        """
        scored = self._state.push_rows(rows)
        if len(rows):
            self._last_time = rows.times[-1]
            self._score = float(scored.totals[-1])
            self._latest_p_value = float(scored.p_values[-1])
        return scored

    def causes(self, first: int, last: int, rows: Recording) -> list[Cause]:
        """Return the causes of rows first to last - 1, counted from the stream's first.

        They must be among the last :attr:`memory` rows. ``rows`` are those rows, and those of a
        window before, as they were pushed: the causes' words speak of them. A surprise is held for
        two windows: the scores of row n were made by rows n - 2 ``window`` + 2 to n.
        """
        return causes_of(self._state.blame(first, last), rows, self._fitted.known)

    def loudest(self, row: Recording, n: int) -> tuple[LoudVariable, ...]:
        """Return at most n variables that are most unusual by themselves, the loudest first.

        ``row`` is the latest one as it was pushed.
        """
        said = self._state.loudest(self.n_rows - 1, self.n_rows)
        return loudest_of(said, row, self._fitted.known, n)

    def accept(self, first: int, last: int) -> None:
        """Say that rows first to last - 1, counted from the stream's first, were normal."""
        self._state.accept(first, last)

    @property
    def memory(self) -> int:
        """How many of the latest rows are remembered."""
        return self._fitted.known.choices.memory

    @property
    def block(self) -> int:
        """Rows after which what was accepted as normal is taken up."""
        return self._fitted.known.choices.block

    @property
    def n_rows(self) -> int:
        """How many rows were pushed so far."""
        return self._state.n_rows

    def _p_value(self) -> float:
        return self._latest_p_value

    def _fingerprint(self) -> str:
        arrays, header = self._fitted.to_arrays()
        digest = sha256(repr(header).encode())
        for name in sorted(arrays):
            digest.update(name.encode())
            digest.update(np.ascontiguousarray(arrays[name]).data)
        return digest.hexdigest()

    def _to_arrays(self) -> tuple[dict[str, NDArray[Any]], dict[str, Any]]:
        arrays, header = self._state.to_arrays()
        return arrays, {"state": header}

    def _restore(self, arrays: Mapping[str, NDArray[Any]], header: Mapping[str, Any]) -> None:
        self._state = self._fitted.known.start().restored(arrays, header["state"])
        self._last_time = self._state.last_time


def _name(name: Any) -> str:
    if not isinstance(name, str):
        raise InputError(f"a variable is called {name!r}; names are text")
    return canonical(name)
