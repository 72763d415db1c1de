"""EvidenceState: scoring of rows as they come; made by ``ReferenceEvidence.start``.

In: rows in order of time, as recordings or dense blocks. Out: scores, p-values and surprises, each
from that row and the rows before it only; and the contribution of each variable to them.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from smkc.errors import InputError, ModelFileError
from smkc.evidence.columns.farthest import Farthest
from smkc.evidence.columns.rows import Rows, follows_on
from smkc.evidence.decision.scorer import Scorer
from smkc.evidence.saving import prefixed, under
from smkc.evidence.settings import SETTINGS
from smkc.evidence.variables import QUESTIONS
from smkc.recording import Recording
from smkc.recording.times import show_time

if TYPE_CHECKING:
    from smkc.evidence.model import ReferenceEvidence


@dataclass(frozen=True, kw_only=True, eq=False)
class EvidenceScores:
    """Scores of T rows.

    Parameters
    ----------
    held, prompt
        (T,) the two parts of the scores: how unusual the rows around each row are, and how unusual
        the row itself is.
    p_values
        (T,) how likely a row at least this surprising is while all is normal: by the loudest single
        variable, by all evidences joined, or by both together, whichever is smallest.
    marks
        (T,) :class:`~smkc.decide.Mark` of each row. News: variables of another place (service, job,
        machine) than before begin to be loud. Echo: only averages over earlier rows are still loud.
    nats
        (T, E) surprise of each evidence, minus the logarithm of its p-value; NaN where it has no
        statistic.
    evidences
        (E,) names of the evidences.
    """

    held: NDArray[np.float64]
    prompt: NDArray[np.float64]
    p_values: NDArray[np.float64]
    marks: NDArray[np.int8]
    nats: NDArray[np.float64]
    evidences: tuple[str, ...]

    @property
    def scores(self) -> NDArray[np.float64]:
        """(T,) the scores, higher = more anomalous."""
        return self.held + self.prompt


@dataclass(frozen=True, kw_only=True)
class Blame:
    """The contribution of each evidence and variable to the scores of some rows.

    Parameters
    ----------
    evidences
        mean nats of each evidence over the rows.
    variables
        each variable's share of all nats, the largest first. The shares sum to 1; empty if no
        variable contributed.
    by_evidence
        each variable's share within each evidence, for evidences to which variables contributed.
    by_question
        nats of the variables that were loud by themselves, by question.
    silent
        the variables that fell silent at once, if a large share did and that trouble is not over.
    n_usual
        number of variables that are usually observed.
    """

    evidences: Mapping[str, float]
    variables: Mapping[str, float]
    by_evidence: Mapping[str, Mapping[str, float]]
    by_question: Mapping[str, Mapping[str, float]]
    silent: tuple[str, ...] = ()
    n_usual: int = 0


# Name shown in alerts for the question whether one member differs from its peers.
APART = "apart from peers"


class EvidenceState:
    """The state of a fitted model at one moment of a recording.

    Parameters
    ----------
    model
        fitted on reference data.
    follows
        whether the first row comes right after the last row of the reference; None to decide by its
        time.
    """

    def __init__(self, model: "ReferenceEvidence", follows: bool | None = None) -> None:
        self._model = model
        self._follows = follows
        followed = model.rows, model.choices
        self._rows = Rows(model.scaling, model.names, model.roles, model.rules, followed)
        self._farthest = Farthest(model.roles, model.choices.memory)
        self._scorer: Scorer | None = None
        self._last_time: Any = None

    @property
    def n_rows(self) -> int:
        """Number of rows scored so far."""
        return 0 if self._scorer is None else self._scorer.n_rows

    @property
    def last_time(self) -> Any:
        """Time of the latest row; None before the first."""
        return self._last_time

    def push_rows(
        self, rows: Recording | NDArray[np.floating[Any]], names: Sequence[str] | None = None
    ) -> EvidenceScores:
        """Score the next rows.

        Parameters
        ----------
        rows
            a recording, or a dense block of (T, V) values, NaN where a variable was not observed,
            whose times continue with the reference's step.
        names
            (V,) names of the variables of a dense block.
        """
        recording = rows if isinstance(rows, Recording) else self._recording(rows, names)
        if len(recording):
            self._check_time(recording.times[0])
            self._last_time = recording.times[-1]
        if self._scorer is None:
            self._scorer = self._started(recording)
            if self._follows:
                self._rows.begin()
        block = self._rows.block(recording)
        n_rows = self.n_rows
        for who, members in self._rows.farthest:
            self._farthest.take(n_rows, who, members)
            n_rows += len(who)
        scored = self._scorer.push(block)
        return EvidenceScores(
            held=scored.held,
            prompt=scored.prompt,
            p_values=scored.p_values,
            marks=scored.marks,
            nats=scored.nats,
            evidences=self._model.evidence_names,
        )

    def accept(self, first: int, last: int) -> None:
        """Accept rows first to last - 1, counted from the state's first row, as normal.

        What was loud in them is then compared with these rows, too, until it becomes quiet again.
        The rows must be among the last ``model.choices.memory``.
        """
        scorer = self._scorer_with(first, last)
        scorer.accept(first, last)

    def blame(self, first: int, last: int | None = None) -> Blame:
        """Return the contributions to the scores of rows first to last - 1, by default of 1 row.

        The rows must be among the last ``model.choices.memory``.
        """
        last = first + 1 if last is None else last
        scorer = self._scorer_with(first, last)
        current = self._rows.names_in(last - 1)
        names = tuple(current.get(name, name) for name in self._model.columns)
        fresh = tuple(self._rows.fresh)
        total: dict[str, float] = {}
        by_evidence: dict[str, dict[str, float]] = {}
        evidences = self._model.evidence_names
        said = dict(zip(evidences, scorer.mean_nats(first, last).tolist(), strict=True))
        for evidence, nats in zip(self._model.evidences, scorer.made_by(first, last), strict=True):
            whose = fresh if evidence.is_about_newcomers else names
            each = {name: float(x) for name, x in zip(whose, nats, strict=False) if x > 0}
            each = self._farthest.shared_out(each, first, last)
            by_evidence[evidence.name] = _shares(each)
            for name, x in each.items():
                total[name] = total.get(name, 0.0) + x
        by_question = self.loudest(first, last)
        for each in by_question.values():
            for name, x in each.items():
                total[name] = total.get(name, 0.0) + x
        spoke = {name: shares for name, shares in by_evidence.items() if shares}
        silent, n_usual = self._silent(scorer)
        return Blame(
            evidences=said,
            variables=_shares(total),
            by_evidence=spoke,
            by_question=by_question,
            silent=silent,
            n_usual=n_usual,
        )

    def is_beyond(self, row: int) -> bool:
        """Return whether a variable was beyond a stated bound in a row, which explains that row.

        The row must be among the last ``model.choices.memory``.
        """
        variables = self._scorer_with(row, row + 1).variables
        return variables is not None and variables.is_beyond(row)

    def _silent(self, scorer: Scorer) -> tuple[tuple[str, ...], int]:
        """Return the variables gone in current trouble, and how many are usually observed."""
        if scorer.variables is None:
            return (), 0
        silence = scorer.variables.silence
        names = self._model.asked_columns
        gone = [names[at].removesuffix(" (middle)") for at in np.flatnonzero(silence.is_gone)]
        return tuple(sorted(gone)), silence.n_residents

    def loudest(self, first: int, last: int) -> dict[str, dict[str, float]]:
        """Return the largest nats of each variable that was loud by itself, by question.

        Rows are first to last - 1. This is the ``by_question`` of :meth:`blame`, in less time.
        """
        scorer = self._scorer_with(first, last)
        if scorer.variables is None:
            return {}
        columns_asked = self._model.asked_columns
        seasonal = self._model.variables.seasons.columns
        n_asked, n_known = len(columns_asked), len(columns_asked) + len(seasonal)
        current = self._rows.names_in(last - 1)
        fresh = tuple(self._rows.fresh)

        def name_of(column: int) -> str:
            if column >= n_known:
                return fresh[column - n_known]
            own = columns_asked[column if column < n_asked else seasonal[column - n_asked]]
            return current.get(own, own)

        of_peers = set(self._model.roles.peer_columns)
        by_question = scorer.variables.loudest_of(first, last)
        most = max((max(columns.values()) for columns in by_question.values()), default=0.0)
        found: dict[str, dict[str, float]] = {}
        for question, columns in by_question.items():
            for column, nats in columns.items():
                if nats < SETTINGS.loud_columns_share * most:
                    continue
                name = name_of(column)
                asked = APART if name in of_peers else QUESTIONS[question].name
                of_question = found.setdefault(asked, {})
                of_question[name] = max(of_question.get(name, 0.0), nats)
        return {
            asked: self._farthest.shared_out(each, first, last) for asked, each in found.items()
        }

    # ------------------------------------------------------------------ saving

    def to_arrays(self) -> tuple[dict[str, NDArray[Any]], dict[str, Any]]:
        """Return arrays and a JSON-serializable header from which :meth:`restored` continues."""
        arrays, header = self._rows.to_arrays()
        arrays = prefixed("rows", arrays)
        header |= {"follows": self._follows, "started": self._scorer is not None}
        if self._last_time is not None:
            time = np.array([self._last_time])
            arrays["last_time"] = time.view(np.int64)
            header["time_type"] = time.dtype.str
        arrays["farthest"], header["members"] = self._farthest.who, self._farthest.names
        if self._scorer is not None:
            arrays |= prefixed("scorer", self._scorer.to_arrays())
        return arrays, header

    def restored(
        self, arrays: Mapping[str, NDArray[Any]], header: Mapping[str, Any]
    ) -> "EvidenceState":
        """Restore into this new state what :meth:`to_arrays` returned; return this state."""
        if self._scorer is not None:
            raise InputError("this state has scored rows already; restore into a fresh one")
        try:
            self._rows.restore(under("rows", arrays), header)
            self._follows = header["follows"]
            self._farthest.restore(arrays["farthest"], header["members"])
            if "time_type" in header:
                self._last_time = arrays["last_time"].view(header["time_type"])[0]
            if header["started"]:
                self._scorer = self._started(None)
                self._scorer.restore(under("scorer", arrays))
        except (KeyError, ValueError, TypeError, IndexError) as error:
            raise ModelFileError(
                f"the saved state does not fit this model: {error!r}; start the stream afresh"
            ) from None
        return self

    # ------------------------------------------------------------------ inside

    def _started(self, first_rows: Recording | None) -> Scorer:
        model = self._model
        before = model.before
        if first_rows is not None and self._follows is None:
            self._follows = follows_on(model.last_time, model.choices.step, first_rows.times)
        if not self._follows:
            before = before.part(slice(0))
        return Scorer(model.evidences, model.choices, before, model.normal, model.variables)

    def _recording(
        self, values: NDArray[np.floating[Any]], names: Sequence[str] | None
    ) -> Recording:
        values = np.asarray(values)
        if names is None or values.ndim != 2 or values.shape[1] != len(names):
            raise InputError(
                f"a block of the shape {values.shape} with {names and len(names)} names; give "
                "(T, V) values and V names, or a recording"
            )
        previous = self._model.last_time if self._last_time is None else self._last_time
        times = self._model.times_after(previous, len(values))
        rows, codes = np.nonzero(np.isfinite(values))
        return Recording.from_observations(times, rows, codes, values[rows, codes], tuple(names))

    def _check_time(self, time: Any) -> None:
        if self._last_time is not None and not time > self._last_time:
            raise InputError(
                f"time {show_time(time)} is not after {show_time(self._last_time)}, the row "
                "before; push rows in order of time, each time once"
            )

    def _scorer_with(self, first: int, last: int) -> Scorer:
        oldest = max(0, self.n_rows - self._model.choices.memory)
        if self._scorer is None or not oldest <= first < last <= self.n_rows:
            raise InputError(
                f"rows {first} to {last} are not among rows {oldest} to {self.n_rows}, which are "
                "remembered; ask for some of those"
            )
        return self._scorer


def _shares(made: Mapping[str, float]) -> dict[str, float]:
    whole = sum(made.values())
    ranked = sorted(made.items(), key=lambda item: (-item[1], item[0]))
    return {name: value / whole for name, value in ranked} if whole > 0 else {}
