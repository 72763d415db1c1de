"""ReferenceEvidence: what reference data taught the evidences, and what is normal to them.

In: a reference recording. Out: a model, from which any number of recordings and streams are scored.
"""

from bisect import bisect_left
from collections.abc import Mapping
from dataclasses import asdict, dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from smkc.errors import InputError, ModelFileError
from smkc.evidence.reference.choices import Choices, choose
from smkc.evidence.reference.components import Components
from smkc.evidence.reference.contract import Block, Evidence
from smkc.evidence.reference.forward import (
    WINDOWS_BEFORE,
    Forward,
    fit_evidences,
    forward_null,
    less_explained,
)
from smkc.evidence.reference.jump import Jump
from smkc.evidence.reference.levels import Level
from smkc.evidence.reference.newcomer_jump import NewcomerJump
from smkc.evidence.reference.newcomers import Newcomers
from smkc.evidence.reference.nulls import quantile_sample
from smkc.evidence.reference.roles import Roles
from smkc.evidence.reference.rows import (
    SCALING_CLIP,
    Rows,
    joined_rows,
    seconds,
)
from smkc.evidence.reference.saving import flat, prefixed, rebuilt, under
from smkc.evidence.reference.scorer import Normal, added_by_loudest
from smkc.evidence.reference.state import EvidenceState
from smkc.evidence.variables import PAST_ROWS, Usual, VariableQuestions
from smkc.recording import Identity, Recording, Scaling
from smkc.recording.rules import Rule, Rules

__all__ = ["ReferenceEvidence"]

MIN_REFERENCE_ROWS = 24

# Rows of the reference that are kept for learning more.
MOST_KEPT = 32_768


@dataclass(frozen=True, kw_only=True, eq=False)
class ReferenceEvidence:
    """The evidences, fitted on a reference; made by :meth:`fit`.

    Parameters
    ----------
    scaling
        of all variables.
    names
        the variables that the reference settled, sorted.
    roles
        what stays when members are replaced; with the names, these are the C columns.
    choices
        window and the like, each with its reason.
    evidences
        (E,) fitted on the whole reference.
    normal
        statistics of reference rows by evidences fitted on earlier ones.
    variables
        what is asked of each column by itself.
    rows
        (n, C) the reference's latest rows, scaled.
    values, clocks
        (n, A) what is asked of single columns, in the same rows; (n,) these rows' times.
    last_time
        of the reference.
    rules
        what the user says of some variables.

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
    ) -> "ReferenceEvidence":
        """Learn from reference data.

        Parameters
        ----------
        reference
            rows that are normal, or nearly all of them.
        window
            rows a window, or "auto" to find them from the reference.
        identity
            the rule for families of variables.
        counters
            "auto" turns counters into rates; None takes every value as it is.
        rules
            what the user says of some variables.
        """
        reference = Rules(rules, {}).kept(reference)
        if len(reference) < MIN_REFERENCE_ROWS:
            raise InputError(
                f"a reference of {len(reference)} rows says too little of what is normal; give at "
                f"least {MIN_REFERENCE_ROWS}, better thousands"
            )
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
        return cls._fitted(scaling, names, roles, rules, choices, block, reference.times[-1])

    @classmethod
    def _fitted(
        cls,
        scaling: Scaling,
        names: tuple[str, ...],
        roles: Roles,
        rules: tuple[Rule, ...],
        choices: Choices,
        reference: Block,
        last_time: Any,
    ) -> "ReferenceEvidence":
        block = _as_block(reference.rows, reference.values, reference.clocks)
        forward = forward_null(block, choices, bool(roles.names))
        evidences = fit_evidences(block, choices, bool(roles.names))
        relation = next(one for one in evidences if isinstance(one, Components))
        left = relation.residuals(forward.values).astype(np.float32)
        asked = names + roles.middle_columns + roles.peer_columns
        n = len(names)
        residuals = less_explained(forward.residuals, left)[:, :n]
        variables = VariableQuestions.fit(
            block.values,
            forward.values[:, :n],
            residuals,
            asked,
            members=roles.are_members(asked),
            of_several=[False] * n + roles.of_several,
            clocks=block.clocks,
            has_dates=np.asarray(last_time).dtype.kind == "M",
        )
        return cls(
            scaling=scaling,
            names=names,
            roles=roles,
            choices=choices,
            evidences=evidences,
            normal=_with_totals(forward, variables, block, residuals),
            variables=variables,
            rows=block.rows[-MOST_KEPT:],
            values=block.values[-MOST_KEPT:],
            clocks=block.clocks[-MOST_KEPT:],
            last_time=last_time,
            rules=rules,
        )

    def learned(self, more: Recording) -> "ReferenceEvidence":
        """Return a model that has seen more reference data, which came after the rest.

        Scaling of known variables stays; those that ``more`` settles are new columns.
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
        return self._fitted(scaling, names, roles, self.rules, self.choices, both, more.times[-1])

    def start(self, *, follows: bool | None = None) -> EvidenceState:
        """Return a state that has seen no row yet.

        ``follows`` says whether its first row comes right after the reference's last; None to tell
        by the rows' times.
        """
        return EvidenceState(self, follows)

    @property
    def columns(self) -> tuple[str, ...]:
        """(C,) variables and roles' variables that evidences are asked of."""
        return self.names + self.roles.columns

    @property
    def asked_columns(self) -> tuple[str, ...]:
        """(A,) what is asked by itself: variables, middles of roles, members apart from peers."""
        return self.names + self.roles.middle_columns + self.roles.peer_columns

    @property
    def evidence_names(self) -> tuple[str, ...]:
        """(E,) what the evidences are called."""
        return tuple(evidence.name for evidence in self.evidences)

    @property
    def before(self) -> Block:
        """Rows that a state starts from which follows on the reference."""
        n = max(WINDOWS_BEFORE * self.choices.window, PAST_ROWS)
        return _as_block(self.rows[-n:], self.values[-n:], self.clocks[-n:])

    def times_after(self, time: Any, n: int) -> NDArray[Any]:
        """(n,) times that go on after ``time`` by the reference's step."""
        steps = np.arange(1, n + 1)
        if np.asarray(time).dtype.kind == "M":
            return np.asarray(time + (steps * self.choices.step * 1e9).astype("timedelta64[ns]"))
        return np.asarray(time + steps * self.choices.step)

    def usual(self, name: str, time: Any) -> Usual | None:
        """Return what is usual for a variable at a time; None if it has no season.

        A counter's is its rate.
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
        """Return arrays and a JSON-able header from which :meth:`restored` rebuilds this."""
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
        """Rebuild a model from what :meth:`to_arrays` gave, and the rules it was fitted with."""
        try:
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


def _with_totals(
    forward: Forward,
    variables: VariableQuestions,
    reference: Block,
    residuals: NDArray[np.float32],
) -> Normal:
    """Return what is normal, with the scores of its rows as the detector gives them."""
    rows, values, clocks = forward.rows, reference.values, reference.clocks
    before = slice(max(0, rows.start - PAST_ROWS), rows.start)
    state = variables.start(values[before], clocks[before], 1)
    nobody = np.empty((len(residuals), 0), np.float32)
    heard = state.push(values[rows], nobody, residuals, clocks[rows])
    totals = forward.scores + added_by_loudest(heard, values.shape[1])
    return replace(forward.normal, totals=quantile_sample(totals))


def _as_block(
    rows: NDArray[np.float32], values: NDArray[np.float32], clocks: NDArray[np.float64]
) -> Block:
    """Return scaled rows as a block without newcomers."""
    nobody = np.empty((len(rows), 0), np.float32)
    return Block(rows, nobody, values, nobody, clocks)
