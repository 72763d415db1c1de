"""Scorer: blocks of rows -> each evidence's surprise, joined, and what is normal by now.

In: rows, a block of the grid at a time. Out: scores that depend on these rows and earlier ones
alone, however the rows were cut into calls.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields
from typing import Any

import numpy as np
from numpy.typing import NDArray

from smkc.evidence.reference.budget import Budget
from smkc.evidence.reference.choices import Choices
from smkc.evidence.reference.components import ComponentsPart
from smkc.evidence.reference.contract import Block, Evidence
from smkc.evidence.reference.levels import LevelPart
from smkc.evidence.reference.memory import Memory
from smkc.evidence.reference.nulls import JoinedNull, Nulls, joined, most_nats, upper_quantiles
from smkc.evidence.reference.saving import prefixed, under
from smkc.evidence.variables import Heard, Loudest, Tails, VariableQuestions

__all__ = ["Normal", "Scored", "Scorer", "added_by_loudest", "held", "of_system"]

# A row whose p-value is below this is a suspect and is not learned from at once.
SUSPECT = 0.01
BULK = 0.95

# What the whole system is asked: its joined surprise against the reference, which lasts as long as
# a state does, and against what is normal by now. They hardly differ and count as one question.
SYSTEM_IS_LASTING = (True, False)

# The system and the single variables share the budget of false alerts.
N_WAYS = 2

# How much the three loudest variables count in the score, beside the joined evidences.
LOUDEST_WEIGHT, N_LOUDEST = 0.2, 3

# The null of scores is renewed every so many windows, those of evidences less often, as they are
# dearer, and once there are so many rows.
RENEW, RENEW_EVIDENCES, LEAST_ROWS = 8, 16, 128


@dataclass(frozen=True, kw_only=True, eq=False)
class Normal:
    """What normal rows look like that were not fitted on.

    Parameters
    ----------
    frozen, adaptive
        (E, n) statistics against the reference alone, and against what is normal by then; NaN
        where an evidence has none.
    scores, totals
        (n,) scores of the same rows, some of them, by the joined evidences alone and with what
        the loudest variables add.
    n_independent
        how many rows these stand for, counting a window's as one.
    system
        tails of what the whole system is asked; see :func:`of_system`.
    """

    frozen: NDArray[np.float64]
    adaptive: NDArray[np.float64]
    scores: NDArray[np.float64]
    totals: NDArray[np.float64]
    n_independent: float
    system: Tails


@dataclass(frozen=True, kw_only=True, eq=False)
class Scored:
    """What is said of (n,) rows.

    ``statistics`` (n, E, 2) frozen and adaptive; ``nats`` (n, E, 2) their surprises; (n,)
    ``scores`` of the joined evidences and ``loudest`` of the loudest variables; ``p_values`` (n,);
    ``suspects`` (n,) bool; ``residuals`` (n, C) what other variables leave unexplained.
    """

    statistics: NDArray[np.float64]
    nats: NDArray[np.float64]
    scores: NDArray[np.float64]
    loudest: NDArray[np.float64]
    p_values: NDArray[np.float64]
    suspects: NDArray[np.bool_]
    residuals: NDArray[np.float32]


class Scorer:
    """The evidences at one moment of a recording, and what counts as normal by now.

    Parameters
    ----------
    evidences, choices
        of the model.
    before
        rows before the first; there may be none.
    normal
        None while it is being found out: there are no suspects then.
    variables
        what is asked of single variables; None while that is being found out.
    """

    def __init__(
        self,
        evidences: Sequence[Evidence],
        choices: Choices,
        before: Block,
        normal: Normal | None,
        variables: VariableQuestions | None = None,
    ) -> None:
        self.choices = choices
        self.memory = Memory(choices, len(evidences))
        self.parts = [evidence.start(before, self.memory) for evidence in evidences]
        judge = next(part for part in self.parts if isinstance(part, LevelPart))
        self.memory.judge = judge.distances
        self.relation = next(part for part in self.parts if isinstance(part, ComponentsPart))
        self.system = Loudest(SYSTEM_IS_LASTING, 1)
        self.budget = Budget(N_WAYS)
        self.variables = (
            None
            if variables is None
            else variables.start(before.values, before.clocks, self.memory.size)
        )
        self.normal = normal
        # The latest rows' joined surprises, as they alarm and as they rank.
        self.recent = np.zeros((2, 2 * choices.window - 2))
        self.in_nats = [evidence.name == "presence" for evidence in evidences]
        self.said = np.zeros((self.memory.size, len(evidences)))  # nats of the rows in memory
        self.most, self.threshold = np.inf, np.inf
        self.most_nats = np.inf
        if normal is not None:
            self.frozen = Nulls.of(normal.frozen, self.in_nats)
            self.most_nats = most_nats(normal.n_independent * choices.window)
            self._renew()

    @property
    def n_rows(self) -> int:
        """How many rows were scored so far."""
        return self.memory.n_rows

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
        memory = self.memory
        n = len(block.rows)
        statistics = np.stack([part.push(block) for part in self.parts], axis=1)
        nats = np.zeros(statistics.shape)
        p_values = np.ones(n)
        if self.normal is not None:
            nats[:, :, 0] = self.frozen.nats(statistics[:, :, 0])
            nats[:, :, 1] = self.running.nats(statistics[:, :, 1])
        # What alarms is not bounded, or short references could not tell a fault from a rare row;
        # what ranks is, or one evidence would decide alone.
        alarming = 0.5 * (joined(nats[:, :, 0]) + joined(nats[:, :, 1]))
        telling = alarming
        system = of_system(nats)
        if (nats > self.most_nats).any():
            nats = np.minimum(nats, self.most_nats)
            telling = 0.5 * (joined(nats[:, :, 0]) + joined(nats[:, :, 1]))
        window = self.choices.window
        alarms, self.recent[0] = held(alarming, self.recent[0], window)
        scores, self.recent[1] = held(telling, self.recent[1], window)
        suspects = np.zeros(n, bool)
        if self.normal is not None:
            suspects = self.joined_null.p_values(alarms) < SUSPECT
        loudest = np.zeros(n)
        residuals = self.relation.residuals
        if self.normal is not None and self.variables is not None:
            n_related = self.variables.fitted.n_related
            heard = self.variables.push(
                block.values, block.fresh_values, residuals[:, :n_related], block.clocks
            )
            loudest = added_by_loudest(heard, block.values.shape[1])
            surprises = np.maximum(heard.surprises, self._of_system(system, self.normal.system))
            p_values = np.minimum(N_WAYS * np.exp(-self.budget.charge(surprises)), 1.0)
        self.said[memory.places(n)] = nats[:, :, 1]
        memory.take(statistics[:, :, 1], alarms, suspects, self.most, self.threshold)
        if n and memory.n_rows % self.choices.block == 0:
            memory.end_block()
            for part in self.parts:
                part.refresh()
            n_windows = memory.n_rows // self.choices.window
            if self.normal is not None and n_windows % RENEW == 0:
                self._renew(with_evidences=n_windows % RENEW_EVIDENCES == 0)
        return Scored(
            statistics=statistics,
            nats=nats,
            scores=scores,
            loudest=loudest,
            p_values=p_values,
            suspects=suspects,
            residuals=residuals,
        )

    def _of_system(self, system: NDArray[np.float32], tails: Tails) -> NDArray[np.float64]:
        """(n,) surprise of what the whole system was asked."""
        nats = tails.nats(system)
        return self.system.push(np.ascontiguousarray(nats.T)[:, :, None], np.zeros(1)).surprises

    def accept(self, first: int, last: int) -> None:
        """Count rows first to last, by number, as normal from now on."""
        self.memory.accept(first, last)
        self.system.mute(np.flatnonzero(self.system.were_loud_since(first)))
        if self.variables is not None:
            self.variables.accept(first, last)
        for part in self.parts:
            part.refresh()
        self._renew()

    def _renew(self, *, with_evidences: bool = True) -> None:
        """Let the latest rows' scores, and statistics too, join the reference's."""
        assert self.normal is not None
        memory = self.memory
        step = max(1, self.choices.window // 2)
        is_known = (memory.status > 0) & (np.arange(memory.size) % step == 0)
        if with_evidences:
            is_told = memory.n_rows >= LEAST_ROWS
            latest = memory.statistics[is_known & memory.is_counted & is_told]
            samples = np.concatenate([self.normal.adaptive, latest.T], axis=1)
            self.running = Nulls.of(samples, self.in_nats)
            _, memory.reach = upper_quantiles(samples[0], BULK, 1.0 - SUSPECT)
        scores = np.sort(np.concatenate([self.normal.scores, memory.counted[is_known]]))
        n_windows = int(is_known.sum()) * step / self.choices.window
        self.joined_null = JoinedNull(scores, self.normal.n_independent + n_windows)
        # A suspect counts as if it stood as far beyond the threshold as that is beyond the bulk:
        # false alarms that come again raise the threshold step by step. In an episode that goes on
        # it counts up to the threshold, or a fault would hide the next.
        bulk, self.threshold = upper_quantiles(scores, BULK, 1.0 - SUSPECT)
        self.most = 2.0 * self.threshold - bulk

    # ------------------------------------------------------------------ who made it

    def made_by(self, first: int, last: int) -> list[NDArray[np.float64]]:
        """Return, for each evidence, (V,) the mean nats that each variable made in those rows."""
        places = np.arange(first, last) % self.memory.size
        out = []
        for e, part in enumerate(self.parts):
            made = part.made(places)
            whole = made.sum(axis=1, keepdims=True)
            shares = made / np.where(whole > 0, whole, 1.0)
            out.append((np.nan_to_num(self.said[places, e])[:, None] * shares).mean(axis=0))
        return out

    def mean_nats(self, first: int, last: int) -> NDArray[np.float64]:
        """(E,) mean surprise of each evidence in those rows, 0 where it had nothing to say."""
        places = np.arange(first, last) % self.memory.size
        mean: NDArray[np.float64] = np.nan_to_num(self.said[places]).mean(axis=0)
        return mean

    # ------------------------------------------------------------------ saving

    def to_arrays(self) -> dict[str, NDArray[Any]]:
        """Return what :meth:`restore` needs to go on exactly."""
        arrays = prefixed("memory", self.memory.to_arrays())
        arrays |= {"recent": self.recent, "said": self.said}
        arrays |= prefixed("system", self.system.to_arrays())
        arrays |= prefixed("budget", self.budget.to_arrays())
        if self.variables is not None:
            arrays |= prefixed("variables", self.variables.to_arrays())
        if self.normal is not None:
            arrays |= {f"running.{k}": getattr(self.running, k) for k in _OF_NULLS}
            arrays |= {"joined": self.joined_null.sample}
            arrays["scalars"] = np.array(
                [self.joined_null.n_independent, self.most, self.threshold]
            )
        for e, part in enumerate(self.parts):
            arrays |= prefixed(f"part{e}", part.to_arrays())
        return arrays

    def restore(self, arrays: Mapping[str, NDArray[Any]]) -> None:
        """Take over what :meth:`to_arrays` gave."""
        self.memory.restore(under("memory", arrays))
        self.recent = arrays["recent"].copy()
        self.said = arrays["said"].copy()
        self.system.restore(under("system", arrays))
        self.budget.restore(under("budget", arrays))
        if self.variables is not None:
            self.variables.restore(under("variables", arrays))
        if self.normal is not None:
            self.running = Nulls(**{k: arrays[f"running.{k}"] for k in _OF_NULLS})
            n_independent, self.most, self.threshold = arrays["scalars"].tolist()
            self.joined_null = JoinedNull(arrays["joined"], n_independent)
        for e, part in enumerate(self.parts):
            part.restore(under(f"part{e}", arrays))


def added_by_loudest(heard: Heard, n_columns: int) -> NDArray[np.float64]:
    """(n,) what the loudest of so many columns that the reference knows add to the scores."""
    # No more than the reference knows: newcomers in later rows must not change this one.
    top = heard.nats[:, : min(N_LOUDEST, n_columns)]
    added: NDArray[np.float64] = LOUDEST_WEIGHT * top.mean(axis=1, dtype=np.float64)
    return added


def of_system(nats: NDArray[np.float64]) -> NDArray[np.float32]:
    """(n, 2) joined surprise against the reference and against what is normal by now.

    ``nats`` (n, E, 2) are those of the evidences.
    """
    return np.stack([joined(nats[:, :, 0]), joined(nats[:, :, 1])], axis=1).astype(np.float32)


def held(
    together: NDArray[np.float64], before: NDArray[np.float64], window: int
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """(n,) scores of (n,) joined surprises: the largest of a window's, and the mean of that.

    A surprise is a window's, not a row's: it is held for as long as windows cover what made it.
    ``before`` (2 w - 2,) are the joined surprises before; returned anew for the next rows.
    """
    n = len(together)
    covered = np.concatenate([before, together])
    largest = covered[window - 1 :].copy()
    for lag in range(1, window):
        np.maximum(largest, covered[window - 1 - lag : len(covered) - lag], out=largest)
    total = np.zeros(n)
    for lag in range(window):  # the same order of addition for every row
        total += largest[lag : lag + n]
    return 0.5 * (largest[window - 1 :] + total / window), covered[n:]


_OF_NULLS = tuple(field.name for field in fields(Nulls))
