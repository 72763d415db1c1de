"""Roles: what remains the same when the members of a system are replaced.

In: names of variables with labels, and observations. Out: for each role, such as the latency of one
service whichever pods it has, the middle and the farthest of its members' scaled values, and the
distance of one member from its peers. These are columns like other variables, but they outlive
every rollout.
"""

from bisect import bisect_left
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from smkc.evidence.settings import SETTINGS
from smkc.recording import Identity, Recording, identifier, parse

# Labels that always name a member, whether or not members were replaced within the reference.
OF_MEMBERS = frozenset(
    ("pod", "pod_name", "pod_uid", "uid", "container_id", "instance_id", "task_id", "replica")
)

# About how many members are remembered, as a cluster may have a million names per week.
MOST_REMEMBERED = 32_768


@dataclass(frozen=True, kw_only=True, eq=False)
class Roles:
    """The roles of a reference's variables.

    Parameters
    ----------
    dropped
        labels that name members.
    names
        (R,) the roles, sorted: identifiers without these labels.
    is_shared
        (R,) bool: whether the reference had more than 1 member.
    of_names
        (V,) number of the role of each variable of the reference, -1 for none.

    Examples
    --------
    >>> names = ['cpu{pod="a",service="web"}', 'cpu{pod="b",service="web"}', "load"]
    >>> roles = Roles.of(names, ("pod",))
    >>> roles.names, roles.columns
    (('cpu{service="web"}',), ('cpu{service="web"} (middle)', 'cpu{service="web"} (farthest)'))
    """

    dropped: tuple[str, ...]
    names: tuple[str, ...]
    is_shared: NDArray[np.bool_]
    of_names: NDArray[np.int64]

    @classmethod
    def fit(cls, reference: Recording, names: Iterable[str], identity: Identity | None) -> "Roles":
        """Find the labels that name members, from the churn within the reference."""
        dropped = OF_MEMBERS | set(() if identity is None else identity.drop)
        return cls.of(names, tuple(sorted(dropped | _replaced_labels(reference))))

    @classmethod
    def of(cls, names: Iterable[str], dropped: tuple[str, ...]) -> "Roles":
        """Return the roles of variables, given which labels name members."""
        found = [_role(name, dropped) for name in names]
        roles = tuple(sorted({role for role in found if role is not None}))
        place = {role: at for at, role in enumerate(roles)}
        of_names = np.array([-1 if role is None else place[role] for role in found], np.int64)
        counts = np.bincount(of_names[of_names >= 0], minlength=len(roles))
        return cls(dropped=dropped, names=roles, is_shared=counts > 1, of_names=of_names)

    @property
    def columns(self) -> tuple[str, ...]:
        """Names of the scaled columns: the middle of each role, then the farthest if shared."""
        middle = [f"{role} (middle)" for role in self.names]
        shared = np.flatnonzero(self.is_shared).tolist()
        return *middle, *(f"{self.names[at]} (farthest)" for at in shared)

    @property
    def middle_columns(self) -> tuple[str, ...]:
        """Names of the columns of each role's middle in its own unit."""
        return tuple(f"{role} (middle)" for role in self.names)

    @property
    def peer_columns(self) -> tuple[str, ...]:
        """Names of the columns of one member's distance from its peers, for each shared role."""
        shared = np.flatnonzero(self.is_shared).tolist()
        return tuple(f"{self.names[at]} (one member apart)" for at in shared)

    @property
    def pools(self) -> list[int]:
        """The pool of each middle and peer column that summarizes several members; -1 for others.

        Columns of one metric, such as the memory of every service, are one pool.
        """
        metrics = [name.partition("{")[0] for name in self.names]
        number = {metric: at for at, metric in enumerate(sorted(set(metrics)))}
        shared = np.flatnonzero(self.is_shared).tolist()
        middle = [
            number[metric] if is_shared else -1
            for metric, is_shared in zip(metrics, self.is_shared.tolist(), strict=True)
        ]
        return [*middle, *(len(number) + number[metrics[at]] for at in shared)]

    def number_of(self, name: str) -> int:
        """Return the number of the role that a variable belongs to; -1 for none of the roles."""
        role = _role(name, self.dropped)
        at = len(self.names) if role is None else bisect_left(self.names, role)
        return at if at < len(self.names) and self.names[at] == role else -1

    def are_members(self, names: Iterable[str]) -> list[bool]:
        """Return whether each variable is a member, which is replaced routinely."""
        return [_role(name, self.dropped) is not None for name in names]

    @property
    def of_columns(self) -> NDArray[np.int64]:
        """Number of the role of each of :attr:`columns`."""
        return np.concatenate([np.arange(len(self.names)), np.flatnonzero(self.is_shared)])


class Members:
    """The members seen so far, for computing the columns of their roles.

    Parameters
    ----------
    roles
        of the reference.
    settled
        the variables whose scale is known from the reference. Others count for the scaled columns
        of their role once they have been observed often enough to be scaled by their own past.
    """

    def __init__(self, roles: Roles, settled: Iterable[str]) -> None:
        self.roles = roles
        self.settled = frozenset(settled)
        self.ages: dict[str, int] = {}
        self._place = {role: at for at, role in enumerate(roles.names)}
        self._role_of: dict[str, int] = {}

    def values(self, scaled: Recording) -> tuple[NDArray[np.float32], NDArray[np.int64]]:
        """Return (T, K) the scaled columns of roles, and (T, R) the farthest member of each.

        NaN where no member was observed. Members are codes of the recording's names, -1 for none.
        """
        roles = self.roles
        n_roles = len(roles.names)
        n = len(scaled)
        middle = np.full(n * n_roles, np.nan, np.float32)
        farthest = np.full(n * n_roles, np.nan, np.float32)
        who = np.full(n * n_roles, -1, np.int64)
        role_of = np.array([self._role(name) for name in scaled.names], np.int64)
        role = role_of[scaled.codes] if len(scaled.codes) else np.empty(0, np.int64)
        kept = np.flatnonzero((role >= 0) & (self._aged(scaled) >= SETTINGS.min_observations))
        if len(kept):
            cell = scaled.row_numbers[kept] * n_roles + role[kept]
            values, codes = scaled.values[kept], scaled.codes[kept]
            order = np.lexsort((values, cell))
            cell, values, codes = cell[order], values[order], codes[order]
            first = np.flatnonzero(np.diff(cell, prepend=-1))
            last = np.append(first[1:], len(cell)) - 1
            at = cell[first]
            middle[at] = 0.5 * (values[(first + last) // 2] + values[(first + last + 1) // 2])
            # Values ascend within a cell: the farthest from 0 is the first or the last.
            end = np.where(np.abs(values[first]) > np.abs(values[last]), first, last)
            farthest[at], who[at] = values[end], codes[end]
        columns = np.hstack(
            [middle.reshape(n, n_roles), farthest.reshape(n, n_roles)[:, roles.is_shared]]
        )
        return columns, who.reshape(n, n_roles)

    def in_own_unit(
        self, scaled: Recording, plain: NDArray[np.float32]
    ) -> tuple[NDArray[np.float32], NDArray[np.float32], NDArray[np.int64]]:
        """Return the columns of roles in the variables' own unit.

        They are (T, R) the middle of each role's members, NaN without any; and for each shared role
        (T, S) the distance of the farthest member from that middle, and the code of that member,
        NaN and -1 with fewer than 2 members. Newcomers count from their first observation, as they
        are compared with their peers and not with their own past.

        Parameters
        ----------
        scaled, plain
            the observations, and (N,) their values before scaling.
        """
        roles = self.roles
        n, n_roles = len(scaled), len(roles.names)
        middles = np.full(n * n_roles, np.nan, np.float32)
        apart = np.full(n * n_roles, np.nan, np.float32)
        who = np.full(n * n_roles, -1, np.int64)
        role_of = np.array([self._role(name) for name in scaled.names], np.int64)
        role = role_of[scaled.codes] if len(scaled.codes) else np.empty(0, np.int64)
        kept = np.flatnonzero(role >= 0)
        if len(kept):
            cell = scaled.row_numbers[kept] * n_roles + role[kept]
            values, codes = plain[kept].astype(np.float64), scaled.codes[kept]
            order = np.lexsort((values, cell))
            cell, values, codes = cell[order], values[order], codes[order]
            first = np.flatnonzero(np.diff(cell, prepend=-1))
            last = np.append(first[1:], len(cell)) - 1
            middle = 0.5 * (values[(first + last) // 2] + values[(first + last + 1) // 2])
            middles[cell[first]] = middle
            is_low = middle - values[first] > values[last] - middle
            end = np.where(is_low, first, last)
            has_peers = last > first
            at = cell[first][has_peers]
            apart[at] = (values[end] - middle)[has_peers]
            who[at] = codes[end][has_peers]
        shape, shared = (n, n_roles), roles.is_shared
        return (
            middles.reshape(shape),
            apart.reshape(shape)[:, shared],
            who.reshape(shape)[:, shared],
        )

    def _aged(self, scaled: Recording) -> NDArray[np.int64]:
        """Return (N,) earlier observations of each one's variable; settled ones have enough."""
        names, grown = scaled.names, SETTINGS.min_observations
        before = np.array(
            [grown if name in self.settled else self.ages.get(name, 0) for name in names], np.int64
        )
        order = np.argsort(scaled.codes, kind="stable")
        codes = scaled.codes[order]
        first = np.searchsorted(codes, np.arange(len(names)))
        ages = np.empty(len(codes), np.int64)
        ages[order] = np.arange(len(codes)) - first[codes]
        counts = np.bincount(codes, minlength=len(names))
        for code in np.flatnonzero((counts > 0) & (before < grown)).tolist():
            self.ages[names[code]] = min(grown, int(before[code] + counts[code]))
        if len(self.ages) > 2 * MOST_REMEMBERED:  # keep current and latest members
            latest = [*list(self.ages)[-MOST_REMEMBERED:], *(n for n in names if n in self.ages)]
            self.ages = {name: self.ages[name] for name in latest}
        aged: NDArray[np.int64] = ages + before[scaled.codes]
        return aged

    def knows(self, name: str) -> bool:
        """Tell whether a variable is a member of a known role."""
        return self._role(name) >= 0

    def _role(self, name: str) -> int:
        found = self._role_of.get(name)
        if found is None:
            if len(self._role_of) >= 2 * MOST_REMEMBERED:
                self._role_of.clear()
            role = _role(name, self.roles.dropped)
            found = self._role_of[name] = -1 if role is None else self._place.get(role, -1)
        return found


def _role(name: str, dropped: Iterable[str]) -> str | None:
    """Return an identifier without the labels that name members; None if it has no such label."""
    parts = parse(name)
    if parts is None or not set(parts[1]) & set(dropped):
        return None
    metric, labels = parts
    return identifier(metric, {key: value for key, value in labels.items() if key not in dropped})


def _replaced_labels(reference: Recording) -> set[str]:
    """Return the labels whose variables came or went within the reference."""
    n, n_names = len(reference), len(reference.names)
    first, last = np.full(n_names, n, np.int64), np.full(n_names, -1, np.int64)
    np.minimum.at(first, reference.codes, reference.row_numbers)
    np.maximum.at(last, reference.codes, reference.row_numbers)
    changed = (first > 0) | (last < n - 1)
    carried: dict[str, list[bool]] = {}
    values: dict[str, set[str]] = {}
    for name, is_changed in zip(reference.names, changed.tolist(), strict=True):
        parts = parse(name)
        for key, value in (parts[1] if parts is not None else {}).items():
            carried.setdefault(key, []).append(is_changed)
            values.setdefault(key, set()).add(value)
    replaced = {key: len(values[key]) for key, flags in carried.items() if _came_or_went(flags)}
    # Variables that come and go also carry labels that last, such as the service. These have few
    # values; labels that identify members, such as the pod or the instance, have many.
    finest = max(replaced.values(), default=0)
    return {key for key, count in replaced.items() if SETTINGS.majority * finest <= count}


def _came_or_went(flags: Sequence[bool]) -> bool:
    return float(np.mean(flags)) >= SETTINGS.large_share
