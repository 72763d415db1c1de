"""EvidenceState: scoring of rows as they come; made by ``ReferenceEvidence.start``.

In: rows in order of time, as recordings or dense blocks. Out: scores, p-values and surprises, each
from that row and the rows before it only; and the contribution of each variable to them.
"""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from smkc.decide import NewNormal
from smkc.errors import InputError, ModelFileError
from smkc.evidence.blame import Blame
from smkc.evidence.columns.farthest import Farthest
from smkc.evidence.columns.rows import Rows, follows_on, seconds
from smkc.evidence.decision.scorer import Scorer
from smkc.evidence.saving import prefixed, under
from smkc.evidence.settings import SETTINGS
from smkc.evidence.variables import QUESTIONS, Usual
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


# Name shown in alerts for the question whether one member differs from its peers.
APART = "apart from peers"

# What was unusual before a trouble began is not its cause. It is measured in as many rows as an
# alert takes to end, times ROWS_BEFORE; they end as many rows, times GAP_BEFORE, before the
# trouble's first known row, because that row may be late.
ROWS_BEFORE, GAP_BEFORE = 3, 2


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

    def new_normals(self) -> tuple[NewNormal, ...]:
        """Return the variables that have a new normal now, in the order in which these began.

        Times are not known here; the rows are counted from the state's first row.
        """
        if self._scorer is None or self._scorer.variables is None:
            return ()
        lasting, scaling = self._scorer.variables.lasting, self._model.scaling
        columns = np.flatnonzero(lasting.has_new_normal[0]).tolist()
        place = {name: at for at, name in enumerate(scaling.names)} if columns else {}
        found: dict[str, NewNormal] = {}
        for column in columns:
            name, is_value = self._name_of(column)
            if name is None or name in found:
                continue
            usual: dict[str, float] = {}
            if is_value and name in place:
                at = place[name]
                centre, spread = float(scaling.centre[at]), float(scaling.spread[at])
                usual = {"before": centre, "now": centre + spread * float(lasting.centre[column])}
            row = int(lasting.begun_row[column])
            found[name] = NewNormal(variable=name, row=row, **usual)
        return tuple(sorted(found.values(), key=lambda one: (one.row, one.variable)))

    def usual(self, name: str, time: Any) -> Usual | None:
        """Return the usual value of a resident, a newcomer that stayed, at a time.

        None for all other variables, and for counters.
        """
        column = self._rows.fresh.column_of.get(name)
        variables = None if self._scorer is None else self._scorer.variables
        if column is None or variables is None or self._model.scaling.newcomer(name)[1]:
            return None
        return variables.residents.usual_at(column, float(seconds(np.asarray([time]))[0]))

    def refuse(self, variables: Collection[str]) -> None:
        """Judge variables by the reference alone, although they have a new normal."""
        if self._scorer is not None and self._scorer.variables is not None:
            lasting = self._scorer.variables.lasting
            loud = np.flatnonzero(lasting.has_new_normal[0])
            refused = [column for column in loud.tolist() if self._name_of(column)[0] in variables]
            lasting.refuse(np.array(refused, np.int64))

    def _name_of(self, column: int) -> tuple[str | None, bool]:
        """Return the name of a column asked, and whether it holds the values of that variable.

        Distances from a season have the name of their variable; newcomers have None.
        """
        asked, seasonal = self._model.asked_columns, self._model.variables.seasons.columns
        if column < len(asked):
            return asked[column], True
        number = column - len(asked)
        return (asked[seasonal[number]], False) if number < len(seasonal) else (None, False)

    def blame(self, first: int, last: int | None = None, begun: int | None = None) -> Blame:
        """Return the contributions to the surprise of rows first to last - 1, by default of 1 row.

        What a variable contributed before the trouble began is subtracted: a variable that has been
        unusual for long is no cause of what is new. ``begun`` is the first row of the trouble as
        far as known, by default ``first``. The rows must be among the last
        ``model.choices.memory``.
        """
        last = first + 1 if last is None else last
        scorer = self._scorer_with(first, last)
        begun = first if begun is None else min(begun, first)
        before = self._rows_before(begun)
        current = self._rows.names_in(last - 1)
        names = tuple(current.get(name, name) for name in self._model.columns)
        fresh = self._rows.fresh.names
        by_evidence: dict[str, dict[str, float]] = {}
        made = scorer.made_by(first, last)
        if len(before):
            earlier = scorer.made_by(before.start, before.stop)
            made = [now - then for now, then in zip(made, earlier, strict=True)]
        for evidence, nats in zip(self._model.evidences, made, strict=True):
            whose = fresh if evidence.is_about_newcomers else names
            each = {name: float(x) for name, x in zip(whose, nats, strict=False) if x > 0}
            if each:
                by_evidence[evidence.name] = self._farthest.shared_out(each, first, last)
        silent, n_usual = self._silent(scorer, begun)
        return Blame(
            by_evidence=by_evidence,
            by_question=self._loudest(first, last, before),
            silent=silent,
            n_usual=n_usual,
            unchanged=self._unchanged(scorer, begun),
        )

    def _rows_before(self, begun: int) -> range:
        """Return the remembered rows that show what was usual before a trouble; there may be none.

        Fewer rows than an alert takes to end show too little.
        """
        calm = SETTINGS.calm_rows
        stop = begun - GAP_BEFORE * calm
        start = max(stop - ROWS_BEFORE * calm, self.n_rows - self._model.choices.memory, 0)
        return range(start, stop) if stop - start >= calm else range(0)

    def _unchanged(self, scorer: Scorer, begun: int) -> frozenset[str]:
        """Return the variables that have had one value since well before a trouble."""
        if scorer.variables is None:
            return frozenset()
        n_rows = self.n_rows - begun + SETTINGS.calm_rows
        lengths = scorer.variables.statistics.run_lengths[: len(self._model.names)]
        return frozenset(self._model.names[at] for at in np.flatnonzero(lengths >= n_rows))

    def is_beyond(self, row: int) -> bool:
        """Return whether a variable was beyond a stated bound in a row, which explains that row.

        The row must be among the last ``model.choices.memory``.
        """
        variables = self._scorer_with(row, row + 1).variables
        return variables is not None and variables.is_beyond(row)

    def _silent(self, scorer: Scorer, begun: int) -> tuple[tuple[str, ...], int]:
        """Return the variables gone in current trouble, and how many are usually observed.

        A single one that fell silent before a trouble that began in row ``begun`` is not its cause.
        """
        if scorer.variables is None:
            return (), 0
        silence = scorer.variables.silence
        began = silence.began(self.n_rows - 1)
        if began is not None and began < begun - SETTINGS.calm_rows:
            return (), silence.n_residents
        names = self._model.asked_columns
        gone = [names[at].removesuffix(" (middle)") for at in np.flatnonzero(silence.is_gone)]
        return tuple(sorted(gone)), silence.n_residents

    def loudest(self, first: int, last: int) -> dict[str, dict[str, float]]:
        """Return the largest nats of each variable that was loud by itself, by question.

        Rows are first to last - 1.
        """
        self._scorer_with(first, last)
        return self._loudest(first, last, before=range(0))

    def _loudest(self, first: int, last: int, before: range) -> dict[str, dict[str, float]]:
        """Return the same, minus the median of the nats of each variable in the rows before."""
        scorer = self._scorer
        if scorer is None or scorer.variables is None:
            return {}
        current = self._rows.names_in(last - 1)
        fresh = self._rows.fresh.names
        n_known = len(self._model.asked_columns) + len(self._model.variables.seasons.columns)

        def name_of(column: int) -> str:
            own, _ = self._name_of(column)
            return fresh[column - n_known] if own is None else current.get(own, own)

        of_peers = set(self._model.roles.peer_columns)
        earlier = scorer.variables.median_of(before)
        by_question = {
            question: {column: nats - earlier.get(column, 0.0) for column, nats in columns.items()}
            for question, columns in scorer.variables.loudest_of(first, last).items()
        }
        most = max((max(columns.values()) for columns in by_question.values()), default=0.0)
        found: dict[str, dict[str, float]] = {}
        for question, columns in by_question.items():
            for column, nats in columns.items():
                if nats <= 0.0 or nats < SETTINGS.majority * most:
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
