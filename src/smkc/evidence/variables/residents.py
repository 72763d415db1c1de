"""Residents: newcomers that stayed, judged by their own first rows.

In: values of newcomers in their own unit, row by row. Out: the surprise of each question about the
newcomers that have been observed in as many rows as the reference has. Their level, their tails and
their season are those of these rows, and stay as they are.
"""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from smkc.evidence.columns.block import Block, renewed_columns
from smkc.evidence.columns.fresh import MAX_LEARNED_ROWS
from smkc.evidence.saving import SavedState, flat, prefixed, rebuilt, under
from smkc.evidence.variables.questions import FROZEN, PAST_ROWS, QUESTIONS, Statistics
from smkc.evidence.variables.seasons import Seasons, Usual

if TYPE_CHECKING:
    from smkc.evidence.variables.model import VariableQuestions

NO_RESIDUALS = np.empty((0, 0), np.float32)


@dataclass(frozen=True, kw_only=True, eq=False)
class OfResidents:
    """What the questions say of m residents in n rows.

    Parameters
    ----------
    columns
        (m,) their numbers among the newcomers.
    nats, statistics
        (Q, n, m) surprises, and statistics as distances from the usual ones.
    n_questions
        (m,) number of questions asked of each.
    """

    columns: NDArray[np.int64]
    nats: NDArray[np.float32]
    statistics: NDArray[np.float32]
    n_questions: NDArray[np.int64]


class _Group:
    """Residents that were learned at the same time: what is normal for them, and their rows."""

    def __init__(self, columns: NDArray[np.int64], fitted: "VariableQuestions") -> None:
        self.columns = columns
        self.fitted = fitted
        self.statistics = Statistics(len(fitted.constant))
        self.are_here = np.ones(len(columns), bool)  # (m,) those whose column no other has by now

    @cached_property
    def _n_questions(self) -> NDArray[np.int64]:
        """(m,) number of questions asked of each resident, those about its season included."""
        asked = np.isfinite(self.fitted.frozen.longest).astype(np.int64)
        asked += sum(np.isfinite(t.start).any(axis=0) for t in self.fitted.tails.values())
        m = len(self.columns)
        of_each = asked[:m].copy()
        np.add.at(of_each, self.fitted.seasons.columns, asked[m:])
        return of_each

    def ask(self, newcomers: NDArray[np.float32], clocks: NDArray[np.float64]) -> OfResidents:
        """Return what the questions say of the next (n, F) values of newcomers.

        Of a value and its distance from the season, the more surprising counts.
        """
        fitted, m = self.fitted, len(self.columns)
        values = fitted.with_distances(newcomers.take(self.columns, axis=1), clocks)
        statistics = self.statistics.push(values)
        nats = np.stack(
            [tails.nats(some) for tails, some in zip(fitted.of_questions, statistics, strict=True)]
        )
        nats[FROZEN][fitted.frozen.are_at_edges(values)] = 0.0
        for question, some in zip(QUESTIONS, statistics, strict=True):
            if question.name in fitted.tails:
                some -= fitted.tails[question.name].centre.astype(np.float32)
        for at, column in enumerate(fitted.seasons.columns.tolist(), start=m):
            is_louder = nats[:, :, at] > nats[:, :, column]
            for both in (nats, statistics):
                both[:, :, column] = np.where(is_louder, both[:, :, at], both[:, :, column])
        here = np.flatnonzero(self.are_here)
        return OfResidents(
            columns=self.columns[here],
            nats=nats[:, :, here],
            statistics=statistics[:, :, here],
            n_questions=self._n_questions[here],
        )


# What is remembered of a newcomer that was never observed.
_EMPTY = {"values": np.nan, "counts": 0}


class Residents(SavedState):
    """The latest values of newcomers, and those that are residents by now.

    Parameters
    ----------
    known
        the questions fitted on the reference.
    """

    saved = ("values", "clocks", "counts", "oldest")

    def __init__(self, known: "VariableQuestions") -> None:
        self._known = known
        self.n_rows = min(known.n_rows, MAX_LEARNED_ROWS)
        self.groups: list[_Group] = []
        # The latest rows of all newcomers, in a ring, and the position of the oldest.
        self.values = np.full((self.n_rows, 0), np.nan, np.float32)
        self.clocks = np.zeros(self.n_rows)
        self.oldest = 0
        self.counts = np.zeros(0, np.int64)  # (F,) observations

    def push(self, block: Block) -> OfResidents:
        """Take the next rows of newcomers; return what the questions say of residents."""
        values, clocks = block.fresh_plain, block.clocks
        n, width = values.shape
        self.widen(width, _EMPTY)
        renewed = renewed_columns(block)
        self.forget(renewed, _EMPTY)
        for group in self.groups:
            group.are_here &= ~np.isin(group.columns, renewed)
        self.groups = [group for group in self.groups if group.are_here.any()]
        latest = slice(max(0, n - self.n_rows), n)
        places = (self.oldest + np.arange(n)[latest]) % self.n_rows
        self.values[places], self.clocks[places] = values[latest], clocks[latest]
        self.oldest = (self.oldest + n) % self.n_rows
        self.counts += (~np.isnan(values)).sum(axis=0)
        nobody, nothing = np.empty(0, np.int64), np.empty((len(QUESTIONS), n, 0), np.float32)
        asked = [OfResidents(columns=nobody, nats=nothing, statistics=nothing, n_questions=nobody)]
        asked += [group.ask(values, clocks) for group in self.groups]
        return OfResidents(
            columns=np.concatenate([one.columns for one in asked]),
            nats=np.concatenate([one.nats for one in asked], axis=2),
            statistics=np.concatenate([one.statistics for one in asked], axis=2),
            n_questions=np.concatenate([one.n_questions for one in asked]),
        )

    def settle(self) -> None:
        """Learn the newcomers that have been observed often enough; they are residents now."""
        ready = self.counts >= self.n_rows
        for group in self.groups:
            ready[group.columns[group.are_here]] = False
        columns = np.flatnonzero(ready)
        if not len(columns):
            return
        order = (self.oldest + np.arange(self.n_rows)) % self.n_rows
        values, clocks = self.values[order][:, columns], self.clocks[order]
        known, everyone = self._known, np.ones(len(columns), bool)
        has_dates, calendar = known.has_dates, known.seasons.calendar
        fitted = known.fit(
            values,
            NO_RESIDUALS,
            NO_RESIDUALS,
            [""] * len(columns),
            (~everyone).tolist(),
            seasonal=Seasons.fit(values, clocks, everyone, has_dates=has_dates, calendar=calendar),
            has_dates=has_dates,
        )
        group = _Group(columns, fitted)
        before = slice(-PAST_ROWS, None)
        group.statistics.push(fitted.with_distances(values[before], clocks[before]))
        self.groups.append(group)

    def usual_at(self, column: int, clock: float) -> Usual | None:
        """Return the usual value of a newcomer at a time; None if it is no resident."""
        for group in self.groups:
            found = np.flatnonzero((group.columns == column) & group.are_here)
            if len(found):
                place, level = int(found[0]), group.fitted.level
                always = Usual(
                    middle=float(level.centre[place]), spread=float(level.spread[place]), when=""
                )
                return group.fitted.usual_at(place, clock) or always
        return None

    # ------------------------------------------------------------------ saving

    def to_arrays(self) -> dict[str, NDArray[Any]]:
        """Return the arrays that :meth:`restore` needs to continue exactly."""
        arrays = super().to_arrays()
        for number, group in enumerate(self.groups):
            fitted, header = flat(group.fitted)
            encoded = np.frombuffer(json.dumps(header).encode(), np.uint8)
            own = {"columns": group.columns, "are_here": group.are_here, "header": encoded}
            own |= prefixed("fitted", fitted) | prefixed("past", group.statistics.to_arrays())
            arrays |= prefixed(f"group{number}", own)
        return arrays

    def restore(self, arrays: Mapping[str, NDArray[Any]]) -> None:
        """Restore the state that :meth:`to_arrays` returned."""
        super().restore(arrays)
        self.groups = []
        while own := under(f"group{len(self.groups)}", arrays):
            header = json.loads(own["header"].tobytes())
            fitted = rebuilt(type(self._known), under("fitted", own), header)
            group = _Group(own["columns"].copy(), fitted)
            group.are_here = own["are_here"].copy()
            group.statistics.restore(under("past", own))
            self.groups.append(group)
