"""Scorer: blocks of rows -> each evidence's surprise, joined, and what is normal by now.

In: rows, a block of the grid at a time. Out: scores that depend on these rows and earlier ones
alone, however the rows were cut into calls.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields
from typing import Any

import numpy as np
from numpy.typing import NDArray

from smkc.evidence.reference.choices import Choices
from smkc.evidence.reference.contract import Block, Evidence
from smkc.evidence.reference.levels import LevelPart
from smkc.evidence.reference.memory import Memory
from smkc.evidence.reference.nulls import JoinedNull, Nulls, joined
from smkc.evidence.reference.saving import prefixed, under

__all__ = ["Normal", "Scored", "Scorer"]

# A row whose p-value is below this is a suspect and is not learned from at once.
SUSPECT = 0.01

# Running nulls are renewed every so many windows, from every other row of half a window, once there
# are so many.
RENEW, LEAST_SAMPLE = 16, 32


@dataclass(frozen=True, kw_only=True, eq=False)
class Normal:
    """What normal rows look like that were not fitted on.

    Parameters
    ----------
    frozen, adaptive
        (E, n) statistics against the reference alone, and against what is normal by then; NaN
        where an evidence has none.
    scores
        (n,) scores of the same rows.
    """

    frozen: NDArray[np.float64]
    adaptive: NDArray[np.float64]
    scores: NDArray[np.float64]


@dataclass(frozen=True, kw_only=True, eq=False)
class Scored:
    """What is said of (n,) rows.

    ``statistics`` (n, E, 2) frozen and adaptive; ``nats`` (n, E, 2) their surprises; ``scores`` and
    ``p_values`` (n,); ``suspects`` (n,) bool.
    """

    statistics: NDArray[np.float64]
    nats: NDArray[np.float64]
    scores: NDArray[np.float64]
    p_values: NDArray[np.float64]
    suspects: NDArray[np.bool_]


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
    """

    def __init__(
        self,
        evidences: Sequence[Evidence],
        choices: Choices,
        before: Block,
        normal: Normal | None,
    ) -> None:
        self.choices = choices
        self.memory = Memory(choices, len(evidences))
        self.parts = [evidence.start(before, self.memory) for evidence in evidences]
        judge = next(part for part in self.parts if isinstance(part, LevelPart))
        self.memory.judge = judge.distances
        self.normal = normal
        # For the trailing mean, the joined surprises of the latest rows.
        self.recent = np.zeros(choices.window - 1)
        self.shares: list[NDArray[np.float32]] = [
            np.zeros((self.memory.size, 0), np.float32) for _ in evidences
        ]
        if normal is not None:
            self.frozen = Nulls.of(list(normal.frozen))
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
            parts.append(self._push(Block(*(array[at:end] for array in rows))))
            at = end
        if len(parts) == 1:
            return parts[0]
        names = [field.name for field in fields(Scored)]
        return Scored(**{k: np.concatenate([getattr(p, k) for p in parts]) for k in names})

    def _push(self, block: Block) -> Scored:
        memory = self.memory
        n = len(block.rows)
        answers = [part.push(block) for part in self.parts]
        statistics = np.stack([answer.statistics for answer in answers], axis=1)
        nats = np.zeros(statistics.shape)
        p_values = np.ones(n)
        if self.normal is not None:
            nats[:, :, 0] = self.frozen.nats(statistics[:, :, 0])
            nats[:, :, 1] = self.running.nats(statistics[:, :, 1])
        together = 0.5 * (joined(nats[:, :, 0]) + joined(nats[:, :, 1]))
        scores = self._smoothed(together)
        if self.normal is not None:
            p_values = self.joined_null.p_values(scores)
        suspects = p_values < SUSPECT
        self._write_down(nats[:, :, 1], [answer.parts for answer in answers])
        memory.take(np.column_stack([statistics[:, :, 1], scores]), suspects)
        if n and memory.n_rows % self.choices.block == 0:
            memory.end_block()
            for part in self.parts:
                part.refresh()
            if self.normal is not None and memory.n_rows % (RENEW * self.choices.window) == 0:
                self._renew()
        return Scored(
            statistics=statistics, nats=nats, scores=scores, p_values=p_values, suspects=suspects
        )

    def accept(self, first: int, last: int) -> None:
        """Count rows first to last, by number, as normal from now on."""
        self.memory.accept(first, last)
        for part in self.parts:
            part.refresh()
        self._renew()

    def _smoothed(self, together: NDArray[np.float64]) -> NDArray[np.float64]:
        """(n,) mean of a row's joined surprise and that of the window that ends there."""
        w, n = self.choices.window, len(together)
        covered = np.concatenate([self.recent, together])
        total = np.zeros(n)
        for lag in range(w):
            total += covered[lag : lag + n]
        self.recent = covered[n:]
        return 0.5 * (together + total / w)

    def _renew(self) -> None:
        """Let admitted rows' statistics join the reference's."""
        assert self.normal is not None
        memory = self.memory
        step = max(1, self.choices.window // 2)
        counted = memory.counts & (memory.status > 0)
        counted[np.arange(memory.size) % step > 0] = False
        latest = memory.statistics[counted]
        if len(latest) < LEAST_SAMPLE:
            latest = latest[:0]
        samples = [
            np.concatenate([known, more])
            for known, more in zip(self.normal.adaptive, latest.T[:-1], strict=True)
        ]
        self.running = Nulls.of(samples)
        scores = np.sort(np.concatenate([self.normal.scores, latest[:, -1]]))
        self.joined_null = JoinedNull(scores, len(scores) / self.choices.window)
        near = samples[0][~np.isnan(samples[0])]
        memory.reach = float(np.quantile(near, 1.0 - SUSPECT)) if len(near) else 0.0

    # ------------------------------------------------------------------ who made it

    def _write_down(self, nats: NDArray[np.float64], parts: Sequence[NDArray[np.float32]]) -> None:
        """Remember each variable's share of each evidence's surprise."""
        places = self.memory.places(len(nats))
        for e, made in enumerate(parts):
            clean = np.nan_to_num(made)
            whole = clean.sum(axis=1)
            weight = np.nan_to_num(nats[:, e]) / np.where(whole > 0, whole, 1.0)
            kept = self.shares[e]
            if kept.shape[1] < made.shape[1]:
                more = made.shape[1] - kept.shape[1]
                kept = self.shares[e] = np.pad(kept, ((0, 0), (0, more)))
            kept[places] = 0.0
            kept[places, : made.shape[1]] = clean * weight[:, None]

    def made_by(self, first: int, last: int) -> list[NDArray[np.float64]]:
        """Return, for each evidence, (V,) the nats that each variable made in those rows."""
        places = np.arange(first, last) % self.memory.size
        return [kept[places].sum(axis=0, dtype=np.float64) for kept in self.shares]

    # ------------------------------------------------------------------ saving

    def to_arrays(self) -> dict[str, NDArray[Any]]:
        """Return what :meth:`restore` needs to go on exactly."""
        arrays = prefixed("memory", self.memory.to_arrays()) | {"recent": self.recent}
        arrays |= {f"shares{e}": kept for e, kept in enumerate(self.shares)}
        if self.normal is not None:
            arrays |= {f"running.{k}": getattr(self.running, k) for k in _OF_NULLS}
            arrays["joined"] = self.joined_null.sample
        for e, part in enumerate(self.parts):
            arrays |= prefixed(f"part{e}", part.to_arrays())
        return arrays

    def restore(self, arrays: Mapping[str, NDArray[Any]]) -> None:
        """Take over what :meth:`to_arrays` gave."""
        self.memory.restore(under("memory", arrays))
        self.recent = arrays["recent"].copy()
        self.shares = [arrays[f"shares{e}"].copy() for e in range(len(self.parts))]
        if self.normal is not None:
            self.running = Nulls(**{k: arrays[f"running.{k}"] for k in _OF_NULLS})
            sample = arrays["joined"]
            self.joined_null = JoinedNull(sample, len(sample) / self.choices.window)
        for e, part in enumerate(self.parts):
            part.restore(under(f"part{e}", arrays))


_OF_NULLS = tuple(field.name for field in fields(Nulls))
