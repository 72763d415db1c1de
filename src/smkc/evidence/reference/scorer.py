"""Scorer: blocks of rows -> each evidence's surprise, joined, and the decision's p-values.

In: rows, a block of the grid at a time. Out: scores that depend on these rows and earlier ones
alone, however the rows were cut into calls.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields
from typing import Any

import numpy as np
from numpy.typing import NDArray

from smkc.evidence.reference._loops import hold
from smkc.evidence.reference.budget import Budget
from smkc.evidence.reference.choices import Choices
from smkc.evidence.reference.components import ComponentsPart
from smkc.evidence.reference.contract import Block, Evidence, Ring
from smkc.evidence.reference.nulls import Nulls, joined, most_nats
from smkc.evidence.reference.saving import prefixed, under
from smkc.evidence.variables import N_WAYS, Heard, Loudest, Tails, VariableQuestions

__all__ = ["Normal", "Scored", "Scorer", "added_by_loudest", "held"]

# How much the three loudest variables count in the score, beside the joined evidences.
LOUDEST_WEIGHT, N_LOUDEST = 0.2, 3


@dataclass(frozen=True, kw_only=True, eq=False)
class Normal:
    """What normal rows look like that were not fitted on.

    Parameters
    ----------
    statistics
        (E, n) of the evidences, NaN where one has none.
    totals
        (n,) scores of the same rows, some of them.
    n_independent
        how many rows these stand for, counting a window's as one.
    system
        the tail of the evidences' joined surprise.
    """

    statistics: NDArray[np.float64]
    totals: NDArray[np.float64]
    n_independent: float
    system: Tails


@dataclass(frozen=True, kw_only=True, eq=False)
class Scored:
    """What is said of (n,) rows.

    ``statistics`` and ``nats`` (n, E) of the evidences and their surprises; (n,) ``scores`` of the
    joined evidences and ``loudest`` of the loudest variables; ``p_values`` (n,); ``marks`` (n,)
    what each row is to an alert; ``residuals`` (n, C) what other variables leave unexplained.
    """

    statistics: NDArray[np.float64]
    nats: NDArray[np.float64]
    scores: NDArray[np.float64]
    loudest: NDArray[np.float64]
    p_values: NDArray[np.float64]
    marks: NDArray[np.int8]
    residuals: NDArray[np.float32]


class Scorer:
    """The evidences at one moment of a recording.

    Parameters
    ----------
    evidences, choices
        of the model.
    before
        rows before the first; there may be none.
    normal, variables
        what is normal to the evidences, and what is asked of single variables; None while that is
        being found out.
    """

    def __init__(
        self,
        evidences: Sequence[Evidence],
        choices: Choices,
        before: Block,
        normal: Normal | None = None,
        variables: VariableQuestions | None = None,
    ) -> None:
        self.choices = choices
        self.ring = Ring(choices.memory)
        self.parts = [evidence.start(before, self.ring) for evidence in evidences]
        self.relation = next(part for part in self.parts if isinstance(part, ComponentsPart))
        self.normal = normal
        self.system = Loudest([True], 1)
        self.budget = Budget(N_WAYS)
        self.variables = (
            None
            if variables is None
            else variables.start(before.values, before.clocks, self.ring.size)
        )
        # The latest rows' joined surprises, and the nats of the rows in the ring.
        self.recent = np.zeros(2 * choices.window - 2)
        self.said = np.zeros((self.ring.size, len(evidences)))
        self.most_nats = np.inf
        if normal is not None:
            self.nulls = Nulls.of(normal.statistics)
            self.most_nats = most_nats(normal.n_independent * choices.window)

    @property
    def n_rows(self) -> int:
        """How many rows were scored so far."""
        return self.ring.n_rows

    def push(self, rows: Block) -> Scored:
        """Score rows, cut at the grid's blocks."""
        parts: list[Scored] = []
        at, n, size = 0, len(rows.rows), self.choices.block
        while at < n or not parts:
            end = min(n, at + size - self.n_rows % size)
            parts.append(self._push(rows.part(slice(at, end))))
            at = end
        if len(parts) == 1:
            return parts[0]
        names = [field.name for field in fields(Scored)]
        return Scored(**{k: np.concatenate([getattr(p, k) for p in parts]) for k in names})

    def _push(self, block: Block) -> Scored:
        n = len(block.rows)
        statistics = np.stack([part.push(block) for part in self.parts], axis=1)
        nats, loudest, p_values = np.zeros(statistics.shape), np.zeros(n), np.ones(n)
        residuals, marks = self.relation.residuals, np.zeros(n, np.int8)
        if self.normal is not None:
            nats = self.nulls.nats(statistics)
            # What alarms is not bounded, or short references could not tell a fault from a rare
            # row; what ranks is, or one evidence would decide alone.
            system = self._of_system(joined(nats), self.normal.system)
            nats = np.minimum(nats, self.most_nats)
            if self.variables is not None:
                n_related = self.variables.fitted.n_related
                heard = self.variables.push(
                    block.values, block.fresh_values, residuals[:, :n_related], block.clocks
                )
                loudest = added_by_loudest(heard, block.values.shape[1])
                marks = heard.marks
                surprises = self.budget.charge(np.maximum(heard.surprises, system))
                p_values = np.minimum(N_WAYS * np.exp(-surprises), 1.0)
        scores, self.recent = held(joined(nats), self.recent, self.choices.window)
        self.said[self.ring.places(n)] = nats
        self.ring.n_rows += n
        return Scored(
            statistics=statistics,
            nats=nats,
            scores=scores,
            loudest=loudest,
            p_values=p_values,
            marks=marks,
            residuals=residuals,
        )

    def _of_system(self, surprises: NDArray[np.float64], tail: Tails) -> NDArray[np.float64]:
        """(n,) surprise of the evidences' joined ones, while it lasts no longer than a fault."""
        nats = tail.nats(surprises[:, None].astype(np.float32))
        return self.system.push(nats[None], np.zeros(1)).surprises

    def accept(self, first: int, last: int) -> None:
        """Take what was loud in rows first to last - 1, by number, for normal from now on."""
        self.system.mute(np.flatnonzero(self.system.were_loud_since(first)))
        if self.variables is not None:
            self.variables.accept(first, last)

    # ------------------------------------------------------------------ who made it

    def made_by(self, first: int, last: int) -> list[NDArray[np.float64]]:
        """Return, for each evidence, (V,) the mean nats that each variable made in those rows."""
        places = np.arange(first, last) % self.ring.size
        out = []
        for e, part in enumerate(self.parts):
            made = part.made(places)
            whole = made.sum(axis=1, keepdims=True)
            shares = made / np.where(whole > 0, whole, 1.0)
            out.append((np.nan_to_num(self.said[places, e])[:, None] * shares).mean(axis=0))
        return out

    def mean_nats(self, first: int, last: int) -> NDArray[np.float64]:
        """(E,) mean surprise of each evidence in those rows, 0 where it had nothing to say."""
        places = np.arange(first, last) % self.ring.size
        mean: NDArray[np.float64] = np.nan_to_num(self.said[places]).mean(axis=0)
        return mean

    # ------------------------------------------------------------------ saving

    def to_arrays(self) -> dict[str, NDArray[Any]]:
        """Return what :meth:`restore` needs to go on exactly."""
        arrays = {"recent": self.recent, "said": self.said, "n_rows": np.array([self.n_rows])}
        arrays |= prefixed("system", self.system.to_arrays())
        arrays |= prefixed("budget", self.budget.to_arrays())
        if self.variables is not None:
            arrays |= prefixed("variables", self.variables.to_arrays())
        for e, part in enumerate(self.parts):
            arrays |= prefixed(f"part{e}", part.to_arrays())
        return arrays

    def restore(self, arrays: Mapping[str, NDArray[Any]]) -> None:
        """Take over what :meth:`to_arrays` gave."""
        self.ring.n_rows = int(arrays["n_rows"][0])
        self.recent = arrays["recent"].copy()
        self.said = arrays["said"].copy()
        self.system.restore(under("system", arrays))
        self.budget.restore(under("budget", arrays))
        if self.variables is not None:
            self.variables.restore(under("variables", arrays))
        for e, part in enumerate(self.parts):
            part.restore(under(f"part{e}", arrays))


def added_by_loudest(heard: Heard, n_columns: int) -> NDArray[np.float64]:
    """(n,) what the loudest of so many columns that the reference knows add to the scores."""
    # No more than the reference knows: newcomers in later rows must not change this one.
    top = heard.nats[:, : min(N_LOUDEST, n_columns)]
    added: NDArray[np.float64] = LOUDEST_WEIGHT * top.mean(axis=1, dtype=np.float64)
    return added


def held(
    together: NDArray[np.float64], before: NDArray[np.float64], window: int
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """(n,) scores of (n,) joined surprises: the largest of a window's, and the mean of that.

    A surprise is a window's, not a row's: it is held for as long as windows cover what made it.
    ``before`` (2 w - 2,) are the joined surprises before; returned anew for the next rows.
    """
    covered = np.concatenate([before, together])
    scores = np.empty(len(together))
    hold(covered, window, scores)
    return scores, covered[len(together) :]
