"""Presence: whether more variables of one member fell silent at once than is routine.

In: which variables were observed in each row. Out: the surprise at the largest group of variables
that fell silent within a window, given how often variables do so by themselves.
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from smkc.evidence.reference._loops import poisson_surprises
from smkc.evidence.reference.contract import Block
from smkc.evidence.reference.memory import Memory
from smkc.recording import Identity, parse

__all__ = ["Presence", "PresencePart", "groups_of"]

# Before anything is known a variable is taken to fall silent once in so many windows; the past
# counts as that many windows' worth of rows.
PRIOR_WINDOWS = 50

_MEMBER = re.compile(r"[/|]")


@dataclass(frozen=True, kw_only=True, eq=False)
class Presence:
    """How often variables fall silent.

    Parameters
    ----------
    window
        w, rows within which silence counts as common.
    groups
        (G, C) bool: who belongs together; all variables are the first group.
    rate
        how often a variable falls silent, a row.
    """

    window: int
    groups: NDArray[np.bool_]
    rate: float

    @classmethod
    def fit(cls, rows: NDArray[np.float32], names: Sequence[str], window: int) -> "Presence":
        """Learn from the reference's own churn."""
        is_seen = ~np.isnan(rows)
        n_silent = int((is_seen[:-1] & ~is_seen[1:]).sum())
        prior = PRIOR_WINDOWS * window
        n_variables = rows.shape[1]
        rate = (n_silent + n_variables) / (n_variables * (prior + max(len(rows) - 1, 0)))
        return cls(window=window, groups=groups_of(names), rate=max(rate, 1.0 / prior))

    @property
    def name(self) -> str:
        """What an alert says that spoke."""
        return "presence"

    def start(self, before: Block, memory: Memory) -> "PresencePart":
        """Return the evidence at the moment after the last of the rows ``before``, if any."""
        return PresencePart(self, before, memory)


class PresencePart:
    """Who was there lately, and how often variables fell silent."""

    def __init__(self, fitted: Presence, before: Block, memory: Memory) -> None:
        self.fitted = fitted
        self.memory = memory
        self.missing = np.zeros((memory.size, fitted.groups.shape[1]), bool)
        n_variables = fitted.groups.shape[1]
        self.latest = np.zeros(n_variables, bool)
        if len(before.rows):
            self.latest = ~np.isnan(before.rows[-1])
        self.silent = np.zeros((fitted.window - 1, n_variables), bool)
        self.rate = np.array([fitted.rate])

    def push(self, block: Block) -> NDArray[np.float64]:
        """Take rows in; return (n, 2) surprises, both readings the same."""
        fitted = self.fitted
        n, w = len(block.rows), fitted.window
        is_seen = np.concatenate([self.latest[None], ~np.isnan(block.rows)])
        if is_seen.all() and not self.silent.any():
            return self._routine(n)
        silent = np.concatenate([self.silent, is_seen[:-1] & ~is_seen[1:]])
        # Those that have come back by now are not missing.
        recent = np.zeros(block.rows.shape, bool)
        for lag in range(w):
            recent |= silent[lag : lag + n]
        recent &= ~is_seen[1:]
        surprise, which = np.empty(n), np.empty(n, np.int64)
        onsets = silent[w - 1 :].sum(axis=1).astype(np.float64)
        n_there = is_seen[:-1].sum(axis=1).astype(np.float64)
        memory = float(PRIOR_WINDOWS * w)
        poisson_surprises(
            recent, fitted.groups, onsets, n_there, w, memory, self.rate, surprise, which
        )
        self.latest, self.silent = is_seen[-1], silent[n:]
        self.missing[self.memory.places(n)] = recent & fitted.groups[which]
        return np.stack([surprise, surprise], axis=1)

    def _routine(self, n: int) -> NDArray[np.float64]:
        """Take n rows in at which nothing is missing."""
        rate, memory = float(self.rate[0]), float(PRIOR_WINDOWS * self.fitted.window)
        for _ in range(n):
            rate = max(rate - rate / memory, 1.0 / memory)
        self.rate[0] = rate
        self.missing[self.memory.places(n)] = False
        return np.zeros((n, 2))

    def made(self, places: NDArray[np.int64]) -> NDArray[np.float64]:
        """(n, C) 1 for those of the group that fell silent."""
        return self.missing[places].astype(np.float64)

    def refresh(self) -> None:
        """Do nothing: rates follow row by row."""

    def to_arrays(self) -> dict[str, NDArray[Any]]:
        """Return what :meth:`restore` needs to go on exactly."""
        return {
            "latest": self.latest,
            "silent": self.silent,
            "rate": self.rate,
            "missing": self.missing,
        }

    def restore(self, arrays: Mapping[str, NDArray[Any]]) -> None:
        """Take over what :meth:`to_arrays` gave."""
        for key in ("latest", "silent", "rate", "missing"):
            setattr(self, key, arrays[key].copy())


def groups_of(names: Sequence[str]) -> NDArray[np.bool_]:
    """(G, C) who belongs together: all, each family, and each member by a label or a path.

    Examples
    --------
    >>> groups_of(["a/cpu", "a/mem", "b/cpu"]).astype(int).tolist()
    [[1, 1, 1], [1, 1, 0]]
    """
    identity = Identity()
    members: dict[tuple[str, str], list[int]] = {}
    for at, name in enumerate(names):
        keys = {("family", identity.family(name))}
        parts = parse(name)
        if parts is not None and parts[1]:
            keys |= {(label, value) for label, value in parts[1].items()}
        elif _MEMBER.search(name):
            keys.add(("path", _MEMBER.split(name)[0]))
        for key in keys:
            members.setdefault(key, []).append(at)
    sets = {tuple(who) for who in members.values() if 1 < len(who) < len(names)}
    groups = np.zeros((1 + len(sets), len(names)), bool)
    groups[0] = True
    for row, who in enumerate(sorted(sets), start=1):
        groups[row, list(who)] = True
    return groups
