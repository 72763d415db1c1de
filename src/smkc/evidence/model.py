"""ReferenceEvidence: the model of the default detector, fitted on a reference recording.

In: a reference recording. Out: a model that scores any number of recordings and streams.
"""

from bisect import bisect_left
from collections.abc import Mapping
from dataclasses import asdict, dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from smkc.errors import InputError, ModelFileError
from smkc.evidence.choices import Choices, choose
from smkc.evidence.columns.block import Block
from smkc.evidence.columns.roles import Roles
from smkc.evidence.columns.rows import (
    SCALING_CLIP,
    Rows,
    joined_rows,
    seconds,
)
from smkc.evidence.decision.scorer import (
    Normal,
    added_by_loudest,
    no_rows_before,
    parts_of_scores,
)
from smkc.evidence.forward import (
    WINDOWS_BEFORE,
    Forward,
    fit_evidences,
    forward_null,
    less_explained,
)
from smkc.evidence.saving import flat, prefixed, rebuilt, under
from smkc.evidence.settings import SETTINGS
from smkc.evidence.state import EvidenceState
from smkc.evidence.system.components import Components
from smkc.evidence.system.contract import Evidence
from smkc.evidence.system.jump import Jump
from smkc.evidence.system.levels import Level
from smkc.evidence.system.newcomer_jump import NewcomerJump
from smkc.evidence.system.newcomers import Newcomers
from smkc.evidence.system.nulls import quantile_sample
from smkc.evidence.variables import (
    PAST_ROWS,
    TAILED_QUESTIONS,
    UTC_CALENDAR,
    Calendar,
    Seasons,
    Usual,
    VariableQuestions,
)
from smkc.recording import Identity, Recording, Scaling
from smkc.recording.rules import Rule, Rules

# Number of the reference's latest rows that are kept, to be fitted again with more data.
MOST_KEPT = 32_768


@dataclass(frozen=True, kw_only=True, eq=False)
class ReferenceEvidence:
    """The evidences and questions, fitted on a reference; made by :meth:`fit`.

    Parameters
    ----------
    scaling
        centre and spread of the reference's variables.
    names
        the variables with enough observations in the reference to be scaled, sorted.
    roles
        the roles of these variables. The names and the columns of the roles are the C columns.
    choices
        window, block, memory and step, each with its reason.
    evidences
        (E,) fitted on the whole reference.
    normal
        statistics of reference rows, by evidences fitted on earlier rows.
    variables
        the questions asked of each column by itself.
    rows
        (n, C) the reference's latest rows, scaled.
    values
        (n, A) the same rows of the columns that questions are asked of.
    clocks
        (n,) times of these rows, in seconds for dates.
    last_time
        time of the reference's last row.
    rules
        the user's rules for some variables.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> rows = [{"cpu": x, "mem": y} for x, y in rng.normal(size=(400, 2))]
    >>> model = ReferenceEvidence.fit(Recording.from_rows(range(400), rows))
    >>> state = model.start()
    >>> live = Recording.from_rows(range(400, 420), [{"cpu": 0, "mem": 0}] * 19 + [{"cpu": 40}])
    >>> scores = state.push_rows(live)
    >>> bool(scores.p_values[-1] < 0.01 < scores.p_values[0]), next(iter(state.blame(19).variables))
    (True, 'cpu')
    """

    scaling: Scaling
    names: tuple[str, ...]
    roles: Roles
    choices: Choices
    evidences: tuple[Evidence, ...]
    normal: Normal
    variables: VariableQuestions
    rows: NDArray[np.float32]
    values: NDArray[np.float32]
    clocks: NDArray[np.float64]
    last_time: Any
    rules: tuple[Rule, ...] = ()

    @classmethod
    def fit(
        cls,
        reference: Recording,
        *,
        window: int | str = "auto",
        identity: Identity | None = None,
        counters: str | None = "auto",
        rules: tuple[Rule, ...] = (),
        calendar: Calendar = UTC_CALENDAR,
    ) -> "ReferenceEvidence":
        """Fit a model on reference data.

        Parameters
        ----------
        reference
            rows that are normal, or nearly all of them.
        window
            rows per window, or "auto" to choose it from the reference.
        identity
            how families of variables are recognised by their names.
        counters
            "auto" turns counters into rates; None takes every value as it is.
        rules
            the user's rules for some variables.
        calendar
            the clock and the holidays that days and weeks are counted by.
        """
        reference = Rules(rules, {}).kept(reference)
        if len(reference) < SETTINGS.min_observations:
            raise InputError(
                f"a reference of {len(reference)} rows says too little of what is normal; give at "
                f"least {SETTINGS.min_observations}, better thousands"
            )
        calendar.check(reference.times)
        scaling = Scaling.fit(reference, identity, counters, clip=SCALING_CLIP)  # type: ignore[arg-type]
        if not scaling.names:
            raise InputError(
                f"none of the reference's {len(reference.names)} variables was observed often "
                f"enough in its {len(reference)} rows; give a longer reference"
            )
        names = tuple(sorted(scaling.names))
        roles = Roles.fit(reference, names, identity)
        block = Rows(scaling, names, roles, rules).block(reference)
        choices = choose(reference, block.rows, window)
        last_time = reference.times[-1]
        return cls._fitted(scaling, names, roles, rules, calendar, choices, block, last_time)

    @classmethod
    def _fitted(
        cls,
        scaling: Scaling,
        names: tuple[str, ...],
        roles: Roles,
        rules: tuple[Rule, ...],
        calendar: Calendar,
        choices: Choices,
        reference: Block,
        last_time: Any,
    ) -> "ReferenceEvidence":
        asked = names + roles.middle_columns + roles.peer_columns
        members = roles.are_members(asked)
        has_dates = np.asarray(last_time).dtype.kind == "M"
        seasons, distances = Seasons.fit(
            reference.values,
            reference.clocks,
            ~np.array(members, bool),
            has_dates=has_dates,
            calendar=calendar,
        )
        n = len(names)
        block = _as_block(reference.rows, reference.values, reference.clocks)
        block = block._replace(adjusted=seasons.adjusted(block.rows, distances, n))
        forward = forward_null(block, choices, bool(roles.names))
        evidences = fit_evidences(block, choices, bool(roles.names))
        relation = next(one for one in evidences if isinstance(one, Components))
        left = relation.residuals(forward.values).astype(np.float32)
        residuals = less_explained(forward.residuals, left)[:, :n]
        variables = VariableQuestions.fit(
            block.values,
            forward.values[:, :n],
            residuals,
            asked,
            members=members,
            pools=[-1] * n + roles.pools,
            seasonal=(seasons, distances),
            has_dates=has_dates,
        )
        return cls(
            scaling=scaling,
            names=names,
            roles=roles,
            choices=choices,
            evidences=evidences,
            normal=_with_scores(forward, variables, block, residuals),
            variables=variables,
            rows=block.rows[-MOST_KEPT:],
            values=block.values[-MOST_KEPT:],
            clocks=block.clocks[-MOST_KEPT:],
            last_time=last_time,
            rules=rules,
        )

    def learned(self, more: Recording) -> "ReferenceEvidence":
        """Return a model fitted on the reference and ``more``, which must be later.

        The scaling of known variables stays. Variables with enough observations in ``more`` become
        new columns.
        """
        more = Rules(self.rules, {}).kept(more)
        scaling = self.scaling.update(more)
        names = tuple(sorted(scaling.names))
        roles = Roles.of(names, self.roles.dropped)
        later = Rows(scaling, names, roles, self.rules).block(more)
        rows = joined_rows(self.rows, self.columns, later.rows, names + roles.columns)
        asked = names + roles.middle_columns + roles.peer_columns
        values = joined_rows(self.values, self.asked_columns, later.values, asked)
        clocks = np.concatenate([self.clocks, later.clocks])
        both = later._replace(
            rows=rows[-MOST_KEPT:], values=values[-MOST_KEPT:], clocks=clocks[-MOST_KEPT:]
        )
        rules, calendar, last_time = self.rules, self.variables.seasons.calendar, more.times[-1]
        return self._fitted(scaling, names, roles, rules, calendar, self.choices, both, last_time)

    def start(self, *, follows: bool | None = None) -> EvidenceState:
        """Return a state that has scored no row yet.

        ``follows`` tells whether its first row comes right after the last row of the reference;
        None to decide by the times.
        """
        return EvidenceState(self, follows)

    @property
    def columns(self) -> tuple[str, ...]:
        """(C,) columns of the evidences: variables, then middles and farthest members of roles."""
        return self.names + self.roles.columns

    @property
    def asked_columns(self) -> tuple[str, ...]:
        """(A,) columns of the questions: variables, middles of roles, distances from peers."""
        return self.names + self.roles.middle_columns + self.roles.peer_columns

    @property
    def evidence_names(self) -> tuple[str, ...]:
        """(E,) names of the evidences."""
        return tuple(evidence.name for evidence in self.evidences)

    @property
    def before(self) -> Block:
        """Last rows of the reference, from which a state that follows it starts."""
        n = max(WINDOWS_BEFORE * self.choices.window, PAST_ROWS)
        return _as_block(self.rows[-n:], self.values[-n:], self.clocks[-n:])

    def times_after(self, time: Any, n: int) -> NDArray[Any]:
        """Return (n,) times after ``time``, spaced by the reference's step."""
        steps = np.arange(1, n + 1)
        if np.asarray(time).dtype.kind == "M":
            return np.asarray(time + (steps * self.choices.step * 1e9).astype("timedelta64[ns]"))
        return np.asarray(time + steps * self.choices.step)

    def usual(self, name: str, time: Any) -> Usual | None:
        """Return the usual value of a variable at a time; None if it has no season.

        For a counter, it is the usual rate.
        """
        column = bisect_left(self.names, name)
        if column == len(self.names) or self.names[column] != name:
            return None
        clock = float(seconds(np.asarray([time]))[0])
        found = self.variables.usual_at(column, clock)
        if found is None:
            return None
        at = self.scaling.names.index(name)
        centre, spread = float(self.scaling.centre[at]), float(self.scaling.spread[at])
        return replace(found, middle=centre + spread * found.middle, spread=spread * found.spread)

    # ------------------------------------------------------------------ saving

    def to_arrays(self) -> tuple[dict[str, NDArray[Any]], dict[str, Any]]:
        """Return arrays and a JSON-serializable header from which :meth:`restored` rebuilds it."""
        arrays, scaling = self.scaling.to_arrays()
        arrays = prefixed("scaling", arrays)
        evidences = []
        for at, evidence in enumerate(self.evidences):
            some, header = flat(evidence)
            arrays |= prefixed(f"evidence{at}", some)
            evidences.append({"kind": type(evidence).__name__, "values": header})
        some, normal = flat(self.normal)
        arrays |= prefixed("normal", some)
        some, variables = flat(self.variables)
        arrays |= prefixed("variables", some)
        time = np.array([self.last_time])
        arrays |= {"rows": self.rows, "values": self.values, "clocks": self.clocks}
        arrays["last_time"] = time.view(np.int64)
        choices = asdict(self.choices) | {"reasons": list(self.choices.reasons)}
        return arrays, {
            "scaling": scaling,
            "names": list(self.names),
            "dropped": list(self.roles.dropped),
            "choices": choices,
            "evidences": evidences,
            "normal": normal,
            "variables": variables,
            "time_type": time.dtype.str,
        }

    @classmethod
    def restored(
        cls,
        arrays: Mapping[str, NDArray[Any]],
        header: Mapping[str, Any],
        rules: tuple[Rule, ...] = (),
    ) -> "ReferenceEvidence":
        """Rebuild a model from the result of :meth:`to_arrays` and the rules it was fitted with."""
        try:
            saved = set(header["variables"]["tails"])
            if saved != set(TAILED_QUESTIONS):
                raise ModelFileError(
                    f"the model was fitted with the questions {', '.join(sorted(saved))}; now "
                    f"there are {', '.join(TAILED_QUESTIONS)}; fit the model again and save it"
                )
            choices = dict(header["choices"])
            choices["reasons"] = tuple(choices["reasons"])
            return cls(
                scaling=Scaling.from_arrays(under("scaling", arrays), header["scaling"]),
                names=tuple(header["names"]),
                roles=Roles.of(header["names"], tuple(header["dropped"])),
                choices=Choices(**choices),
                evidences=tuple(
                    rebuilt(_KINDS[about["kind"]], under(f"evidence{at}", arrays), about["values"])
                    for at, about in enumerate(header["evidences"])
                ),
                normal=rebuilt(Normal, under("normal", arrays), header["normal"]),
                variables=rebuilt(
                    VariableQuestions, under("variables", arrays), header["variables"]
                ),
                rows=np.asarray(arrays["rows"]),
                values=np.asarray(arrays["values"]),
                clocks=np.asarray(arrays["clocks"]),
                last_time=np.asarray(arrays["last_time"]).view(header["time_type"])[0],
                rules=rules,
            )
        except (KeyError, TypeError, ValueError) as error:
            if isinstance(error, ModelFileError):
                raise
            raise ModelFileError(
                f"the saved evidences make no sense: {error!r}; fit the model again and save it"
            ) from None


_KINDS: Mapping[str, Any] = {
    "Level": Level,
    "Jump": Jump,
    "Components": Components,
    "NewcomerJump": NewcomerJump,
    "Newcomers": Newcomers,
}


def _with_scores(
    forward: Forward,
    variables: VariableQuestions,
    reference: Block,
    residuals: NDArray[np.float32],
) -> Normal:
    """Return the normal statistics with the scores of their rows added."""
    rows = forward.rows
    block = variables.prepared(reference)
    state = variables.start(block.part(slice(max(0, rows.start - PAST_ROWS), rows.start)), 1)
    loud = state.push(block.part(rows), residuals)
    unusual = forward.joined + added_by_loudest(loud)
    held, prompt, _ = parts_of_scores(unusual, no_rows_before())
    return replace(forward.normal, scores=quantile_sample(held + prompt))


def _as_block(
    rows: NDArray[np.float32], values: NDArray[np.float32], clocks: NDArray[np.float64]
) -> Block:
    """Return scaled rows as a block without newcomers."""
    nobody = np.empty((len(rows), 0), np.float32)
    return Block(rows, nobody, values, nobody, nobody, clocks)
