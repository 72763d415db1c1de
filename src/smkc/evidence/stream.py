"""Stream of the default detector: the scores of a whole recording, row by row, equal to the bit.

In: a fitted detector and one row after another. Out: the score of each row, and its p-value under
what was normal when the row came. Memory is bounded, and the time per row does not grow.
"""

from collections.abc import Iterable, Mapping
from hashlib import sha256
from itertools import compress
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from smkc.decide import Cause
from smkc.errors import InputError
from smkc.evidence.causes.wording import causes_of
from smkc.evidence.now import LoudVariable, loudest_of
from smkc.evidence.state import EvidenceScores, EvidenceState
from smkc.recording import Recording, canonical
from smkc.stream import Stream, row_values

if TYPE_CHECKING:
    from smkc.evidence.fitted import EvidenceFitted

# Number of name spellings that are cached; when there are more, the cache is cleared.
MAX_SPELLINGS = 65_536


class EvidenceStream(Stream):
    """Stream that scores a live recording row by row; made by :meth:`smkc.Detector.stream`.

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
        # Names of the latest row as given, in canonical order, and the position of each as given.
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
        """Return names in canonical spelling and order, and the position of each in the row."""
        names = self._canonical(spelled)
        if len(set(names)) < len(names):
            raise InputError(
                "a row names one variable twice, with its labels in different order; name each "
                f"variable once (row of {len(names)}, starting with {names[0]!r})"
            )
        order = np.array(sorted(range(len(names)), key=names.__getitem__), np.int64)
        return tuple(names[at] for at in order), order

    def _canonical(self, spelled: Iterable[str]) -> list[str]:
        """Return names in canonical spelling; the spellings of earlier rows are cached."""
        try:
            return list(map(self._name_of.__getitem__, spelled))
        except (KeyError, TypeError):
            if len(self._name_of) > MAX_SPELLINGS:
                self._name_of.clear()
            self._name_of |= {name: _name(name) for name in spelled if name not in self._name_of}
            return list(map(self._name_of.__getitem__, spelled))

    def push_rows(self, rows: Recording) -> EvidenceScores:
        """Score the next rows of a recording.

        The result is the same as for pushing row by row, to the last bit, but takes less time.
        """
        scored = self._state.push_rows(rows)
        if len(rows):
            self._last_time = rows.times[-1]
            self._score = float(scored.totals[-1])
            self._latest_p_value = float(scored.p_values[-1])
        return scored

    def causes(self, first: int, last: int, rows: Recording) -> list[Cause]:
        """Return the causes of rows first to last - 1, counted from the stream's first row.

        These must be among the last :attr:`memory` rows. ``rows`` are the same rows and those of
        the window before, as they were pushed; the details of the causes describe them. A score is
        held for 2 windows: the score of row n depends on rows n - 2 ``window`` + 2 to n.
        """
        return causes_of(self._state.blame(first, last), rows, self._fitted.known)

    def loudest(self, row: Recording, n: int) -> tuple[LoudVariable, ...]:
        """Return at most n variables that are most unusual by themselves, the loudest first.

        ``row`` is the latest row, as it was pushed.
        """
        said = self._state.loudest(self.n_rows - 1, self.n_rows)
        return loudest_of(said, row, self._fitted.known, n)

    def accept(self, first: int, last: int) -> None:
        """Accept rows first to last - 1, counted from the stream's first row, as normal.

        What was loud in them is muted until it becomes quiet again.
        """
        self._state.accept(first, last)

    @property
    def memory(self) -> int:
        """Number of latest rows that are remembered."""
        return self._fitted.known.choices.memory

    @property
    def block(self) -> int:
        """Rows per block; rows are scored in blocks counted from the stream's first row."""
        return self._fitted.known.choices.block

    @property
    def n_rows(self) -> int:
        """Number of rows pushed so far."""
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
