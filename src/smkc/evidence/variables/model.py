"""Every question asked of every variable, fitted on a reference.

In: reference rows of scaled values. Out: a state that takes further rows and returns the columns
with the largest surprise in each.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from smkc.evidence.columns.block import Block
from smkc.evidence.settings import SETTINGS
from smkc.evidence.variables.places import places
from smkc.evidence.variables.questions import FROZEN, JUMP, LEVEL, QUESTIONS, RELATION, Statistics
from smkc.evidence.variables.runs import Runs
from smkc.evidence.variables.seasons import Seasons, Usual
from smkc.evidence.variables.shares import shares
from smkc.evidence.variables.silence import Silence
from smkc.evidence.variables.state import VariableState
from smkc.evidence.variables.tails import Tails, centre_and_spread
from smkc.recording import parse

TINY = 1e-9


@dataclass(frozen=True, kw_only=True, eq=False)
class VariableQuestions:
    """What is normal for each column and question, learned from a reference.

    The C columns are the A columns given with each row, followed by 1 column for each of them that
    has a season: its distance from the usual value at that time.

    Parameters
    ----------
    tails
        the tails of the statistics, by name of the question.
    frozen
        how long each column repeats one value.
    is_constant, constant
        (C,) whether the column never changed in the reference, and its value; 0 for others.
    n_related
        number of columns, the first ones, that residuals are given for.
    asked_nats
        (C,) correction for the number of columns and questions, subtracted from the nats of each
        column; 0 for columns that no question is asked of.
    n_groups
        number of groups of columns that share the budget of false alerts.
    silence
        which variables are usually observed, and how many of them must fall silent at once to be
        certain trouble.
    is_target
        (C,) bool: whether the column tells whether something is up, and never changed in the
        reference. Any lower value is then certain trouble.
    seasons
        the usual values by time of the day or of the week.
    places
        (C,) number of the service, job or machine that each column belongs to.
    n_rows, has_dates
        number of rows learned from, and whether their times were dates.
    """

    tails: Mapping[str, Tails]
    frozen: Runs
    is_constant: NDArray[np.bool_]
    constant: NDArray[np.float32]
    n_related: int
    asked_nats: NDArray[np.float64]
    n_groups: int
    silence: Silence
    is_target: NDArray[np.bool_]
    seasons: Seasons
    places: NDArray[np.int32]
    n_rows: int
    has_dates: bool

    @classmethod
    def fit(
        cls,
        values: NDArray[np.float32],
        later: NDArray[np.float32],
        residuals: NDArray[np.float32],
        names: Sequence[str],
        members: Sequence[bool],
        pools: Sequence[int] | None = None,
        seasonal: tuple[Seasons, NDArray[np.float32]] | None = None,
        *,
        has_dates: bool = False,
    ) -> "VariableQuestions":
        """Learn from reference rows.

        Parameters
        ----------
        values
            (n, A) scaled values, not clipped, NaN where not observed.
        later, residuals
            (m, at most A) values of the last reference rows, and their residuals: the part of each
            value that the other variables, fitted on earlier rows, do not explain.
        names
            (A,) names of the columns.
        members
            (A,) whether each column is a member that is replaced routinely. No question is asked of
            members, and their end is not trouble; their roles are asked instead.
        pools
            (A,) the pool of each column that summarizes several members, -1 for others, which is
            the default. Such a column jumps when a member is replaced, so that jumps are not asked
            of it. What a column of the pool did once in the reference, such as during a rollout,
            every column of the pool may do.
        seasonal
            the result of :meth:`Seasons.fit`; None if no column has a season.
        has_dates
            whether the times of the rows are dates.
        """
        is_member = np.array(members, bool)
        if seasonal is None:
            seasonal = Seasons.fit(values, np.empty(0), ~is_member, has_dates=False)
        seasons, distances = seasonal
        n_given = values.shape[1]
        values = np.concatenate([values, distances], axis=1)
        names = [*names, *(names[column] for column in seasons.columns)]
        is_member = np.concatenate([is_member, np.zeros(len(seasons.columns), bool)])
        pool = np.full(n_given, -1) if pools is None else np.array(pools)
        of_distances = pool[seasons.columns]
        of_distances[of_distances >= 0] += 1 + pool.max(initial=-1)
        pool = np.concatenate([pool, of_distances])
        n_columns = values.shape[1]
        is_distance = np.arange(n_columns) >= n_given
        statistics = Statistics(n_columns).push(values)
        relation = np.full((len(residuals), n_columns), np.nan, np.float32)
        n_related = residuals.shape[1]
        relation[:, :n_related] = Statistics(n_related).push(residuals, residuals)[RELATION]
        relation[:, :n_related][:, ~_are_related(later, residuals)] = np.nan
        _, spread = centre_and_spread(values)
        least = np.maximum(SETTINGS.same_share * spread, TINY)
        runs = Runs.fit(statistics[FROZEN], values)
        # Columns that often repeat values have no meaningful relation to the others.
        relation[:, np.isinf(runs.longest)] = np.nan
        tails = {
            question.name: Tails.fit(
                relation if number == RELATION else statistics[number],
                gap=question.rows,
                min_spread=least,
                is_one_sided=question.is_one_sided,
                pools=pool,
            )
            for number, question in enumerate(QUESTIONS)
            if number != FROZEN
        }
        is_constant, constant = _constants(values)
        tails[QUESTIONS[JUMP].name].start[:, pool >= 0] = np.inf
        for tail in tails.values():
            tail.start[:, is_constant | is_member] = np.inf
        runs.longest[is_constant | is_member | is_distance] = np.inf
        is_target = np.array([_is_target(name) for name in names], bool)
        is_target &= is_constant & ~is_member
        n_questions = np.isfinite(runs.longest).astype(np.int64)
        n_questions += sum(np.isfinite(tail.start).any(axis=0) for tail in tails.values())
        asked_nats, n_groups = shares(names, n_questions, values)
        # Constants that move are named with the nats of a single event, and raise no alert.
        asked_nats[is_constant & ~is_target] = np.log(len(values) + 1.0)
        return cls(
            tails=tails,
            frozen=runs,
            is_constant=is_constant,
            constant=constant,
            n_related=n_related,
            asked_nats=asked_nats,
            n_groups=n_groups,
            silence=Silence.fit(values, (is_member | is_distance).tolist()),
            is_target=is_target,
            seasons=seasons,
            places=places(names),
            n_rows=len(values),
            has_dates=has_dates,
        )

    @property
    def of_questions(self) -> tuple[Tails | Runs, ...]:
        """(Q,) tails, or runs, that the statistics of each question are judged by."""
        return tuple(
            self.frozen if number == FROZEN else self.tails[question.name]
            for number, question in enumerate(QUESTIONS)
        )

    @property
    def n_asked(self) -> int:
        """Number of given columns that are asked: neither constants nor members of roles."""
        n_given = len(self.constant) - len(self.seasons.columns)
        return int(np.isfinite(self.level.start[0, :n_given]).sum())

    @property
    def level(self) -> Tails:
        """Tails of the values themselves."""
        return self.tails[QUESTIONS[LEVEL].name]

    def start(self, before: Block, n_kept_rows: int) -> VariableState:
        """Return a state that continues after the rows ``before``, which may be none.

        They are as :meth:`prepared` returns them. The state remembers the loudest columns of the
        latest ``n_kept_rows`` rows.
        """
        return VariableState(self, before.values, n_kept_rows)

    def usual_at(self, column: int, clock: float) -> Usual | None:
        """Return the usual scaled value of a given column at a time; None without a season."""
        found = np.flatnonzero(self.seasons.columns == column)
        if not len(found):
            return None
        number = int(found[0])
        distances = len(self.constant) - len(self.seasons.columns)
        return Usual(
            middle=self.seasons.middle_at(number, clock),
            spread=float(self.level.spread[distances + number]),
            when=self.seasons.when(number, clock),
        )

    def with_distances(
        self, values: NDArray[np.float32], clocks: NDArray[np.float64]
    ) -> NDArray[np.float32]:
        """Return (n, C) the given (n, A) values, followed by the distances of seasonal columns."""
        if not len(self.seasons.columns):
            return values
        return np.concatenate([values, self.seasons.subtract(values, clocks)], axis=1)

    def prepared(self, block: Block) -> Block:
        """Return a block with the distances of seasonal columns in its values, and adjusted."""
        values = self.with_distances(block.values, block.clocks)
        distances = values[:, block.values.shape[1] :]
        adjusted = self.seasons.adjusted(block.rows, distances, self.n_related)
        return block._replace(values=values, adjusted=adjusted)


def _constants(values: NDArray[np.float32]) -> tuple[NDArray[np.bool_], NDArray[np.float32]]:
    """Return (C,) whether each column of (n, C) values is constant, and its value, else 0."""
    is_seen = ~np.isnan(values)
    low = np.where(is_seen, values, np.inf).min(axis=0, initial=np.inf)
    high = np.where(is_seen, values, -np.inf).max(axis=0, initial=-np.inf)
    return low == high, np.where(low == high, low, 0.0).astype(np.float32)


def _is_target(name: str) -> bool:
    """Tell whether a variable is 1 while something can be reached, and else 0, by its name.

    Prometheus has ``up`` for its targets, its exporters have one for what they ask, such as
    ``redis_up``, and the Blackbox exporter has ``probe_success``.
    """
    parts = parse(name)
    metric = name if parts is None else parts[0]
    return metric in ("up", "probe_success") or metric.endswith("_up")


def _are_related(values: NDArray[np.float32], residuals: NDArray[np.float32]) -> NDArray[np.bool_]:
    """Return (C,) whether each column moves with the others: its residuals change far less."""
    changes = [np.diff(rows.astype(np.float64), axis=0) ** 2 for rows in (values, residuals)]
    both = ~np.isnan(changes[0]) & ~np.isnan(changes[1])
    own, left = (np.where(both, some, 0.0).sum(axis=0) for some in changes)
    related: NDArray[np.bool_] = left < (1.0 - SETTINGS.nearly_all) * own
    return related
