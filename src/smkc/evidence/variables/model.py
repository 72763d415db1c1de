"""VariableQuestions: every question asked of every variable, fitted on a reference.

In: reference rows of scaled values. Out: a state that takes further rows in and says which columns
are loudest in each.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from smkc.decide import Mark
from smkc.evidence.variables.constants import constants, surprise_of_constants
from smkc.evidence.variables.loudest import N_KEPT, Heard, Loudest
from smkc.evidence.variables.places import places
from smkc.evidence.variables.questions import FROZEN, JUMP, LEVEL, QUESTIONS, RELATION, Statistics
from smkc.evidence.variables.runs import Runs
from smkc.evidence.variables.seasons import Seasons, Usual
from smkc.evidence.variables.shares import nats_of_share, shares
from smkc.evidence.variables.silence import Silence
from smkc.evidence.variables.tails import Tails, centre_and_spread
from smkc.recording import parse

__all__ = ["VariableQuestions", "VariableState"]

# Spread of a statistic, at least, as a share of the spread of the values themselves.
MIN_SPREAD_SHARE = 0.1
TINY = 1e-9

# A column is asked for its relation to the others if these leave no more than this share of its
# squared changes unexplained.
UNEXPLAINED_SHARE = 0.1

# A newcomer is asked after so many observations.
MIN_NEWCOMER_OBSERVATIONS = 64

# Surprise that no budget of false alarms outweighs.
CERTAIN_NATS = 100.0


@dataclass(frozen=True, kw_only=True, eq=False)
class VariableQuestions:
    """What the reference says of each column and question.

    The C columns are A that are given with each row, then for those of them that have a season
    their distance from what is usual at that time.

    Parameters
    ----------
    tails
        by name of the question, the tails of its statistics.
    frozen
        how long each column repeats one value.
    is_constant
        (C,) bool: whether the column never changed in the reference.
    constant
        (C,) its value.
    constant_nats
        surprise when any constant moves: by how often constants of this reference did.
    n_related
        how many columns, the first, have a relation to the others.
    asked_nats
        (C,) what is taken off each column's nats for the number of questions asked of all.
    n_groups
        how many groups of columns share the budget.
    silence
        how many variables must fall silent at once for certain trouble.
    is_target
        (C,) bool: whether the column says that a scrape target is up; 0 is then certain trouble.
    seasons
        what is usual at a time of the day or of the week.
    places
        (C,) which service, job or machine each column is of.
    """

    tails: Mapping[str, Tails]
    frozen: Runs
    is_constant: NDArray[np.bool_]
    constant: NDArray[np.float32]
    constant_nats: float
    n_related: int
    asked_nats: NDArray[np.float64]
    n_groups: int
    silence: Silence
    is_target: NDArray[np.bool_]
    seasons: Seasons
    places: NDArray[np.int32]

    @classmethod
    def fit(
        cls,
        values: NDArray[np.float32],
        later: NDArray[np.float32],
        residuals: NDArray[np.float32],
        names: Sequence[str],
        members: Sequence[bool],
        of_several: Sequence[bool] | None = None,
        clocks: NDArray[np.float64] | None = None,
        *,
        has_dates: bool = False,
    ) -> "VariableQuestions":
        """Learn from reference rows.

        Parameters
        ----------
        values
            (n, A) scaled, not clipped, NaN where not observed.
        later, residuals
            (m, at most A) values of later reference rows, and what the other variables leave
            unexplained of them, where that was fitted on earlier rows.
        names, members
            (A,) of the columns; whether each is replaced routinely, so that its end is no trouble
            and its role speaks for it.
        of_several
            (A,) whether a column speaks for several members: when one is replaced it jumps, which
            says nothing, and what one rollout in the reference did the next may do as well. None
            does unless given.
        clocks, has_dates
            (n,) times of the rows; whether they are seconds since a date. No column has a season
            without them.
        """
        is_member = np.array(members, bool)
        is_constant, _ = constants(values)
        seasons, distances = Seasons.fit(
            values,
            np.empty(0) if clocks is None else clocks,
            ~is_constant & ~is_member,
            has_dates=has_dates,
        )
        n_given = values.shape[1]
        values = np.concatenate([values, distances], axis=1)
        names = [*names, *(names[column] for column in seasons.columns)]
        is_member = np.concatenate([is_member, np.zeros(len(seasons.columns), bool)])
        several = np.zeros(n_given, bool) if of_several is None else np.array(of_several, bool)
        several = np.concatenate([several, several[seasons.columns]])
        n_columns = values.shape[1]
        is_distance = np.arange(n_columns) >= n_given
        statistics = Statistics(n_columns).push(values)
        relation = np.full((len(residuals), n_columns), np.nan, np.float32)
        n_related = residuals.shape[1]
        relation[:, :n_related] = Statistics(n_related).push(residuals, residuals)[RELATION]
        relation[:, :n_related][:, ~_are_related(later, residuals)] = np.nan
        _, spread = centre_and_spread(values)
        least = np.maximum(MIN_SPREAD_SHARE * spread, TINY)
        runs = Runs.fit(statistics[FROZEN], values)
        relation[:, np.isinf(runs.longest)] = np.nan  # of what hardly moves, nothing can be said
        tails = {
            question.name: Tails.fit(
                relation if number == RELATION else statistics[number],
                gap=question.rows,
                min_spread=least,
                is_one_sided=question.is_one_sided,
                is_bounded=several,
            )
            for number, question in enumerate(QUESTIONS)
            if number != FROZEN
        }
        is_constant, constant = constants(values)
        tails[QUESTIONS[JUMP].name].start[:, several] = np.inf
        for tail in tails.values():
            tail.start[:, is_constant | is_member] = np.inf
        runs.longest[is_constant | is_member | is_distance] = np.inf
        is_target = np.array([_is_target(name) for name in names], bool)
        asked_nats, n_groups = shares(names, ~is_constant & ~is_member)
        return cls(
            tails=tails,
            frozen=runs,
            is_constant=is_constant,
            constant=constant,
            constant_nats=surprise_of_constants(values),
            n_related=n_related,
            asked_nats=asked_nats,
            n_groups=n_groups,
            silence=Silence.fit(values, (is_member | is_distance).tolist()),
            is_target=is_target & is_constant & ~is_member,
            seasons=seasons,
            places=places(names),
        )

    @property
    def of_questions(self) -> tuple[Tails | Runs, ...]:
        """(Q,) what each question's statistics are judged by."""
        return tuple(self.tails.get(question.name, self.frozen) for question in QUESTIONS)

    @property
    def level(self) -> Tails:
        """The tails of the values themselves."""
        return self.tails[QUESTIONS[LEVEL].name]

    def start(
        self, before: NDArray[np.float32], clocks: NDArray[np.float64], n_kept_rows: int
    ) -> "VariableState":
        """Return a state after the rows ``before`` (m, A) of the times ``clocks``.

        There may be none. It remembers who was loudest in the latest ``n_kept_rows`` rows.
        """
        return VariableState(self, self.with_distances(before, clocks), n_kept_rows)

    def usual_at(self, column: int, clock: float) -> Usual | None:
        """Return what is usual in a given column at a time, scaled; None if it has no season."""
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
        """(n, C) the given (n, A) values and their distances from what is usual at that time."""
        if not len(self.seasons.columns):
            return values
        return np.concatenate([values, self.seasons.subtract(values, clocks)], axis=1)


class VariableState:
    """The questions at one moment of a recording."""

    def __init__(
        self, fitted: VariableQuestions, before: NDArray[np.float32], n_kept_rows: int
    ) -> None:
        self.fitted = fitted
        n_columns = len(fitted.constant)
        self.statistics = Statistics(n_columns)
        if len(before):
            self.statistics.push(before)
        is_lasting = [question.is_lasting for question in QUESTIONS]
        rows = [question.rows_of_level for question in QUESTIONS]
        self.loudest = Loudest(is_lasting, n_columns, fitted.places, rows)
        self.silence = fitted.silence.start()
        self.newcomer_counts = np.zeros(0, np.int64)
        # (Q, F) the largest surprise of each newcomer while it was too young to be asked.
        self.newcomer_peaks = np.zeros((len(QUESTIONS), 0), np.float32)
        self.kept: dict[str, NDArray[Any]] = {
            "columns": np.full((n_kept_rows, N_KEPT), -1, np.int32),
            "questions": np.full((n_kept_rows, N_KEPT), -1, np.int8),
            "nats": np.zeros((n_kept_rows, N_KEPT), np.float32),
        }

    def push(
        self,
        values: NDArray[np.float32],
        newcomers: NDArray[np.float32],
        residuals: NDArray[np.float32],
        clocks: NDArray[np.float64],
    ) -> Heard:
        """Take in the next rows.

        Parameters
        ----------
        values, newcomers
            (n, A) and (n, F) scaled values of known columns and of newcomers.
        residuals
            (n, at most A) what the other variables leave unexplained of each value.
        clocks
            (n,) times of the rows.
        """
        values = self.fitted.with_distances(values, clocks)
        wide = np.concatenate([values, newcomers], axis=1) if newcomers.shape[1] else values
        statistics = self.statistics.push(wide, residuals)
        nats = np.zeros(statistics.shape, np.float32)
        n_known = values.shape[1]
        for number, fitted in enumerate(self.fitted.of_questions):
            nats[number, :, :n_known] = fitted.nats(statistics[number, :, :n_known])
        self._ask_constants(values, nats)
        asked = self.fitted.asked_nats
        if newcomers.shape[1]:
            self._ask_newcomers(newcomers, statistics, nats)
            of_each = nats_of_share(self.fitted.n_groups, 1)
            asked = np.concatenate([asked, np.full(newcomers.shape[1], of_each)])
        first = self.loudest.n_rows
        heard = self.loudest.push(nats, asked, statistics)
        is_silent = self.silence.push(values)
        if is_silent.any():
            heard = replace(
                heard,
                surprises=np.where(is_silent, CERTAIN_NATS, heard.surprises),
                marks=np.where(is_silent & (heard.marks == Mark.ECHO), np.int8(0), heard.marks),
            )
        self._keep(first, heard)
        return heard

    def _ask_constants(self, values: NDArray[np.float32], nats: NDArray[np.float32]) -> None:
        """Let constants that moved, and targets that died, speak as a level."""
        fitted = self.fitted
        some = np.flatnonzero(fitted.is_constant)
        if not len(some):
            return
        has_moved = ~np.isnan(values[:, some]) & (values[:, some] != fitted.constant[some])
        surprise = np.where(fitted.is_target[some], CERTAIN_NATS, fitted.constant_nats)
        nats[LEVEL][:, some] = np.where(has_moved, surprise, 0.0)

    def _ask_newcomers(
        self,
        newcomers: NDArray[np.float32],
        statistics: NDArray[np.float32],
        nats: NDArray[np.float32],
    ) -> None:
        """Judge newcomers by the tails that known columns have in common, once they have a past.

        What that past has seen is no rarer than once in it. What is taken off for their number
        depends on those that came before a row alone.
        """
        n_known, n_new = len(self.fitted.constant), newcomers.shape[1]
        more = n_new - len(self.newcomer_counts)
        self.newcomer_counts = np.pad(self.newcomer_counts, (0, more))
        self.newcomer_peaks = np.pad(self.newcomer_peaks, ((0, 0), (0, more)))
        counts = np.cumsum(~np.isnan(newcomers), axis=0) + self.newcomer_counts
        is_young = counts < MIN_NEWCOMER_OBSERVATIONS
        n_asked = (~is_young).sum(axis=1, keepdims=True)
        for_number = np.log(np.maximum(n_asked, 1))
        most_seen = np.float32(np.log(MIN_NEWCOMER_OBSERVATIONS + 1.0))
        self.newcomer_counts = counts[-1] if len(counts) else self.newcomer_counts
        for number, question in enumerate(QUESTIONS):
            if question.is_asked_of_newcomers:
                fitted = self.fitted.tails[question.name]
                found = fitted.shared(n_new).nats(statistics[number, :, n_known:])
                peaks = np.where(is_young, found, 0.0).max(axis=0, initial=0.0)
                self.newcomer_peaks[number] = np.maximum(self.newcomer_peaks[number], peaks)
                overstated = np.maximum(self.newcomer_peaks[number] - most_seen, 0.0)
                found = np.minimum(found, np.maximum(most_seen, found - overstated))
                nats[number, :, n_known:] = np.where(is_young, 0.0, found - for_number)

    def _keep(self, first: int, heard: Heard) -> None:
        places = (first + np.arange(len(heard.columns))) % len(self.kept["columns"])
        for key in self.kept:
            self.kept[key][places] = getattr(heard, key)

    def accept(self, first: int, last: int) -> None:
        """Take what columns that were loud in rows first to last - 1 said there for normal."""
        places = np.arange(first, last) % len(self.kept["columns"])
        columns = np.unique(self.kept["columns"][places])
        columns = columns[columns >= 0]
        self.loudest.mute(columns[self.loudest.were_loud_since(first)[columns]])

    def loudest_of(self, first: int, last: int) -> dict[int, dict[int, float]]:
        """Return, by question and column, the largest surprise in rows first to last - 1."""
        places = np.arange(first, last) % len(self.kept["columns"])
        found: dict[int, dict[int, float]] = {}
        rows = (self.kept[key][places].ravel().tolist() for key in ("columns", "questions", "nats"))
        for column, question, nats in zip(*rows, strict=True):
            if column >= 0:
                of_question = found.setdefault(question, {})
                of_question[column] = max(of_question.get(column, 0.0), nats)
        return found

    def to_arrays(self) -> dict[str, NDArray[Any]]:
        """Return what :meth:`restore` needs to go on exactly."""
        parts = {
            "statistics": self.statistics.to_arrays(),
            "loudest": self.loudest.to_arrays(),
            "silence": self.silence.to_arrays(),
        }
        arrays = {f"{part}.{key}": a for part, some in parts.items() for key, a in some.items()}
        arrays |= {f"kept.{key}": array for key, array in self.kept.items()}
        arrays |= {"newcomer_counts": self.newcomer_counts, "newcomer_peaks": self.newcomer_peaks}
        return arrays

    def restore(self, arrays: Mapping[str, NDArray[Any]]) -> None:
        """Take over what :meth:`to_arrays` gave."""
        of = {
            part: {k[len(part) + 1 :]: a for k, a in arrays.items() if k.startswith(part + ".")}
            for part in ("statistics", "loudest", "silence", "kept")
        }
        self.statistics.restore(of["statistics"])
        self.silence.restore(of["silence"])
        self.loudest.restore(of["loudest"])
        self.kept = {key: of["kept"][key].copy() for key in self.kept}
        self.newcomer_counts = arrays["newcomer_counts"].copy()
        self.newcomer_peaks = arrays["newcomer_peaks"].copy()


def _is_target(name: str) -> bool:
    """Whether a variable is Prometheus' ``up``: 1 while its target can be scraped."""
    parts = parse(name)
    return name == "up" or (parts is not None and parts[0] == "up")


def _are_related(values: NDArray[np.float32], residuals: NDArray[np.float32]) -> NDArray[np.bool_]:
    """(C,) which columns move with the others: their residuals change far less than they do."""
    changes = [np.diff(rows.astype(np.float64), axis=0) ** 2 for rows in (values, residuals)]
    both = ~np.isnan(changes[0]) & ~np.isnan(changes[1])
    own, left = (np.where(both, some, 0.0).sum(axis=0) for some in changes)
    related: NDArray[np.bool_] = left < UNEXPLAINED_SHARE * own
    return related
