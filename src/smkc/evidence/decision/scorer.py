"""Scorer: the surprise of each evidence, the joined scores, and the p-values of rows.

In: consecutive rows, in calls of any size. Out: scores that depend on these and earlier rows only,
and not on how the rows were divided into calls.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields
from typing import Any

import numpy as np
from numpy.typing import NDArray

from smkc.evidence.choices import Choices
from smkc.evidence.columns.block import Block
from smkc.evidence.decision._loops import hold
from smkc.evidence.decision.budget import Budget
from smkc.evidence.decision.recent_median import RecentMedian
from smkc.evidence.saving import prefixed, under
from smkc.evidence.settings import SETTINGS
from smkc.evidence.system.components import ComponentsPart
from smkc.evidence.system.contract import Evidence, Ring
from smkc.evidence.system.nulls import Nulls, joined, most_nats
from smkc.evidence.variables import (
    N_LOOKS,
    LoudColumns,
    Tails,
    VariableQuestions,
    VariableState,
)


@dataclass(frozen=True, kw_only=True, eq=False)
class Normal:
    """Statistics and scores of normal rows that the evidences were not fitted on.

    Parameters
    ----------
    statistics
        (E, n) sample of the statistics of each evidence, NaN where it has fewer than n.
    scores
        (m,) sample of the scores of the same rows.
    n_independent
        number of windows that fit into these rows without overlap.
    system
        the tail of the joined surprise of all evidences.
    """

    statistics: NDArray[np.float64]
    scores: NDArray[np.float64]
    n_independent: float
    system: Tails


@dataclass(frozen=True, kw_only=True, eq=False)
class Scored:
    """Scores of n rows.

    Parameters
    ----------
    statistics, nats
        (n, E) statistic and surprise of each evidence.
    held, prompt
        (n,) the two parts of the scores, see :func:`parts_of_scores`.
    p_values
        (n,) p-value of each row.
    marks
        (n,) :class:`~smkc.decide.Mark` of each row.
    residuals
        (n, C) the part of each value that the other variables do not explain.
    """

    statistics: NDArray[np.float64]
    nats: NDArray[np.float64]
    held: NDArray[np.float64]
    prompt: NDArray[np.float64]
    p_values: NDArray[np.float64]
    marks: NDArray[np.int8]
    residuals: NDArray[np.float32]


class Scorer:
    """The state of all evidences and questions at one moment of a recording.

    Parameters
    ----------
    evidences, choices
        of the model.
    before
        rows before the first; there may be none.
    normal, variables
        what is normal for the evidences, and the questions asked of single variables. Both are None
        while the model is being fitted; surprises are then 0 and p-values 1.
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
        if variables is not None:
            before = variables.prepared(before)
        self.parts = [evidence.start(before, self.ring) for evidence in evidences]
        self.relation = next(part for part in self.parts if isinstance(part, ComponentsPart))
        self.normal = normal
        self.system = RecentMedian(2 * SETTINGS.lasting_rows)
        self.budget = Budget()
        self.variables: VariableState | None = None
        self.n_asked = 0
        if variables is not None:
            self.variables = variables.start(before, self.ring.size)
            self.n_asked = variables.n_asked
        # How unusual the latest rows were, and the nats of all rows in the ring.
        self.recent = no_rows_before()
        self.recent_nats = np.zeros((self.ring.size, len(evidences)))
        self.most_nats = np.inf
        if normal is not None:
            self.nulls = Nulls.of(normal.statistics)
            self.most_nats = most_nats(normal.n_independent * choices.window)

    @property
    def n_rows(self) -> int:
        """Number of rows scored so far."""
        return self.ring.n_rows

    def push(self, rows: Block) -> Scored:
        """Score the next rows, in blocks counted from the first row ever scored."""
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
        if self.variables is not None:
            block = self.variables.fitted.prepared(block)
        statistics = np.stack([part.push(block) for part in self.parts], axis=1)
        nats, loudest, p_values = np.zeros(statistics.shape), np.zeros(n), np.ones(n)
        residuals, marks = self.relation.residuals, np.zeros(n, np.int8)
        if self.normal is not None:
            nats = self.nulls.nats(statistics)
            # P-values use surprises without a cap; with it, a model with a short reference could
            # not tell a fault from a rare row. Scores use capped ones, so that no single evidence
            # decides alone.
            system = self._of_system(joined(nats), self.normal.system)
            nats = np.minimum(nats, self.most_nats)
            if self.variables is not None:
                n_related = self.variables.fitted.n_related
                loud = self.variables.push(block, residuals[:, :n_related])
                loudest = added_by_loudest(loud)
                marks = loud.marks
                surprises = joint_surprise(loud.surprises, system, self.n_asked)
                p_values = np.exp(-self.budget.charge(surprises))
        held, prompt, self.recent = parts_of_scores(joined(nats) + loudest, self.recent)
        self.recent_nats[self.ring.places(n)] = nats
        self.ring.n_rows += n
        if self.variables is not None and self.n_rows % self.choices.block == 0:
            self.variables.residents.settle()
        return Scored(
            statistics=statistics,
            nats=nats,
            held=held,
            prompt=prompt,
            p_values=p_values,
            marks=marks,
            residuals=residuals,
        )

    def _of_system(self, surprises: NDArray[np.float64], tail: Tails) -> NDArray[np.float64]:
        """Return (n,) surprises of the (n,) joined surprises, minus their recent median."""
        nats = tail.nats(surprises[:, None].astype(np.float32))[:, 0]
        return self.system.rise_above(nats.astype(np.float64))

    def accept(self, first: int, last: int) -> None:
        """Take what was loud in rows first to last - 1, by number, as normal from now on.

        For the joined surprise, the median of all rows since ``first`` becomes the usual one.
        """
        self.system.accept(self.n_rows - first)
        if self.variables is not None:
            self.variables.accept(first, last)

    # ------------------------------------------------------------------ contributions

    def made_by(self, first: int, last: int) -> list[NDArray[np.float64]]:
        """Return for each evidence (V,) the mean nats per row that each variable contributed.

        Rows are first to last - 1. The nats of a row are divided in proportion to the part of its
        statistic that each variable contributed.
        """
        places = np.arange(first, last) % self.ring.size
        out = []
        for e, part in enumerate(self.parts):
            made = part.made(places)
            whole = made.sum(axis=1, keepdims=True)
            shares = made / np.where(whole > 0, whole, 1.0)
            out.append((np.nan_to_num(self.recent_nats[places, e])[:, None] * shares).mean(axis=0))
        return out

    # ------------------------------------------------------------------ saving

    def to_arrays(self) -> dict[str, NDArray[Any]]:
        """Return the arrays that :meth:`restore` needs to continue exactly."""
        arrays = {
            "recent": self.recent,
            "recent_nats": self.recent_nats,
            "n_rows": np.array([self.n_rows]),
        }
        arrays |= prefixed("system", self.system.to_arrays())
        arrays |= prefixed("budget", self.budget.to_arrays())
        if self.variables is not None:
            arrays |= prefixed("variables", self.variables.to_arrays())
        for e, part in enumerate(self.parts):
            arrays |= prefixed(f"part{e}", part.to_arrays())
        return arrays

    def restore(self, arrays: Mapping[str, NDArray[Any]]) -> None:
        """Restore the state that :meth:`to_arrays` returned."""
        self.ring.n_rows = int(arrays["n_rows"][0])
        self.recent = arrays["recent"].copy()
        self.recent_nats = arrays["recent_nats"].copy()
        self.system.restore(under("system", arrays))
        self.budget.restore(under("budget", arrays))
        if self.variables is not None:
            self.variables.restore(under("variables", arrays))
        for e, part in enumerate(self.parts):
            part.restore(under(f"part{e}", arrays))


def joint_surprise(
    loudest: NDArray[np.float64], system: NDArray[np.float64], n_columns: int
) -> NDArray[np.float64]:
    """Return (n,) minus the logarithm of the joint p-value of the loudest column and the system.

    Two p-values are computed: that of the larger surprise alone, and that of both by Fisher's
    method, where the sum of two independent surprises exceeds s with probability (1 + s) exp(-s).
    The smaller one counts, doubled as the correction for two tests. The loudest column is itself 1
    of the ``n_columns`` columns of the system; the smaller surprise is therefore multiplied by
    1 - 1 / ``n_columns``.

    If both p-values were exact, the false-alarm rate would be exceeded by up to a third. That of
    the loudest column, however, is an upper bound, corrected for the number of columns as if they
    were independent.

    Notes
    -----
    R. A. Fisher, Statistical Methods for Research Workers, 4th edition (1932), section 21.1.

    Examples
    --------
    >>> joint_surprise(np.array([0.0, 8.0, 5.0]), np.array([0.0, 0.0, 5.0]), 100).round(2).tolist()
    [0.0, 7.31, 6.86]
    """
    larger, smaller = np.maximum(loudest, system), np.minimum(loudest, system)
    both = larger + (1.0 - 1.0 / max(n_columns, 1)) * smaller
    joint: NDArray[np.float64] = np.maximum(larger, both - np.log1p(both)) - np.log(N_LOOKS)
    return np.maximum(joint, 0.0)


def added_by_loudest(loud: LoudColumns) -> NDArray[np.float64]:
    """Return (n,) the part of the loudest column in the scores."""
    return SETTINGS.loudest_weight * loud.nats[:, 0].astype(np.float64)


def no_rows_before() -> NDArray[np.float64]:
    """Return the ``before`` of :func:`parts_of_scores` for the first rows of a recording."""
    return np.full(2 * SETTINGS.calm_rows - 2, np.nan)


def parts_of_scores(
    unusual: NDArray[np.float64], before: NDArray[np.float64]
) -> tuple[NDArray[np.float64], NDArray[np.float64], NDArray[np.float64]]:
    """Return (n,) the held part of scores, (n,) their prompt part, and the next rows' ``before``.

    A score is half of how ``unusual`` (n,) the row is by itself, its prompt part, and half of how
    unusual the rows around it are: the largest value of the last ``calm_rows`` rows, averaged over
    as many rows. Sharp scores take the held part from ``calm_rows`` - 1 rows later, so that it lies
    symmetrically around the row. ``before`` are the values of the rows before; NaN, for rows before
    the first, stands for the value of the first.

    Examples
    --------
    >>> held, prompt, _ = parts_of_scores(np.array([2.0, 2.0, 27.0]), no_rows_before())
    >>> held.tolist(), prompt.tolist()
    ([1.0, 1.0, 1.5], [1.0, 1.0, 13.5])
    """
    if len(unusual):
        before = np.where(np.isnan(before), unusual[0], before)
    covered = np.concatenate([before, unusual])
    held = np.empty(len(unusual))
    hold(covered, SETTINGS.calm_rows, held)
    return 0.5 * held, 0.5 * unusual, covered[len(unusual) :]
