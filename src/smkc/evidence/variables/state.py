"""The state of the questions asked of single variables, row after row.

In: consecutive rows of scaled values, after a model was fitted. Out: the loudest columns of each
row, and the arrays from which the state can be continued.
"""

from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from smkc.decide import Mark
from smkc.evidence.columns.block import Block, renewed_columns
from smkc.evidence.saving import SavedState, prefixed, under
from smkc.evidence.settings import SETTINGS
from smkc.evidence.variables.lasting import QUIET, Lasting, NewNormals
from smkc.evidence.variables.loudest import N_KEPT, NEVER_LOUD, LoudColumns, Loudest
from smkc.evidence.variables.questions import EMPTY, FROZEN, LEVEL, QUESTIONS, Statistics
from smkc.evidence.variables.residents import Residents

if TYPE_CHECKING:
    from smkc.evidence.variables.model import VariableQuestions

# Number of questions that are asked of newcomers.
N_ASKED_OF_NEWCOMERS = sum(question.is_asked_of_newcomers for question in QUESTIONS)

# Surprise of certain trouble, far above any threshold or cost of earlier alerts.
CERTAIN_NATS = 100.0

# Spread of normally distributed values, in mean absolute deviations.
SPREADS_PER_DEVIATION = 1.2533


class VariableState:
    """The state of all questions at one moment of a recording.

    Parameters
    ----------
    fitted
        what is normal.
    before
        (m, C) rows before the first, with seasonal distances; there may be none.
    n_kept_rows
        number of latest rows whose loudest columns are remembered.
    """

    def __init__(
        self, fitted: "VariableQuestions", before: NDArray[np.float32], n_kept_rows: int
    ) -> None:
        self.fitted = fitted
        n_columns = len(fitted.constant)
        self.statistics = Statistics(n_columns)
        if len(before):
            self.statistics.push(before)
        is_lasting = [question.is_lasting for question in QUESTIONS]
        rows = [question.rows_of_level for question in QUESTIONS]
        self.lasting = Lasting(is_lasting, n_columns)
        self.loudest = Loudest(fitted.places, rows)
        self.silence = fitted.silence.start()
        self.residents = Residents(fitted)
        self.newcomer_counts = np.zeros(0, np.int64)
        self.newcomers_met = np.zeros(0, bool)
        # (Q, F) the largest surprise of each newcomer before it had enough observations.
        self.newcomer_peaks = np.zeros((len(QUESTIONS), 0), np.float32)
        self.kept: dict[str, NDArray[Any]] = {
            "columns": np.full((n_kept_rows, N_KEPT), -1, np.int32),
            "questions": np.full((n_kept_rows, N_KEPT), -1, np.int8),
            "nats": np.zeros((n_kept_rows, N_KEPT), np.float32),
        }

    def push(self, block: Block, residuals: NDArray[np.float32]) -> LoudColumns:
        """Return the loudest columns of the next n rows.

        Parameters
        ----------
        block
            the rows, as :meth:`VariableQuestions.prepared` returns them.
        residuals
            (n, at most A) the part of each value that the other variables do not explain.
        """
        values, newcomers, beyond = block.values, block.fresh_values, block.beyond
        self._forget(renewed_columns(block))
        wide = np.concatenate([values, newcomers], axis=1) if newcomers.shape[1] else values
        statistics = self.statistics.push(wide, residuals)
        nats = np.zeros(statistics.shape, np.float32)
        n_known = values.shape[1]
        for number, fitted in enumerate(self.fitted.of_questions):
            nats[number, :, :n_known] = fitted.nats(statistics[number, :, :n_known])
        nats[FROZEN, :, :n_known][self.fitted.frozen.are_at_edges(values)] = 0.0
        self._ask_constants(values, nats)
        asked = self.fitted.asked_nats
        if newcomers.shape[1]:
            n_asked = self._ask_newcomers(newcomers, statistics, nats)
            self._ask_residents(block, n_asked, statistics, nats)
            of_each = np.log(self.fitted.n_groups * N_ASKED_OF_NEWCOMERS)
            asked = np.concatenate([asked, np.full(newcomers.shape[1], of_each)])
        first = self.loudest.n_rows
        new = self.lasting.push(nats, asked, statistics[LEVEL])
        self._ask_by_new_normal(new, statistics, nats)
        if beyond.shape[1]:
            # After the new normal: what the user stated never becomes normal.
            n_bounded = beyond.shape[1] - newcomers.shape[1]
            is_certain = np.zeros(nats.shape[1:], bool)
            is_certain[:, :n_bounded] = beyond[:, :n_bounded]
            is_certain[:, n_known:] = beyond[:, n_bounded:]
            nats[:, is_certain] = 0.0
            nats[LEVEL, is_certain] = CERTAIN_NATS
        loud = self.loudest.push(nats, asked, statistics)
        was_silent = bool(self.silence.is_gone.any())
        silence = self.silence.push(values, self._are_first(newcomers))
        if silence.any():
            is_silent = silence > 0
            begins = is_silent & ~np.concatenate([[was_silent], is_silent[:-1]])
            marks = np.where(is_silent & (loud.marks == Mark.ECHO), np.int8(0), loud.marks)
            nats_of_silence = [0.0, CERTAIN_NATS, self.fitted.silence.nats_of_one]
            loud = replace(
                loud,
                surprises=np.maximum(np.array(nats_of_silence)[silence], loud.surprises),
                marks=np.where(begins, np.int8(Mark.NEWS), marks),
            )
        self._keep(first, loud)
        return loud

    def _forget(self, newcomers: NDArray[np.int64]) -> None:
        """Forget newcomers whose columns others take over."""
        columns = len(self.fitted.constant) + newcomers
        self.statistics.forget(columns, EMPTY)
        self.lasting.forget(columns, QUIET)
        self.loudest.forget(columns, NEVER_LOUD)
        self.newcomer_counts[newcomers] = 0
        self.newcomers_met[newcomers] = False
        self.newcomer_peaks[:, newcomers] = 0.0

    def _are_first(self, newcomers: NDArray[np.float32]) -> NDArray[np.bool_]:
        """Return (n,) whether a newcomer is observed for the first time in each row."""
        is_seen = ~np.isnan(newcomers)
        more = newcomers.shape[1] - len(self.newcomers_met)
        is_met = np.pad(self.newcomers_met, (0, more))
        self.newcomers_met = is_met | is_seen.any(axis=0)
        before = np.cumsum(is_seen, axis=0) - is_seen
        first: NDArray[np.bool_] = (is_seen & (before == 0) & ~is_met).any(axis=1)
        return first

    def _ask_constants(self, values: NDArray[np.float32], nats: NDArray[np.float32]) -> None:
        """Let targets that are down speak as a level, and other constants that moved be named."""
        fitted = self.fitted
        some = np.flatnonzero(fitted.is_constant)
        if not len(some):
            return
        has_moved = ~np.isnan(values[:, some]) & (values[:, some] != fitted.constant[some])
        is_down = fitted.is_target[some] & (values[:, some] < fitted.constant[some])
        surprise = np.where(is_down, CERTAIN_NATS, fitted.asked_nats[some])
        nats[LEVEL][:, some] = np.where(has_moved, surprise, 0.0)

    def _ask_newcomers(
        self,
        newcomers: NDArray[np.float32],
        statistics: NDArray[np.float32],
        nats: NDArray[np.float32],
    ) -> NDArray[np.int64]:
        """Judge newcomers with enough observations by the tails that known columns share.

        Return (n, 1) their number in each row. Surprises up to the largest of a newcomer's first
        observations are limited to that of an event seen once in these. The correction for the
        number of newcomers counts those of the row that have enough observations by then, so that
        it does not depend on later rows.
        """
        n_known, n_new = len(self.fitted.constant), newcomers.shape[1]
        more = n_new - len(self.newcomer_counts)
        self.newcomer_counts = np.pad(self.newcomer_counts, (0, more))
        self.newcomer_peaks = np.pad(self.newcomer_peaks, ((0, 0), (0, more)))
        counts = np.cumsum(~np.isnan(newcomers), axis=0) + self.newcomer_counts
        n_before = 2 * SETTINGS.min_observations
        is_young = counts < n_before
        n_asked: NDArray[np.int64] = (~is_young & ~np.isnan(newcomers)).sum(axis=1, keepdims=True)
        for_number = np.log(np.maximum(n_asked, 1))
        most_seen = np.float32(np.log(n_before + 1.0))
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
        return n_asked

    def _ask_residents(
        self,
        block: Block,
        n_asked: NDArray[np.int64],
        statistics: NDArray[np.float32],
        nats: NDArray[np.float32],
    ) -> None:
        """Judge newcomers that stayed by their own first rows instead.

        As for other newcomers, surprises are corrected for the number of newcomers asked (n, 1).
        """
        n_known = len(self.fitted.constant)
        own = self.residents.push(block)
        some = own.columns
        if len(some):
            # None is asked of a constant one, so that its nats are 0.
            n_questions = np.maximum(own.n_questions, 1)
            more = np.log(np.maximum(n_asked, 1) * (n_questions / N_ASKED_OF_NEWCOMERS))
            corrected = own.nats - more.astype(np.float32)
            nats[:, :, n_known + some] = np.where(own.nats > 0.0, corrected, 0.0)
            statistics[:, :, n_known + some] = own.statistics

    def _ask_by_new_normal(
        self, new: NewNormals, statistics: NDArray[np.float32], nats: NDArray[np.float32]
    ) -> None:
        """Judge the levels of columns with a new normal by that; ask nothing else of them.

        A surprise is the smaller of two: by the reference, and by the distance from the new centre,
        in units of the new deviation if that is larger than the reference's. Newcomers are not
        asked at all.
        """
        fitted = self.fitted
        for number, question in enumerate(QUESTIONS):
            is_new = new.is_new[0 if question.is_lasting else 1]
            if question.kind != "level":
                nats[number][is_new] = 0.0
                continue
            nats[number, :, len(fitted.constant) :][is_new[:, len(fitted.constant) :]] = 0.0
            some = np.flatnonzero(is_new[:, : len(fitted.constant)].any(axis=0))
            if len(some):
                tails = fitted.tails[question.name].of(some)
                usual = fitted.level.spread[some] / SPREADS_PER_DEVIATION
                wider = np.maximum(new.deviation[:, some] / usual, 1.0)
                away = (statistics[number][:, some] - new.centre[:, some]) / wider
                found = tails.nats((tails.centre + away).astype(np.float32, order="C"))
                before = nats[number][:, some]
                smaller = np.minimum(before, found)
                nats[number][:, some] = np.where(is_new[:, some], smaller, before)

    def _keep(self, first: int, loud: LoudColumns) -> None:
        places = (first + np.arange(len(loud.columns))) % len(self.kept["columns"])
        for key in self.kept:
            self.kept[key][places] = getattr(loud, key)

    def accept(self, first: int, last: int) -> None:
        """Take rows first to last - 1 as the new normal of the columns that were loud in them."""
        places = np.arange(first, last) % len(self.kept["columns"])
        columns = np.unique(self.kept["columns"][places])
        columns = columns[columns >= 0]
        self.lasting.accept(columns[self.lasting.were_loud_since(first)[columns]])

    def is_beyond(self, row: int) -> bool:
        """Return whether a variable was beyond a stated bound in a row that is remembered."""
        place = row % len(self.kept["columns"])
        certain = self.kept["columns"][place][self.kept["nats"][place] == CERTAIN_NATS]
        return not np.isin(certain, np.flatnonzero(self.fitted.is_target)).all()

    def loudest_of(self, first: int, last: int) -> dict[int, dict[int, float]]:
        """Return the largest nats in rows first to last - 1, by question and column."""
        places = np.arange(first, last) % len(self.kept["columns"])
        found: dict[int, dict[int, float]] = {}
        rows = (self.kept[key][places].ravel().tolist() for key in ("columns", "questions", "nats"))
        for column, question, nats in zip(*rows, strict=True):
            if column >= 0:
                of_question = found.setdefault(question, {})
                of_question[column] = max(of_question.get(column, 0.0), nats)
        return found

    def median_of(self, rows: range) -> dict[int, float]:
        """Return the median nats of columns over some rows; columns not listed have 0.

        A column is among the loudest of a row or counts as 0 in it.
        """
        places = np.arange(rows.start, rows.stop) % len(self.kept["columns"])
        columns, nats = self.kept["columns"][places].ravel(), self.kept["nats"][places].ravel()
        found, counts = np.unique(columns, return_counts=True)
        is_lasting = (found >= 0) & (2 * counts > len(rows))
        lasting = found[is_lasting]
        return {
            column: float(np.median(np.pad(nats[columns == column], (0, len(rows) - count))))
            for column, count in zip(lasting.tolist(), counts[is_lasting].tolist(), strict=True)
        }

    @property
    def _parts(self) -> dict[str, SavedState]:
        parts = (self.statistics, self.lasting, self.loudest, self.silence, self.residents)
        return {type(part).__name__: part for part in parts}

    def to_arrays(self) -> dict[str, NDArray[Any]]:
        """Return the arrays that :meth:`restore` needs to continue exactly."""
        arrays: dict[str, NDArray[Any]] = {"newcomer_counts": self.newcomer_counts}
        arrays["newcomers_met"] = self.newcomers_met
        arrays["newcomer_peaks"] = self.newcomer_peaks
        for name, part in self._parts.items():
            arrays |= prefixed(name, part.to_arrays())
        return arrays | prefixed("kept", self.kept)

    def restore(self, arrays: Mapping[str, NDArray[Any]]) -> None:
        """Restore the state that :meth:`to_arrays` returned."""
        for name, part in self._parts.items():
            part.restore(under(name, arrays))
        self.kept = {key: array.copy() for key, array in under("kept", arrays).items()}
        self.newcomer_counts = arrays["newcomer_counts"].copy()
        self.newcomers_met = arrays["newcomers_met"].copy()
        self.newcomer_peaks = arrays["newcomer_peaks"].copy()
