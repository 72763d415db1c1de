"""Stream of evidences: the same scores as for a whole recording, to the bit, row by row.

In: a fitted state and one row after another. Out: the score of the row, and its p-value under what
was normal when it came. Memory is bounded, and a row's cost does not grow.
"""

from collections.abc import Iterable, Mapping
from hashlib import sha256
from pathlib import Path
from typing import Any

import numpy as np

from smkc import model_file
from smkc.decide import Cause
from smkc.errors import InputError, ModelFileError
from smkc.evidence.reference import EvidenceScores, EvidenceState
from smkc.fitted import EvidenceFitted, causes_of
from smkc.recording import Recording, canonical
from smkc.stream.names import MOST_KNOWN_NAMES
from smkc.stream.row import next_time, row_values

__all__ = ["EvidenceStream"]


class EvidenceStream:
    """Scores a live recording row by row; made by :meth:`smkc.Detector.stream`.

    Examples
    --------
    >>> import smkc
    >>> rng = np.random.default_rng(0)
    >>> reference = {"time": np.arange(600), "cpu": rng.normal(size=600)}
    >>> live = smkc.Detector(detector="evidence").fit(reference).stream()
    >>> quiet = [live.push(600 + t, {"cpu": rng.normal()}) for t in range(20)]
    >>> live.push(620, {"cpu": 40.0}) > max(quiet)
    True
    """

    def __init__(self, fitted: EvidenceFitted) -> None:
        self._fitted = fitted
        self._state: EvidenceState = fitted.known.start()
        self._last_time: Any = None
        self._p_value: float | None = None
        self._name_of: dict[str, str] = {}

    def push(self, time: Any, observations: Mapping[str, float | None]) -> float:
        """Take the next row; return its score.

        A value of None, NaN or infinity counts as not observed.
        """
        stamp = next_time(time, self._last_time)
        values = row_values(observations)
        names = self._canonical(observations)
        if len(set(names)) < len(names):
            raise InputError(
                "a row names one variable twice, with its labels in different order; name each "
                f"variable once (row of {len(names)}, starting with {names[0]!r})"
            )
        with np.errstate(over="ignore", invalid="ignore"):
            kept = values.astype(np.float32)
        seen = np.flatnonzero(np.isfinite(kept))
        row = Recording.from_observations(
            np.array([stamp]), np.zeros(len(seen), np.int64), seen, kept[seen], tuple(names)
        )
        scored = self.push_rows(row)
        return float(scored.totals[0])

    def _canonical(self, spelled: Iterable[str]) -> list[str]:
        """Return names in canonical spelling; those of earlier rows are at hand."""
        try:
            return list(map(self._name_of.__getitem__, spelled))
        except (KeyError, TypeError):
            if len(self._name_of) > MOST_KNOWN_NAMES:
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
            self._p_value = float(scored.p_values[-1])
        return scored

    def causes(self, first: int, last: int, rows: Recording) -> list[Cause]:
        """Return the causes of rows first to last - 1, counted from the stream's first.

        They must be among the last :attr:`memory` rows. ``rows`` are those rows, and those of a
        window before, as they were pushed: the causes' words speak of them. A surprise is held for
        two windows: the scores of row n were made by rows n - 2 ``window`` + 2 to n.
        """
        return causes_of(self._state.blame(first, last), rows, self._fitted.known)

    def accept(self, first: int, last: int) -> None:
        """Say that rows first to last - 1, counted from the stream's first, were normal."""
        self._state.accept(first, last)

    @property
    def memory(self) -> int:
        """How many of the latest rows are remembered."""
        return self._fitted.known.choices.memory

    @property
    def window(self) -> int:
        """Rows a window."""
        return self._fitted.window

    @property
    def n_rows(self) -> int:
        """How many rows were pushed so far."""
        return self._state.n_rows

    @property
    def p_value(self) -> float | None:
        """P-value of the latest row; None before the first."""
        return self._p_value

    # ------------------------------------------------------------------ saving

    def save(self, path: str | Path, *, is_packed: bool = False) -> None:
        """Write the stream's state; ``detector.stream(resume=path)`` goes on exactly there.

        ``is_packed`` makes the file about half as long.
        """
        arrays, header = self._state.to_arrays()
        model_file.write(
            path,
            arrays,
            {"kind": "evidence stream", "model": _fingerprint(self._fitted), "state": header},
            is_packed=is_packed,
        )

    def resume(self, path: str | Path) -> "EvidenceStream":
        """Take over the state that :meth:`save` wrote for the same model."""
        arrays, header = model_file.read(path, may_be_packed=True)
        try:
            if header["kind"] != "evidence stream":
                raise ModelFileError(f"it holds a {header['kind']!r}, not a stream of evidences")
            if header["model"] != _fingerprint(self._fitted):
                raise ModelFileError("it was saved by a stream of another model")
            self._state = self._fitted.known.start().restored(arrays, header["state"])
            self._last_time = self._state.last_time
        except (KeyError, TypeError, ValueError) as error:
            raise ModelFileError(
                f"{path} cannot be resumed: {error}; start the stream afresh"
            ) from None
        return self


def _name(name: Any) -> str:
    if not isinstance(name, str):
        raise InputError(f"a variable is called {name!r}; names are text")
    return canonical(name)


def _fingerprint(fitted: EvidenceFitted) -> str:
    """Tell one model from another by what it learned."""
    arrays, header = fitted.to_arrays()
    digest = sha256(repr(header).encode())
    for name in sorted(arrays):
        digest.update(name.encode())
        digest.update(np.ascontiguousarray(arrays[name]).data)
    return digest.hexdigest()
